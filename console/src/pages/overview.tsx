import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { forbids, get } from "../api/request";
import type { Capacity, JobRow, Session, Share } from "../api/wire";
import { Amounts } from "../parts/capacity";
import { Holders } from "../parts/holders";
import { Icon } from "../parts/icon";
import { JobLink } from "../parts/job-link";
import { Track } from "../parts/meter";
import { Skeleton } from "../parts/skeleton";
import { State } from "../parts/state";
import { Notice, Trouble } from "../parts/trouble";
import { live, rows as store, useHeard, useNow, useRows, useSession } from "../session";
import { bytes, cores, ratio } from "../text/amounts";
import { elapsed, figure, gpuWords, hiddenWords, moment } from "../text/format";
import { byUser, failedSince, overviewFacts, type RangeId, RANGES, running, waiting } from "../text/overview";

const DAY = 86_400_000;
const MOST_ATTENTION = 8;
const MOST_USERS = 8;
const MOST_RUNNING = 20;

export function Overview() {
  const rows = useRows();
  useHeard(); // an error of the stream is shown here too
  const now = useNow(10_000);
  const session = useSession().data as Session;
  const { data, error, refetch } = useQuery({
    queryKey: ["nodes", "capacity"],
    queryFn: ({ signal }) => get<Capacity>("/api/v1/capacity", signal),
  });
  const capacity = forbids(error) ? undefined : data;
  const jobs = store.seesNothing ? (
    <HiddenJobs />
  ) : store.loaded ? null : live.failure !== null ? (
    <Trouble error={live.failure} />
  ) : (
    <Skeleton rows={4} />
  );
  return (
    <>
      <div className="head">
        <h1>Overview</h1>
        {/* A dot stays with the words before it when a narrow page breaks the line. */}
        <span className="dim">{overviewFacts(capacity, store.hiddenNamespaces).join("\u00a0· ")}</span>
      </div>
      <div className="cols">
        {capacity !== undefined ? (
          <>
            {error === null ? null : (
              <section className="card w12" role="alert">
                <Trouble error={error} retry={() => void refetch()} />
              </section>
            )}
            <Amounts capacity={capacity} />
          </>
        ) : (
          <section className="card w9" aria-label="Capacity">
            {error !== null ? <Trouble error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />}
          </section>
        )}
        <Waiting rows={rows} />
        <section className="card w5 first">
          {jobs ?? <Attention rows={rows} now={now} user={session.user} />}
        </section>
        {capacity === undefined ? null : (
          <section className="card w7">
            <Holders total={capacity.gpus.total} />
          </section>
        )}
        <section className={capacity === undefined ? "card w7" : "card w12"}>{jobs ?? <Users rows={rows} now={now} />}</section>
        <section className="card w12">{jobs ?? <Running rows={rows} now={now} capacity={capacity} />}</section>
      </div>
    </>
  );
}

/** In place of what is counted in jobs of which a person may see none: that is not the same as none. */
function HiddenJobs() {
  return (
    <Notice icon="lock" title="Jobs are hidden from you.">
      <p>{hiddenWords(store.hiddenNamespaces)}; ask an administrator for the role view there.</p>
    </Notice>
  );
}

function Waiting({ rows }: { rows: readonly JobRow[] }) {
  const found = waiting(rows);
  const gpus = found.reduce((sum, row) => sum + row.gpus, 0);
  return (
    <section className="card amount w3" aria-label="Waiting">
      <h2>
        <Icon name="wait" small /> Waiting
      </h2>
      <p className="big">
        {store.loaded && !store.seesNothing ? figure(found.length) : "–"} <small>{found.length === 1 ? "job" : "jobs"}{gpus > 0 ? `, ${gpuWords(gpus)}` : ""}</small>
      </p>
      <p className="dim small">
        <Link to="/jobs" search={{ view: "waiting" }}>
          Open as list
        </Link>
      </p>
    </section>
  );
}

function Attention({ rows, now, user }: { rows: readonly JobRow[]; now: number; user: string }) {
  const [wait, failed] = useMemo(() => [waiting(rows), failedSince(rows, now - DAY)], [rows, now]);
  const own = (row: JobRow): boolean => row.user !== "" && row.user === user;
  const found = [...failed, ...wait];
  const mine = found.filter(own);
  const all = [...mine, ...found.filter((row) => !own(row))];
  return (
    <>
      <header className="cardhead">
        <h2>Needs attention</h2>
        <span className="tag">{figure(all.length)}</span>
        <span className="dim">
          {figure(failed.length)} failed in 24 h, {figure(wait.length)} {wait.length === 1 ? "waits" : "wait"}; {mine.length === 0 ? "none is" : `${figure(mine.length)} of them`} yours
        </span>
      </header>
      {all.length === 0 ? (
        <Notice icon="info" title="Nothing waits, and nothing failed today." />
      ) : (
        <ul className="attention">
          {all.slice(0, MOST_ATTENTION).map((row) => (
            <li key={row.uid}>
              <State state={row.state} />
              <span className="cut">
                <JobLink row={row} /> {own(row) ? <span className="tag">yours</span> : null}
              </span>
              <span className="dim small">{row.state === "Failed" ? moment(row.finished ?? row.created, now) : elapsed(row, now)}</span>
              <span className="dim small message">{row.message || "The operator gives no reason."}</span>
            </li>
          ))}
        </ul>
      )}
      {all.length > MOST_ATTENTION ? (
        <footer className="tablefoot">
          <span>{figure(all.length - MOST_ATTENTION)} more:</span>
          <Link to="/jobs" search={{ view: "failed" }}>
            failed
          </Link>
          <Link to="/jobs" search={{ view: "waiting" }}>
            waiting
          </Link>
        </footer>
      ) : null}
    </>
  );
}

