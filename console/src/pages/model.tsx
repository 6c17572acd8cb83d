import { Link, useParams } from "@tanstack/react-router";
import type { ModelPage, Serving, VersionRow } from "../api/wire";
import { Crumbs } from "../parts/crumbs";
import { Icon } from "../parts/icon";
import { JobLink } from "../parts/job-link";
import { Hidden, MissingNote } from "../parts/missing";
import { address, PageQuery } from "../parts/page-query";
import { Notice } from "../parts/trouble";
import { useNow } from "../session";
import { bytes } from "../text/amounts";
import { figure, moment } from "../text/format";
import { repositoryName, shortDigest } from "../text/images";

export function Model() {
  const { namespace, name } = useParams({ from: "/models/$namespace/$name" });
  return (
    <>
      <Crumbs to="/models" title="Models" more={namespace} />
      <PageQuery<ModelPage> topic="models" path={address("models", namespace, name)} name={name}>
        {(page) => <Content page={page} />}
      </PageQuery>
    </>
  );
}

function Content({ page }: { page: ModelPage }) {
  const { model, versions } = page;
  const now = useNow(10_000);
  const hidden = page.missing.filter(({ resource }) => resource.startsWith("modelversions."));
  return (
    <>
      <div className="head">
        <h1>{model.name}</h1>
        <span className="dim">{model.description}</span>
      </div>
      <section className="card">
        <header className="cardhead">
          <h2>Versions, and where they come from</h2>
          <span className="tag">{figure(model.versions)}</span>
        </header>
        {hidden.length > 0 ? (
          <Hidden missing={hidden} what="Versions" />
        ) : versions.length === 0 ? (
          <Notice icon="info" title="The model has no versions." />
        ) : (
          <ol className="versions">
            {versions.map((version) => (
              <Version key={version.name} version={version} namespace={model.namespace} now={now} />
            ))}
          </ol>
        )}
        {page.moreVersions > 0 ? <p className="note">{figure(page.moreVersions)} older versions are not listed.</p> : null}
        {hidden.length === 0 ? <MissingNote missing={page.missing} /> : null}
      </section>
    </>
  );
}

const TONES: Readonly<Record<string, string>> = { Built: "tone-ok", Failed: "tone-fail", Building: "tone-running" };

function Version({ version, namespace, now }: { version: VersionRow; namespace: string; now: number }) {
  return (
    <li>
      <div className="versionhead">
        <b>{version.name}</b>
        <span className={`pill ${TONES[version.state] ?? "tone-off"}`}>{version.state || "Not built"}</span>
        {version.image === "" ? null : (
          <code className="cut" title={version.image}>
            {shortDigest(version.image)}
          </code>
        )}
        <span className="dim small">
          {[version.size > 0 ? bytes(version.size) : "", version.image === "" ? "" : version.signed ? "signed" : "not signed", moment(version.created, now)]
            .filter((part) => part !== "")
            .join(" · ")}
        </span>
      </div>
      {version.state === "Failed" && version.message !== "" ? <p className="tone-text-fail small">{version.message}</p> : null}
      <div className="chain">
        <Step title="Made from">
          {version.codeRepository === "" && version.codeRevision === "" ? null : (
            <span title={version.codeRepository}>
              {repositoryName(version.codeRepository) || "code"} <code>{version.codeRevision.slice(0, 12)}</code>
            </span>
          )}
          {version.parent === "" ? null : (
            <span title={version.parent}>
              model <code>{shortDigest(version.parent)}</code>
            </span>
          )}
          {version.images.map((image) => (
            <span key={image} title={image}>
              image <code>{shortDigest(image)}</code>
            </span>
          ))}
          {version.codeRepository === "" && version.codeRevision === "" && version.parent === "" && version.images.length === 0 ? (
            <span className="dim">not stated</span>
          ) : null}
        </Step>
        <Icon name="right" small />
        <Step title="Trained by">
          {version.job === "" ? (
            <span className="dim">{version.author || "not stated"}</span>
          ) : (
            <>
              {version.jobThere ? (
                <span>
                  <JobLink row={{ namespace, kind: version.jobKind, name: version.job }} />
                </span>
              ) : (
                <span>
                  {version.job} <span className="dimmer">deleted, or hidden from you</span>
                </span>
              )}
              <span className="dim small">
                {version.jobKind}
                {version.author === "" ? "" : `, ${version.author}`}
              </span>
            </>
          )}
        </Step>
        <Icon name="right" small />
        <Step title="Served by">
          {version.serving.length === 0 ? <span className="dim">nobody that you may see</span> : null}
          {version.serving.map((one) => (
            <Served key={`${one.service}/${one.predictor}`} one={one} namespace={namespace} />
          ))}
        </Step>
      </div>
    </li>
  );
}

function Step({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div className="step">
      <span className="dimmer small">{title}</span>
      {children}
    </div>
  );
}

function Served({ one, namespace }: { one: Serving; namespace: string }) {
  return (
    <span>
      <Link to="/services/$namespace/$name" params={{ namespace, name: one.service }}>
        {one.service}
      </Link>{" "}
      <span className="dim">
        {one.predictor} {one.canary ? <span className="pill tone-running">canary</span> : one.percent === null ? "beside a canary" : `${figure(one.percent)} %`}
      </span>
    </span>
  );
}
