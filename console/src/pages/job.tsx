import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { forbids, get, jobPath } from "../api/request";
import type { Condition, EventRow, JobPage, JobRow, Missing, PodRow } from "../api/wire";
import { Changes } from "../parts/changes";
import { useExpectedStart } from "../parts/expected-start";
import { Icon } from "../parts/icon";
import { JobActions } from "../parts/job-actions";
import { LogView } from "../parts/log";
import { Ready } from "../parts/ready";
import { Skeleton } from "../parts/skeleton";
import { State } from "../parts/state";
import { panelOf, Tabs } from "../parts/tabs";
import { Notice, Trouble } from "../parts/trouble";
import { useWhy, Why } from "../parts/why";
import { useNow } from "../session";
import { elapsed, figure, moment, timeTitle } from "../text/format";
import { placeOf } from "../text/log-place";
import { endWords, percentDone } from "../text/progress";
import { look } from "../text/states";

const TABS = [
  { id: "log", title: "Pods and log" },
  { id: "conditions", title: "Conditions" },
  { id: "events", title: "Events" },
  { id: "changes", title: "Changes" },
] as const;

export function Job() {
  const { namespace, kind, name } = useParams({ from: "/jobs/$namespace/$kind/$name" });
  const { tab = "log", pod } = useSearch({ from: "/jobs/$namespace/$kind/$name" });
  const navigate = useNavigate({ from: "/jobs/$namespace/$kind/$name" });
  const now = useNow(10_000);
  const { data, error, refetch } = useQuery({
    queryKey: ["job", namespace, kind, name],
    queryFn: ({ signal }) => get<JobPage>(jobPath(namespace, kind, name), signal),
  });
  const why = useWhy(data?.job);
  const crumbs = (
    <div className="crumbs">
      <Link to="/jobs">Jobs</Link>
      <Icon name="right" small />
      <Link to="/jobs" search={{ q: `ns:${namespace}` }}>
        {namespace}
      </Link>
    </div>
  );
  if (data === undefined || forbids(error))
    return (
      <>
        {crumbs}
        <div className="head">
          <h1>{name}</h1>
        </div>
        <div className="card">{error !== null ? <Trouble error={error} retry={() => void refetch()} /> : <Skeleton />}</div>
      </>
    );
  const hidden = new Set(data.missing.map(({ resource }) => resource));
  const counts = {
    conditions: data.conditions.length,
    ...(hidden.has("pods") ? {} : { log: data.pods.length }),
    ...(hidden.has("events") ? {} : { events: data.events.length }),
  };
  return (
    <>
      <div>
        {crumbs}
        <div className="head">
          <h1>{data.job.name}</h1>
          <State state={data.job.state} />
          <span className="tag">{data.job.kind}</span>
          <span className="dim">
            {data.job.user === "" ? "" : `${data.job.user}, `}
            {data.job.started === null ? `created ${moment(data.job.created, now)}` : `started ${moment(data.job.started, now)}`}
          </span>
        </div>
      </div>
      <JobActions page={data} />
      {error !== null ? (
        <div className="card" role="alert">
          <Trouble error={error} retry={() => void refetch()} />
        </div>
      ) : null}
      <Facts page={data} now={now} />
      <Why page={data} data={why.data} error={why.error} />
      <div className="card">
        <Tabs
          label="Parts of the job"
          tabs={TABS}
          counts={counts}
          chosen={tab}
          choose={(next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true })}
          inside
        />
        <div {...panelOf(tab)}>
          {tab === "log" ? (
            <Pods
              page={data}
              chosen={pod}
              first={why.data?.pod ?? ""}
              choose={(next) => void navigate({ search: (before) => ({ ...before, pod: next }), replace: true })}
              link={(of, line, at) =>
                void navigate({ to: "/jobs/$namespace/$kind/$name/$uid", params: { namespace, kind, name, uid: data.job.uid }, search: placeOf(of, line, at) })
              }
            />
          ) : tab === "conditions" ? (
            <Conditions rows={data.conditions} now={now} />
          ) : tab === "changes" ? (
            <Changes job={data.job} />
          ) : (
            <Events rows={data.events} missing={data.missing} now={now} />
          )}
        </div>
      </div>
    </>
  );
}

function Facts({ page, now }: { page: JobPage; now: number }) {
  const { job } = page;
  const time = timeTitle(job);
  const waits = look(job.state).tone === "wait" && job.state !== "Restarting";
  const start = useExpectedStart(job, waits, now);
  const facts: readonly { readonly title: string; readonly value: ReactNode; readonly more?: string }[] = [
    { title: time, value: elapsed(job, now), ...(job.finished === null ? {} : { more: `ended ${moment(job.finished, now)}` }) },
    { title: "Ready", value: <Ready text={job.ready} /> },
    { title: "GPUs", value: job.gpus === 0 ? "–" : figure(job.gpus) },
    waits ? { title: "Expected start", ...start } : { title: "Restarts", value: figure(job.restarts) },
    job.state === "Running" ? progressOf(job, now) : { title: "Queue", value: job.queue || "–" },
    { title: "Created", value: moment(job.created, now) },
  ];
  return (
    <dl className="card facts">
      {facts.map(({ title, value, more }) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd className="cut">{value}</dd>
          {more ? <dd className="sub">{more}</dd> : null}
        </div>
      ))}
    </dl>
  );
}

