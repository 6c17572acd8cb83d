import type { ClusterQueueRow, LocalQueueRow, QueueList, Quota, WaitingRow } from "../api/wire";
import { JobLink } from "../parts/job-link";
import { Track } from "../parts/meter";
import { Hidden, MissingNote, NotInstalled } from "../parts/missing";
import { PageQuery } from "../parts/page-query";
import { Notice } from "../parts/trouble";
import { useNow } from "../session";
import { amountOf, bytes, cores, ratio } from "../text/amounts";
import { duration, figure, gpuWords, known } from "../text/format";

export function Queues() {
  return (
    <>
      <div className="head">
        <h1>Queues</h1>
      </div>
      <PageQuery<QueueList> topic="queues" path="/api/v1/queues">
        {(list) => <Content list={list} />}
      </PageQuery>
    </>
  );
}

function Content({ list }: { list: QueueList }) {
  if (!list.installed)
    return <NotInstalled title="Kueue is not installed.">Jobs start as soon as nodes have room. With Kueue, teams get quota and wait in queues.</NotInstalled>;
  const none = list.clusterQueues.length === 0 && list.localQueues.length === 0 && list.waiting.length === 0;
  if (none)
    return (
      <div className="card">
        {list.missing.length > 0 ? (
          <Hidden missing={list.missing} what="Queues" />
        ) : (
          <Notice icon="info" title="There are no queues.">
            <p>An administrator creates a ClusterQueue with quota, and a LocalQueue in each namespace that may use it.</p>
          </Notice>
        )}
      </div>
    );
  const unseen = list.waiting.length > 0 ? [] : list.missing.filter(({ resource }) => resource.startsWith("workloads."));
  return (
    <>
      {list.clusterQueues.length > 0 ? (
        <div className="cols">
          {list.clusterQueues.map((queue) => (
            <Shared key={queue.name} queue={queue} />
          ))}
        </div>
      ) : null}
      <section className="card">
        <header className="cardhead">
          <h2>Waiting, in order</h2>
          {unseen.length > 0 ? null : <span className="tag">{figure(list.waiting.length + list.moreWaiting)}</span>}
        </header>
        {unseen.length > 0 ? <Hidden missing={unseen} what="Those who wait" /> : <Waiting rows={list.waiting} />}
        <footer className="tablefoot">
          <span>By priority, then time. Positions count jobs that you may not see, too.</span>
          {list.moreWaiting > 0 ? <span>{figure(list.moreWaiting)} more are not listed.</span> : null}
        </footer>
      </section>
      {list.localQueues.length > 0 ? <Local rows={list.localQueues} /> : null}
      {list.moreQueues > 0 || list.missing.length > 0 ? (
        <section className="card">
          {list.moreQueues > 0 ? <p className="note">{figure(list.moreQueues)} more queues are not listed.</p> : null}
          <MissingNote missing={list.missing} />
        </section>
      ) : null}
    </>
  );
}

function Shared({ queue }: { queue: ClusterQueueRow }) {
  return (
    <section className="card w6" aria-label={queue.name}>
      <header className="cardhead">
        <h2>{queue.name}</h2>
        {queue.cohort === "" ? null : <span className="tag">shares with {queue.cohort}</span>}
        <span className="grow" />
        <span className="dim">
          {queue.admitted === null || queue.waiting === null
            ? "Kueue has not said who is admitted"
            : `${figure(queue.admitted)} admitted, ${figure(queue.waiting)} ${queue.waiting === 1 ? "waits" : "wait"}`}
        </span>
      </header>
      {queue.problem === "" ? null : <p className="note tone-text-wait">{queue.problem}</p>}
      {queue.quotas.length === 0 ? (
        <Notice icon="info" title="It has no quota." />
      ) : (
        <ul className="quotas">
          {queue.quotas.map((quota) => (
            <QuotaLine key={`${quota.flavor}/${quota.resource}`} quota={quota} />
          ))}
        </ul>
      )}
    </section>
  );
}

function QuotaLine({ quota }: { quota: Quota }) {
  const words = (value: number): string => amountOf(quota.resource, value);
  return (
    <li>
      <span className="cut" title={`${quota.flavor} ${quota.resource}`}>
        <b>{quota.resource}</b> <span className="dimmer">{quota.flavor}</span>
      </span>
      <Track value={quota.used === null ? null : ratio(quota.used, quota.nominal)} />
      <span className="dim small">
        {quota.used === null ? "–" : words(quota.used)} of {words(quota.nominal)}
        {quota.borrowed !== null && quota.borrowed > 0 ? `, ${words(quota.borrowed)} borrowed` : ""}
      </span>
    </li>
  );
}

function Waiting({ rows }: { rows: readonly WaitingRow[] }) {
  const now = useNow(10_000);
  if (rows.length === 0) return <Notice icon="info" title="Nothing that you may see waits for quota." />;
  return (
    <div className="scrollx" tabIndex={0} role="region" aria-label="Waiting">
      <table className="stack">
        <thead>
          <tr>
            <th>Queue</th>
            <th className="right">Place</th>
            <th>Job</th>
            <th>Wants</th>
            <th className="right">Priority</th>
            <th>Why</th>
            <th className="right">Waits</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.uid}>
              <td data-label="Queue">
                {row.queue}
                {row.clusterQueue === "" ? null : <span className="dim small block">of {row.clusterQueue}</span>}
              </td>
              <td data-label="Place" className="right">
                {figure(row.position)}
              </td>
              <td data-label="Job" className="name wrap">
                {row.kind === "" ? (
                  <>
                    <span className="dimmer">{row.namespace} / </span>
                    {row.name}
                  </>
                ) : (
                  <JobLink row={row} />
                )}
              </td>
              <td data-label="Wants">{wants(row)}</td>
              <td data-label="Priority" className="right">
                {figure(row.priority)}
              </td>
              <td data-label="Why" className="message dim">
                {row.message || "–"}
              </td>
              <td data-label="Waits" className="right dim">
                {row.since === null ? "–" : duration(now - Date.parse(row.since))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const wants = (row: WaitingRow): string =>
  [
    row.gpus > 0 ? gpuWords(row.gpus) : "",
    row.cpuMillis > 0 ? `${cores(row.cpuMillis)} CPU` : "",
    row.memoryBytes > 0 ? bytes(row.memoryBytes) : "",
  ]
    .filter((part) => part !== "")
    .join(", ") || "–";

function Local({ rows }: { rows: readonly LocalQueueRow[] }) {
  return (
    <section className="card">
      <header className="cardhead">
        <h2>Queues of namespaces</h2>
        <span className="tag">{figure(rows.length)}</span>
      </header>
      <div className="scrollx" tabIndex={0} role="region" aria-label="Queues of namespaces">
        <table className="stack">
          <thead>
            <tr>
              <th>Queue</th>
              <th>Quota of</th>
              <th className="right">Admitted</th>
              <th className="right">Waiting</th>
              <th>State</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.namespace}/${row.name}`}>
                <td className="title">
                  <span className="dimmer">{row.namespace} / </span>
                  <b>{row.name}</b>
                </td>
                <td data-label="Quota of">{row.clusterQueue || "–"}</td>
                <td data-label="Admitted" className="right">{known(row.admitted)}</td>
                <td data-label="Waiting" className="right">{known(row.waiting)}</td>
                <td data-label="State" className={row.problem === "" ? "dim message" : "message tone-text-wait"}>
                  {row.problem || (row.waiting === null ? "not seen by Kueue yet" : "active")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
