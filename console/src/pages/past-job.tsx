import { useParams } from "@tanstack/react-router";
import type { Missing, PastEventRow, PastJobPage, PastPodRow } from "../api/wire";
import { Crumbs } from "../parts/crumbs";
import { Icon } from "../parts/icon";
import { Hidden } from "../parts/missing";
import { address, PageQuery } from "../parts/page-query";
import { Receipt } from "../parts/receipt";
import { State } from "../parts/state";
import { Notice } from "../parts/trouble";
import { useNow } from "../session";
import { elapsed, figure, moment } from "../text/format";
import { look } from "../text/states";

const FRESH = 60_000; // milliseconds: a receipt may be written later

/** A job as the history has it, by its uid: also when another one has its name. */
export function PastJob() {
  const { namespace, kind, name, uid } = useParams({ from: "/jobs/$namespace/$kind/$name/$uid" });
  return (
    <>
      <Crumbs to="/jobs" title="Jobs" more={namespace} />
      <PageQuery<PastJobPage> topic="history" path={address("history", "jobs", namespace, kind, name, uid)} name={name} fresh={FRESH}>
        {(page) => <Content page={page} />}
      </PageQuery>
    </>
  );
}

function Content({ page }: { page: PastJobPage }) {
  const now = useNow(60_000);
  const { job } = page;
  const facts = [
    { title: "Ran", value: job.started === null ? "–" : elapsed(job, now) },
    { title: "Ended", value: moment(job.finished, now) },
    { title: "Deleted", value: `${job.deletion === "Missed" ? "before " : ""}${moment(job.deleted, now)}` },
    { title: "Created", value: moment(job.created, now) },
    { title: "GPUs", value: job.gpus === 0 ? "–" : figure(job.gpus) },
    { title: "Queue", value: job.queue || "–" },
  ];
  const message = page.message || job.reason;
  return (
    <>
      <div className="head">
        <h1>{job.name}</h1>
        <State state={job.state} />
        <span className="tag">{job.kind}</span>
        {job.deleted === null ? null : <span className="tag">deleted</span>}
        <span className="dim">{job.user}</span>
      </div>
      <dl className="card facts">
        {facts.map(({ title, value }) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd className="cut">{value}</dd>
          </div>
        ))}
      </dl>
      {message === "" ? null : (
        <div className={`card why tone-edge-${look(job.state).tone}`}>
          <b>{page.message === "" ? "Reason" : job.reason || "Message"}</b>
          <span>{message}</span>
        </div>
      )}
      <Receipt receipt={page.receipt} />
      <section className="card">
        <header className="cardhead">
          <h2>Pods and logs</h2>
        </header>
        <Pods rows={page.pods} missing={page.missing} job={`${job.name} --namespace ${job.namespace}`} now={now} />
      </section>
      <section className="card">
        <header className="cardhead">
          <h2>Events</h2>
        </header>
        <Events rows={page.events} missing={page.missing} now={now} />
      </section>
    </>
  );
}

const without = (missing: readonly Missing[], resource: string): readonly Missing[] => missing.filter((right) => right.resource === resource);

function Pods({ rows, missing, job, now }: { rows: readonly PastPodRow[]; missing: readonly Missing[]; job: string; now: number }) {
  const rights = without(missing, "pods");
  if (rights.length > 0) return <Hidden missing={rights} what="Pods and logs" />;
  if (rows.length === 0) return <Notice icon="info" title="No pods are recorded." />;
  return (
    <>
      <div className="scrollx" tabIndex={0} role="region" aria-label="Pods">
        <table className="stack">
          <thead>
            <tr>
              <th>Pod</th>
              <th>Phase</th>
              <th className="right">Attempt</th>
              <th>Node</th>
              <th className="right">Ended</th>
              <th>Log</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((pod, index) => (
              <tr key={`${pod.name}/${index}`}>
                <td className="title">
                  <b>{pod.replica}</b>
                </td>
                <td data-label="Phase">
                  {pod.phase}
                  {pod.exitCode === null || pod.exitCode === 0 ? null : <span className="dim small block">exit code {pod.exitCode}</span>}
                </td>
                <td data-label="Attempt" className="right">{figure(pod.attempt)}</td>
                <td data-label="Node" className="wrap">{pod.node || "–"}</td>
                <td data-label="Ended" className="right dim">{moment(pod.finished, now)}</td>
                <td data-label="Log" className="wrap">
                  {pod.log === "" ? <span className="dim">not archived</span> : <code>{pod.log}</code>}
                  {pod.logCut ? <span className="dim small block">its end only</span> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.some(({ log }) => log !== "") ? (
        <p className="note">
          Print the archived logs with <code>kubedl history logs {job}</code>
        </p>
      ) : null}
    </>
  );
}

function Events({ rows, missing, now }: { rows: readonly PastEventRow[]; missing: readonly Missing[]; now: number }) {
  const rights = without(missing, "events");
  if (rights.length > 0) return <Hidden missing={rights} what="Events" />;
  if (rows.length === 0) return <Notice icon="info" title="No events are recorded." />;
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
          {rows.map((row, index) => (
            <tr key={index} className={row.type === "Warning" ? "warning" : undefined}>
              <td data-label="Time" className="dim">{moment(row.time, now)}</td>
              <td data-label="About" className="wrap">{row.about}</td>
              <td data-label="Reason">
                {row.type === "Warning" ? <Icon name="warn" small /> : null} {row.reason}
              </td>
              <td data-label="Message" className="dim message">{row.message || "–"}</td>
              <td data-label="Count" className="right dim">{figure(row.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
