import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { forbids, get } from "../api/request";
import type { PastJobList, PastJobRow } from "../api/wire";
import { useNow } from "../session";
import { DELETED } from "../text/filter";
import { elapsed, figure, moment } from "../text/format";
import { pastQuestion } from "../text/past";
import { HiddenPast, NoHistory } from "./no-history";
import { Skeleton } from "./skeleton";
import { State } from "./state";
import { Notice, Trouble } from "./trouble";

const PAUSE = 300; // milliseconds after the last key
const FRESH = 30_000; // milliseconds: no stream says when the history changed

/** A value that has not changed for a moment, so that not every key is a question to a database. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Jobs that were deleted, newest first. One page is in memory, and its place is in the address: `after`. */
export function DeletedJobs({ q, after, clear }: { q: string; after: string; clear: () => void }) {
  const line = useSettled(q);
  const question = pastQuestion(line);
  const asked = "parameters" in question ? question.parameters : {};
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["history", asked, after],
    queryFn: ({ signal }) => get<PastJobList>(`/api/v1/history/jobs?${new URLSearchParams({ ...asked, after }).toString()}`, signal),
    enabled: "parameters" in question,
    placeholderData: keepPreviousData,
    staleTime: FRESH,
    refetchInterval: FRESH,
    retry: false, // a database that is down is said at once
  });
  useEffect(() => {
    if (!isPlaceholderData) window.scrollTo(0, 0); // a page is read from its top
  }, [after, isPlaceholderData]);
  if ("problem" in question)
    return (
      <div className="card">
        <Notice icon="info" title={question.problem} />
      </div>
    );
  const trouble = error === null ? null : <Trouble error={error} retry={() => void refetch()} />;
  if (data === undefined || forbids(error)) return <div className="card">{trouble ?? <Skeleton />}</div>;
  if (!data.installed) return <NoHistory />;
  const search = { view: DELETED, ...(q === "" ? {} : { q }) } as const;
  return (
    <section className="card" aria-label="Deleted jobs" aria-busy={isPlaceholderData}>
      {trouble}
      {data.rows.length === 0 ? <Empty line={line} more={data.next !== ""} clear={clear} /> : <Table rows={data.rows} />}
      <footer className="tablefoot">
        {data.rows.length === 0 && data.hiddenNamespaces > 0 ? null : <span>{figure(data.rows.length)} from the history</span>}
        <HiddenPast namespaces={data.hiddenNamespaces} />
        <span className="grow" />
        {after === "" ? null : (
          <Link to="/jobs" search={search}>
            Newest
          </Link>
        )}
        {data.next === "" ? null : (
          <Link to="/jobs" search={{ ...search, after: data.next }}>
            Older
          </Link>
        )}
      </footer>
    </section>
  );
}

function Empty({ line, more, clear }: { line: string; more: boolean; clear: () => void }) {
  if (more)
    return (
      <Notice icon="info" title="None of the newest deleted jobs match.">
        <p>A text is searched in 2,000 jobs at a time. Go on with older ones.</p>
      </Notice>
    );
  return line === "" ? (
    <Notice icon="info" title="The history has no deleted jobs that you may see.">
      <p>It has jobs since the recorder runs. Those of a namespace that is gone need the right to list jobs in all namespaces.</p>
    </Notice>
  ) : (
    <Notice icon="info" title="No deleted job matches.">
      <button className="button" onClick={clear}>
        Clear filters
      </button>
    </Notice>
  );
}

function Table({ rows }: { rows: readonly PastJobRow[] }) {
  const now = useNow(60_000);
  return (
    <div className="scrollx" tabIndex={0} role="region" aria-label="Rows">
      <table className="stack">
        <thead>
          <tr>
            <th>Job</th>
            <th>State</th>
            <th>User</th>
            <th>Queue</th>
            <th className="right">GPUs</th>
            <th className="right">Ran</th>
            <th className="right">Created</th>
            <th className="right">Deleted</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.uid}>
              <td className="title wrap name">
                <span className="dimmer">{row.namespace} / </span>
                <Link
                  to="/jobs/$namespace/$kind/$name/$uid"
                  params={{ namespace: row.namespace, kind: row.kind.toLowerCase(), name: row.name, uid: row.uid }}
                >
                  {row.name}
                </Link>
                <span className="dim small block">{row.kind}</span>
              </td>
              <td data-label="State">
                <State state={row.state} plain />
              </td>
              <td data-label="User" className="wrap">{row.user || "–"}</td>
              <td data-label="Queue" className="wrap">{row.queue || "–"}</td>
              <td data-label="GPUs" className="right">{row.gpus === 0 ? "–" : figure(row.gpus)}</td>
              <td data-label="Ran" className="right dim">{row.started === null ? "–" : elapsed(row, now)}</td>
              <td data-label="Created" className="right dim">{moment(row.created, now)}</td>
              <td data-label="Deleted" className="right dim">
                {row.deletion === "Missed" ? "before " : ""}
                {moment(row.deleted, now)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