function Users({ rows, now }: { rows: readonly JobRow[]; now: number }) {
  const { range = "7d" } = useSearch({ from: "/" });
  const navigate = useNavigate({ from: "/" });
  const length = RANGES.find(({ id }) => id === range)?.milliseconds ?? 7 * DAY;
  const users = useMemo(() => byUser(rows, now - length), [rows, now, length]);
  const total = users.reduce((sum, { jobs }) => sum + jobs, 0);
  const choose = (next: RangeId): void => void navigate({ search: next === "7d" ? {} : { range: next }, replace: true });
  return (
    <>
      <header className="cardhead">
        <h2>Jobs by user</h2>
        <span className="grow" />
        <span className="segments" role="group" aria-label="Time range">
          {RANGES.map(({ id, title }) => (
            <button key={id} aria-pressed={id === range} onClick={() => choose(id)}>
              {title}
            </button>
          ))}
        </span>
      </header>
      {total === 0 ? (
        <Notice icon="info" title="No job that you may see was created in this time." />
      ) : (
        <div className="scrollx" tabIndex={0} role="region" aria-label="Jobs by user">
          <table>
            <thead>
              <tr>
                <th>User</th>
                <th className="right">Jobs</th>
                <th>Share of {figure(total)}</th>
                <th className="right">Running</th>
                <th className="right">Failed</th>
              </tr>
            </thead>
            <tbody>
              {users.slice(0, MOST_USERS).map(({ user, jobs, failed, running: run }) => (
                <tr key={user}>
                  <td className="cut name" title={user}>
                    <User name={user} />
                  </td>
                  <td className="right">{figure(jobs)}</td>
                  <td>
                    <Track value={ratio(jobs, total)} />
                  </td>
                  <td className="right">{run === 0 ? "–" : figure(run)}</td>
                  <td className="right">{failed === 0 ? "–" : figure(failed)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <footer className="tablefoot">
        <span>
          {users.length > MOST_USERS ? `${figure(users.length - MOST_USERS)} more users. ` : ""}
          Jobs that were deleted are not counted.
        </span>
      </footer>
    </>
  );
}

/** A user, with a link to the jobs; a name that the filter line would take for several words has none. */
function User({ name }: { name: string }) {
  if (name === "") return <span className="dimmer">not stated</span>;
  const q = `user:${name}`;
  return /[\s,]/.test(name) ? (
    name
  ) : (
    <Link to="/jobs" search={{ q }}>
      {name}
    </Link>
  );
}

function Running({ rows, now, capacity }: { rows: readonly JobRow[]; now: number; capacity: Capacity | undefined }) {
  const found = useMemo(() => running(rows), [rows]);
  const of = (part: number, share: Share | undefined): number | null => (share === undefined ? null : ratio(part, share.total));
  return (
    <>
      <header className="cardhead">
        <h2>Running jobs</h2>
        <span className="tag">{figure(found.length)}</span>
        <span className="grow" />
        <Link to="/jobs" search={{ view: "running" }}>
          Open as list
        </Link>
      </header>
      {found.length === 0 ? (
        <Notice icon="info" title="No job that you may see runs now." />
      ) : (
        <div className="scrollx" tabIndex={0} role="region" aria-label="Running jobs">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>User</th>
                <th className="right">GPUs</th>
                <th>GPU share</th>
                <th className="right">CPU</th>
                <th>CPU share</th>
                <th className="right">Memory</th>
                <th>Memory share</th>
                <th className="right">Time</th>
              </tr>
            </thead>
            <tbody>
              {found.slice(0, MOST_RUNNING).map((row) => (
                <tr key={row.uid}>
                  <td className="cut name">
                    <JobLink row={row} />
                  </td>
                  <td className="cut user" title={row.user}>
                    {row.user || "–"}
                  </td>
                  <td className="right">{row.gpus === 0 ? "–" : figure(row.gpus)}</td>
                  <td>{row.gpus === 0 ? "–" : <Track value={of(row.gpus, capacity?.gpus)} />}</td>
                  <td className="right">{row.cpuMillis === 0 ? "–" : cores(row.cpuMillis)}</td>
                  <td>{row.cpuMillis === 0 ? "–" : <Track value={of(row.cpuMillis, capacity?.cpu)} />}</td>
                  <td className="right">{row.memoryBytes === 0 ? "–" : bytes(row.memoryBytes)}</td>
                  <td>{row.memoryBytes === 0 ? "–" : <Track value={of(row.memoryBytes, capacity?.memory)} />}</td>
                  <td className="right dim">{elapsed(row, now)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.length > MOST_RUNNING ? (
        <footer className="tablefoot">
          <span>The {MOST_RUNNING} largest of {figure(found.length)}.</span>
        </footer>
      ) : null}
    </>
  );
}
