import { useNavigate, useSearch } from "@tanstack/react-router";
import type { CostPage, CostRow } from "../api/wire";
import { type Idle, IdleCell, useIdle } from "../parts/idle";
import { HiddenPast, NoHistory } from "../parts/no-history";
import { Track } from "../parts/meter";
import { PageQuery } from "../parts/page-query";
import { Notice } from "../parts/trouble";
import { ratio } from "../text/amounts";
import { barsOf, costWords, hours, RANGES, UNKNOWN, unpricedWords } from "../text/cost";
import { duration, figure } from "../text/format";
import { idleWords, together } from "../text/idle";

const FRESH = 60_000; // milliseconds: no stream says when receipts were written

export function Cost() {
  const { days = 30, ns = "" } = useSearch({ from: "/cost" });
  const navigate = useNavigate({ from: "/cost" });
  const parameters = new URLSearchParams({ days: String(days), ...(ns === "" ? {} : { ns }) }).toString();
  const idle = useIdle(parameters);
  return (
    <>
      <div className="head">
        <h1>Cost</h1>
        {ns === "" ? null : (
          <>
            <span className="tag">{ns}</span>
            <button className="linklike" onClick={() => void navigate({ search: ({ ns: _, ...rest }) => rest })}>
              All namespaces
            </button>
          </>
        )}
        <span className="grow" />
        <span className="segments" role="group" aria-label="Time range">
          {RANGES.map(({ id, title }) => (
            <button key={id} aria-pressed={id === days} onClick={() => void navigate({ search: (before) => ({ ...before, days: id }), replace: true })}>
              {title}
            </button>
          ))}
        </span>
      </div>
      <PageQuery<CostPage> topic="cost" path={`/api/v1/cost?${parameters}`} fresh={FRESH}>
        {(page) => <Content page={page} idle={idle} choose={(next) => void navigate({ search: (before) => ({ ...before, ns: next }) })} />}
      </PageQuery>
    </>
  );
}

function Content({ page, idle, choose }: { page: CostPage; idle: Idle; choose: (namespace: string) => void }) {
  if (!page.installed) return <NoHistory />;
  if (page.byDay.length === 0)
    return (
      <section className="card">
        <Notice icon="info" title="No job that you may see has used anything in this time.">
          <p>Receipts are written when jobs have ended. Those of a namespace that is gone need the right to list jobs in all namespaces.</p>
        </Notice>
        <footer className="tablefoot">
          <HiddenPast namespaces={page.hiddenNamespaces} />
        </footer>
      </section>
    );
  const named = page.queues.some(({ name }) => name !== "");
  return (
    <>
      <Total page={page} idle={idle} />
      <ByDay page={page} />
      <div className="cols">
        <Rows title="Namespaces" rows={page.teams} more={page.moreTeams} total={page.total} choose={choose} idle={idle} />
        <Rows title="Users" rows={page.users} more={page.moreUsers} total={page.total} half={named} />
        {named ? <Rows title="Queues" rows={page.queues} more={page.moreQueues} total={page.total} half /> : null}
      </div>
    </>
  );
}

function Total({ page, idle }: { page: CostPage; idle: Idle }) {
  const unused = together(idle.page?.rows ?? []);
  const { total } = page;
  const { waste } = total;
  const facts = [
    { title: "Spent", value: costWords(total), more: unpricedWords(total) || (total.costs.length === 0 ? "the price book has none" : "") },
    { title: "GPUs", value: hours(total.gpuSeconds), more: unused === null ? "requested" : `requested; idle ${idleWords(unused)} measured` },
    { title: "CPU cores", value: hours(total.cpuSeconds), more: "requested" },
    { title: "Ended jobs", value: waste === null ? "–" : figure(waste.jobs), more: "that used something" },
    { title: "They waited", value: waste === null ? "–" : duration(waste.waitingSeconds * 1000), more: "for nodes, together" },
    {
      title: "Lost",
      value: waste === null ? "–" : lost(waste),
      more: "of pods that were evicted or failed",
    },
  ];
  return (
    <dl className="card facts">
      {facts.map(({ title, value, more }) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
          <dd className="sub">{more}</dd>
        </div>
      ))}
    </dl>
  );
}

