import { useQuery } from "@tanstack/react-query";
import { get, unlessRefused } from "../api/request";
import type { JudgedRow, MetricsList, MetricsRow } from "../api/wire";
import { useNow } from "../session";
import { moment } from "../text/format";
import { type Heard, heard, MARK, measures } from "../text/metrics";

const EVERY = 15_000; // milliseconds

/** Figures about requests, which are asked for again and again while the page is seen. */
export function useMetrics(path: string): Heard {
  const { data, isError, dataUpdatedAt } = useQuery<MetricsList | null>({
    queryKey: ["metrics", path],
    queryFn: ({ signal }) => unlessRefused(get<MetricsList>(path, signal)),
    refetchInterval: EVERY,
    retry: false,
  });
  return heard(data, isError, dataUpdatedAt);
}

/** In place of a figure that nobody has. */
export function NotKnown({ reason }: { reason: string }) {
  return (
    <span className="unknown" title={reason}>
      not known
    </span>
  );
}

/** Why figures are not known, of all services or of some versions; or of when they are. */
export function MetricsNote({ heard: { list, trouble, since }, rows = [] }: { heard: Heard; rows?: readonly MetricsRow[] }) {
  const now = useNow(10_000);
  if (trouble === "refused") return <p className="note">Rates, latencies and failures are not known: you may not see them.</p>;
  if (trouble === "silent" && list === undefined)
    return <p className="note">Rates, latencies and failures are not known: the console did not answer. It is asked again by itself.</p>;
  if (list === undefined) return null;
  if (list.problem !== "") return <p className="note">Rates, latencies and failures are not known: {list.problem}.</p>;
  const reasons = [...new Set(rows.map(({ reason }) => reason).filter((reason) => reason !== ""))];
  return (
    <>
      {since === null ? null : <p className="note tone-text-wait">Rates, latencies and failures are those of {moment(since, now)}: the console has not answered since. It is asked again by itself.</p>}
      {reasons.length === 0 ? null : <p className="note">Not known: {reasons.join("; ")}.</p>}
      {list.leftOut > 0 ? <p className="note">Only the first {list.services.length} services are measured; search for the others.</p> : null}
    </>
  );
}

/** A canary beside its bounds, since its step began. */
export function Judged({ row }: { row: JudgedRow }) {
  const found = measures(row);
  return (
    <div className="inset">
      {found.length === 0 ? null : (
        <dl className="measures">
          {found.map(({ title, value, bound, width, tone, words }) => (
            <div key={title}>
              <dt>
                {title}
                <span>
                  {value === "not known" ? <span className="unknown">not known</span> : <b>{value}</b>} <span className="dim">{bound}</span>
                </span>
              </dt>
              <dd>
                <span className="gauge" aria-hidden="true">
                  <i className={`fill-${tone}`} style={{ width: `${width}%` }} />
                  <u style={{ left: `${MARK}%` }} />
                </span>
                <span className={`small tone-text-${tone}`}>{words}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <p className={`small ${row.outcome === "Bad" ? "tone-text-fail" : "dim"}`}>
        {row.outcome === "Unknown" ? <span className="unknown">Not known</span> : row.outcome === "Good" ? "Good so far" : "Too bad to go on"}
        {row.message === "" ? "" : `: ${row.message}`}
      </p>
    </div>
  );
}