/** How far a job that runs is; a program that does not say it is not at 0. */
function progressOf(job: JobRow, now: number): { readonly title: string; readonly value: ReactNode; readonly more: string } {
  const title = "Progress";
  if (job.progress === null) return { title, value: <span className="unknown">not reported</span>, more: "its program does not say it" };
  return { title, value: percentDone(job.progress), more: endWords(job, now) };
}

interface PodsProps {
  readonly page: JobPage;
  readonly chosen: string | undefined;
  readonly first: string; // that failed first, once it is known
  readonly choose: (pod: string) => void;
  readonly link: (pod: string, line: number, at: string) => void; // to the address of a line, by uids
}

function Pods({ page, chosen, first, choose, link }: PodsProps) {
  const denied = page.missing.find((right) => right.resource === "pods");
  if (denied !== undefined) return <Denied right={denied} what="Pods and logs are" />;
  const shown = page.pods.find((pod) => pod.name === chosen) ?? page.pods.find((pod) => pod.name === first) ?? firstFailed(page.pods) ?? page.pods[0];
  if (shown === undefined)
    return (
      <Notice icon="info" title="The job has no pods now.">
        <p>They are created when it starts, and may be deleted when it has ended.</p>
      </Notice>
    );
  return (
    <div className="logs">
      <div className="podlist" role="group" aria-label="Pods">
        {page.pods.map((pod) => (
          <button key={pod.name} className="pod" aria-pressed={pod === shown} onClick={() => choose(pod.name)} title={pod.name}>
            <b className="cut">{pod.replica || pod.name}</b>
            <span className={`phase tone-text-${podTone(pod)}`}>{pod.phase}</span>
            <span className="dimmer cut">{pod.message || pod.node || "no node yet"}</span>
            {pod.restarts > 0 ? <span className="dimmer">{figure(pod.restarts)} {pod.restarts === 1 ? "restart" : "restarts"}</span> : null}
          </button>
        ))}
      </div>
      <LogView key={shown.uid} job={page.job} pod={shown} choose={(line, at) => link(shown.uid, line, at)} />
    </div>
  );
}

/** A failed job opens at a pod that failed, until it is known which was the first. */
const firstFailed = (pods: readonly PodRow[]): PodRow | undefined => pods.find((pod) => pod.phase === "Failed");

function podTone(pod: PodRow): string {
  const tones: Record<string, string> = { Running: "running", Succeeded: "ok", Failed: "fail", Pending: "wait" };
  return tones[pod.phase] ?? "off";
}

function Conditions({ rows, now }: { rows: readonly Condition[]; now: number }) {
  if (rows.length === 0) return <Notice icon="info" title="No operator has seen this job yet." />;
  return (
    <div className="scrollx" tabIndex={0} role="region" aria-label="Conditions">
      <table className="stack">
        <thead>
          <tr>
            <th>Condition</th>
            <th>Status</th>
            <th>Reason</th>
            <th>Message</th>
            <th className="right">Since</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.type}>
              <td className="title">
                <b>{row.type}</b>
              </td>
              <td data-label="Status">{row.status}</td>
              <td data-label="Reason" className="dim">{row.reason || "–"}</td>
              <td data-label="Message" className="dim message">{row.message || "–"}</td>
              <td data-label="Since" className="right dim">{moment(row.since, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Events({ rows, missing, now }: { rows: readonly EventRow[]; missing: readonly Missing[]; now: number }) {
  const denied = missing.find((right) => right.resource === "events");
  if (denied !== undefined) return <Denied right={denied} what="Events are" />;
  if (rows.length === 0)
    return (
      <Notice icon="info" title="There are no events.">
        <p>A cluster keeps them for an hour.</p>
      </Notice>
    );
  return (
    <div className="scrollx" tabIndex={0} role="region" aria-label="Events">
      <table className="stack">
        <thead>
          <tr>
            <th>Time</th>
            <th>About</th>
            <th>Reason</th>
            <th>Message</th>
            <th className="right">Count</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.uid} className={row.type === "Warning" ? "warning" : undefined}>
              <td data-label="Time" className="dim">{moment(row.time, now)}</td>
              <td data-label="About">{row.about}</td>
              <td data-label="Reason">
                {row.type === "Warning" ? <Icon name="warn" small /> : null} {row.reason}
              </td>
              <td data-label="Message" className="dim message">{row.message}</td>
              <td data-label="Count" className="right dim">{figure(row.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Denied({ right, what }: { right: Missing; what: string }) {
  return (
    <Notice icon="lock" title={`${what} hidden from you.`}>
      <p>
        The right to {right.verb} {right.resource} in {right.namespace} is missing. An administrator can give it with the role view.
      </p>
    </Notice>
  );
}
