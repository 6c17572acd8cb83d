import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { LineagePage, ModelPage, Serving, VersionRow } from "../api/wire";
import { Crumbs } from "../parts/crumbs";
import { Icon } from "../parts/icon";
import { JobLink } from "../parts/job-link";
import { Lineage } from "../parts/lineage";
import { Hidden, MissingNote } from "../parts/missing";
import { address, PageQuery } from "../parts/page-query";
import { Notice } from "../parts/trouble";
import { useNow } from "../session";
import { bytes } from "../text/amounts";
import { figure, moment } from "../text/format";
import { shortDigest } from "../text/images";
import { type Choice, choosing, choosingVersion, wanted } from "../text/lineage-choice";

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
  const hidden = page.missing.filter(({ resource }) => resource.startsWith("modelversions."));
  return (
    <>
      <div className="head">
        <h1>{model.name}</h1>
        <span className="dim">{model.description}</span>
      </div>
      {hidden.length > 0 || versions.length === 0 ? null : <Origin namespace={model.namespace} model={model.name} />}
      <section className="card" aria-label="Versions">
        <header className="cardhead">
          <h2>Versions</h2>
          <span className="tag">{figure(model.versions)}</span>
        </header>
        {hidden.length > 0 ? (
          <Hidden missing={hidden} what="Versions" />
        ) : versions.length === 0 ? (
          <Notice icon="info" title="The model has no versions.">
            <p>A job with spec.modelVersion leaves one when it succeeds.</p>
          </Notice>
        ) : (
          <Versions versions={versions} namespace={model.namespace} model={model.name} />
        )}
        {page.moreVersions > 0 ? <p className="note">{figure(page.moreVersions)} older versions are not listed.</p> : null}
        {hidden.length === 0 ? <MissingNote missing={page.missing} /> : null}
      </section>
    </>
  );
}

/** The graph; what is chosen in it is in the address. An older version is asked for by name. */
function Origin({ namespace, model }: { namespace: string; model: string }) {
  const before = useSearch({ from: "/models/$namespace/$name" });
  const navigate = useNavigate({ from: "/models/$namespace/$name" });
  const { focus = "", all = false } = before;
  const version = wanted(before);
  const question = new URLSearchParams({ ...(version === "" ? {} : { v: version }), ...(all ? { all: "1" } : {}) }).toString();
  const go = (next: Choice): void => void navigate({ search: next, replace: true, resetScroll: false });
  return (
    <PageQuery<LineagePage> topic="models" path={`${address("models", namespace, model, "lineage")}?${question}`} keep>
      {(page, current) => (
        <Lineage
          page={page}
          current={current}
          namespace={namespace}
          model={model}
          focus={focus}
          whole={all}
          choose={(next) => go(choosing(before, next))}
          showAll={() => go({ ...before, all: true })}
        />
      )}
    </PageQuery>
  );
}

function Versions({ versions, namespace, model }: { versions: readonly VersionRow[]; namespace: string; model: string }) {
  const now = useNow(10_000);
  const before = useSearch({ from: "/models/$namespace/$name" });
  return (
    <div className="scrollx" tabIndex={0} role="region" aria-label="Versions">
      <table className="stack">
        <thead>
          <tr>
            <th>Version</th>
            <th>Image, sha256</th>
            <th>Trained by</th>
            <th className="right">Size</th>
            <th>Signed</th>
            <th className="right">Created</th>
            <th>Now</th>
            <th>
              <span className="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {versions.map((version) => (
            <tr key={version.name}>
              <td className="title wrap name">
                <span className={TONES[version.state] ?? "tone-text-off"}>
                  <Icon name={version.state === "Built" ? "ok" : version.state === "Failed" ? "fail" : "wait"} small />
                </span>{" "}
                <Link to="/models/$namespace/$name" params={{ namespace, name: model }} search={choosingVersion(before, version.name)} replace>
                  {version.name}
                </Link>
              </td>
              <td data-label="Image" className="wrap">
                <Image version={version} />
              </td>
              <td data-label="Trained by" className="wrap">
                <Trainer version={version} namespace={namespace} />
              </td>
              <td data-label="Size" className="right">{version.size > 0 ? bytes(version.size) : "–"}</td>
              <td data-label="Signed">{version.image === "" ? "–" : version.signed ? "signed" : <span className="dim">not signed</span>}</td>
              <td data-label="Created" className="right dim">{moment(version.created, now)}</td>
              <td data-label="Now" className="wrap">
                {version.serving.length === 0 ? "–" : version.serving.map((one) => <Served key={`${one.service}/${one.predictor}`} one={one} namespace={namespace} />)}
              </td>
              <td className="right">
                {version.state === "Built" ? (
                  <Link className="button" to="/submit" search={{ serve: `${namespace}/${model}/${version.name}` }} aria-label={`Serve ${version.name}`}>
                    Serve
                  </Link>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const TONES: Readonly<Record<string, string>> = { Built: "tone-text-ok", Failed: "tone-text-fail", Building: "tone-text-running" };

function Image({ version }: { version: VersionRow }) {
  if (version.state === "Failed") return <span className="tone-text-fail">{version.message || "the build failed"}</span>;
  if (version.image === "") return <span className="dim">{version.state === "Building" ? "is being built" : "not built"}</span>;
  return <code title={version.image}>{shortDigest(version.image)}</code>;
}

function Trainer({ version, namespace }: { version: VersionRow; namespace: string }) {
  const author = version.author === "" ? null : <span className="dim"> {version.author}</span>;
  if (version.jobHidden) return <span className="dim">a job that you may not see</span>;
  if (version.job === "") return author ?? <span className="dim">not stated</span>;
  return (
    <>
      {version.jobThere ? (
        <JobLink row={{ namespace, kind: version.jobKind, name: version.job }} />
      ) : (
        <>
          {version.job} <span className="dimmer">deleted</span>
        </>
      )}
      {author}
    </>
  );
}

function Served({ one, namespace }: { one: Serving; namespace: string }) {
  return (
    <span className="block">
      <span className={`pill ${one.canary ? "tone-running" : one.percent === 0 ? "tone-off" : "tone-ok"}`}>
        {one.canary ? "canary" : "serves"}
        {one.percent === null ? "" : ` ${figure(one.percent)} %`}
      </span>{" "}
      <Link to="/services/$namespace/$name" params={{ namespace, name: one.service }}>
        {one.service}
      </Link>{" "}
      <span className="dim">{one.predictor}</span>
    </span>
  );
}