function ByDay({ page }: { page: CostPage }) {
  const { unit, bars } = barsOf(page.first, page.last, page.byDay);
  return (
    <section className="card">
      <header className="cardhead">
        <h2>By day</h2>
        <span className="dim">{unit}, days of UTC</span>
      </header>
      <ol className="daybars" aria-label={`By day, ${unit}`}>
        {bars.map(({ day, words, height }) => (
          <li key={day} title={`${day}: ${words}`}>
            <i style={{ height: `${height}%` }} />
            <span className="sr">
              {day}: {words}
            </span>
          </li>
        ))}
      </ol>
      <footer className="tablefoot">
        <span>{page.first}</span>
        <span className="grow" />
        <span>{page.last}</span>
      </footer>
      <footer className="tablefoot">
        <span>Jobs that have not ended are not included.</span>
        <HiddenPast namespaces={page.hiddenNamespaces} />
      </footer>
    </section>
  );
}

interface RowsProps {
  readonly title: string;
  readonly rows: readonly CostRow[];
  readonly more: number;
  readonly total: CostRow;
  readonly half?: boolean;
  readonly choose?: (name: string) => void;
  readonly idle?: Idle; // of namespaces
}

function Rows({ title, rows, more, total, half = false, choose, idle }: RowsProps) {
  const waste = rows.some((row) => row.waste !== null);
  const one = total.costs.length === 1;
  return (
    <section className={half ? "card w6" : "card w12"}>
      <header className="cardhead">
        <h2>{title}</h2>
        <span className="tag">{figure(rows.length + more)}</span>
      </header>
      <div className="scrollx" tabIndex={0} role="region" aria-label={title}>
        <table className="stack">
          <thead>
            <tr>
              <th>Name</th>
              <th className="right">Spent</th>
              <th>{one ? "Of all that was spent" : "Of all GPU hours"}</th>
              <th className="right">GPU</th>
              {idle === undefined ? null : <th className="right">Idle GPU time</th>}
              {waste ? (
                <>
                  <th className="right">Waited</th>
                  <th className="right">Lost</th>
                </>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <td className="title wrap name">
                  {row.name === "" ? (
                    <span className="dim">not named</span>
                  ) : choose === undefined ? (
                    row.name
                  ) : (
                    <button className="linklike" onClick={() => choose(row.name)}>
                      {row.name}
                    </button>
                  )}
                </td>
                <td data-label="Spent" className={costWords(row) === UNKNOWN ? "right dim" : "right"}>
                  {costWords(row)}
                  {unpricedWords(row) === "" ? null : <span className="dim small block">{unpricedWords(row)}</span>}
                </td>
                <td data-label={one ? "Of all spent" : "Of all GPU hours"}>
                  <Track
                    value={one ? (row.costs[0] === undefined ? null : ratio(row.costs[0].micros, total.costs[0]?.micros ?? 0)) : ratio(row.gpuSeconds, total.gpuSeconds)}
                  />
                </td>
                <td data-label="GPU" className="right">{hours(row.gpuSeconds)}</td>
                {idle === undefined ? null : (
                  <td data-label="Idle GPU time" className="right">
                    <IdleCell idle={idle} name={row.name} />
                  </td>
                )}
                {waste ? (
                  <>
                    <td data-label="Waited" className="right dim">{row.waste === null ? "–" : duration(row.waste.waitingSeconds * 1000)}</td>
                    <td data-label="Lost" className="right dim">{row.waste === null ? "–" : lost(row.waste)}</td>
                  </>
                ) : null}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {idle === undefined ? null : (
        <p className="note">
          {idle.problem === ""
            ? "Idle is the GPU time of all pods of a namespace in which use was below 5 %, of what DCGM measured of it."
            : `Idle GPU time is not known: ${idle.problem}.`}
        </p>
      )}
      {more > 0 ? (
        <footer className="tablefoot">
          <span>{figure(more)} more are not listed.</span>
        </footer>
      ) : null}
    </section>
  );
}

const lost = ({ lostSeconds, restartedSeconds }: { readonly lostSeconds: number; readonly restartedSeconds: number }): string =>
  lostSeconds + restartedSeconds === 0 ? "none" : duration((lostSeconds + restartedSeconds) * 1000);
