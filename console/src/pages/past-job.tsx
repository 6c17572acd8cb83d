import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import type { Missing, PastEventRow, PastJobPage, PastJobRow, PastPodRow } from "../api/wire";
import { Crumbs } from "../parts/crumbs";
import { Icon } from "../parts/icon";
import { useLivePod } from "../parts/live-pod";
import { LogView } from "../parts/log";
import { LogSearch } from "../parts/log-search";
import { Hidden } from "../parts/missing";
import { address, PageQuery } from "../parts/page-query";
import { Receipt } from "../parts/receipt";
import { State } from "../parts/state";
import { type LinePlace, StoredLog } from "../parts/stored-log";
import { Notice } from "../parts/trouble";
import { useNow } from "../session";
import { elapsed, figure, moment } from "../text/format";
import { type LogPlace, placeOf } from "../text/log-place";
import { look } from "../text/states";

const ROUTE = "/jobs/$namespace/$kind/$name/$uid";
const FRESH = 60_000; // milliseconds: a receipt may be written later

/** A job as the history has it, by its uid: also when another one has its name. A line of a log has its address here. */
export function PastJob() {
  const { namespace, kind, name, uid } = useParams({ from: ROUTE });
  const place = useSearch({ from: ROUTE });
  const live = useLivePod({ namespace, kind, name, uid }, place.pod);
  const navigate = useNavigate({ from: ROUTE });
  const choose = (pod: string, line = 0, at = ""): void => void navigate({ search: placeOf(pod, line, at), replace: true });
  return (
    <>
      <Crumbs to="/jobs" title="Jobs" more={namespace} />
      {live === null ? null : (
        <LogCard place={place}>
          <LogView key={live.pod.uid} job={live.job} pod={live.pod} place={linePlace(place)} choose={(line, at) => choose(live.pod.uid, line, at)} />
        </LogCard>
      )}
      <PageQuery<PastJobPage> topic="history" path={address("history", "jobs", namespace, kind, name, uid)} name={name} fresh={FRESH}>
        {(page) => <Content page={page} place={place} followed={live !== null} choose={choose} />}
      </PageQuery>
    </>
  );
}

interface ContentProps {
  readonly page: PastJobPage;
  readonly place: LogPlace;
  readonly followed: boolean; // the log is shown as it is written
  readonly choose: (pod: string, line?: number, at?: string) => void;
}

function Content({ page, place, followed, choose }: ContentProps) {
  const now = useNow(60_000);
  const { job } = page;
  const logs = address("history", "jobs", job.namespace, job.kind.toLowerCase(), job.name, job.uid, "logs");
  const pathOf = (pod: PastPodRow): string => `${logs}/${encodeURIComponent(pod.uid)}`;
  const readable = page.pods.filter(({ logReadable }) => logReadable);
  const shown = page.pods.find(({ uid }) => uid === place.pod);
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
      {shown === undefined || followed ? null : (
        <LogCard place={place}>
          {shown.logReadable ? (
            <StoredLog key={shown.uid} path={pathOf(shown)} name={shown.replica} place={linePlace(place)} choose={(line, at) => choose(shown.uid, line, at)} />
          ) : (
            <Notice icon="info" title={`The log of ${shown.replica} cannot be shown.`}>
              <p>{shown.log === "" ? "It was not archived." : "This console has no access to the archive, or you may not read logs here."}</p>
            </Notice>
          )}
        </LogCard>
      )}
      <Receipt receipt={page.receipt} />
      <section className="card">
        <header className="cardhead">
          <h2>Pods and logs</h2>
        </header>
        {readable.length === 0 ? null : <LogSearch pods={readable} path={pathOf} choose={(pod, hit) => choose(pod.uid, hit.line, hit.time)} />}
        <Pods rows={page.pods} missing={page.missing} job={job} now={now} />
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

function Pods({ rows, missing, job, now }: { rows: readonly PastPodRow[]; missing: readonly Missing[]; job: PastJobRow; now: number }) {
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
                  <LogCell pod={pod} job={job} />
                  {pod.logCut ? <span className="dim small block">its end only</span> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.some(({ log }) => log !== "") ? (
        <p className="note">
          Print the archived logs with <code>{`kubedl history logs ${job.name} --namespace ${job.namespace}`}</code>
        </p>
      ) : null}
    </>
  );
}

/** A log, brought into view when it or a line of it is chosen. */
function LogCard({ place: { pod, line }, children }: { place: LogPlace; children: ReactNode }) {
  const card = useRef<HTMLElement>(null);
  // Browsers may return a promise, which React would call when the effect ends.
  useEffect(() => {
    void card.current?.scrollIntoView({ block: "start" });
  }, [pod]); // it grows when its lines come
  useEffect(() => {
    void card.current?.scrollIntoView({ block: "nearest" });
  }, [line]);
  return (
    <section className="card logcard" aria-label="Log" ref={card}>
      {children}
    </section>
  );
}

function LogCell({ pod, job }: { pod: PastPodRow; job: PastJobRow }) {
  if (pod.log === "") return <span className="dim">not archived</span>;
  if (!pod.logReadable) return <code>{pod.log}</code>;
  return (
    <Link
      to={ROUTE}
      params={{ namespace: job.namespace, kind: job.kind.toLowerCase(), name: job.name, uid: job.uid }}
      search={{ pod: pod.uid }}
      title={pod.log}
      aria-label={`Log of ${pod.replica}`}
    >
      Open
    </Link>
  );
}

const linePlace = ({ line, at = "" }: LogPlace): LinePlace | null => (line === undefined ? null : { line, at });

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
