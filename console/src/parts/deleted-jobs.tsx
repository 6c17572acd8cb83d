import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { forbids, get } from "../api/request";
import type { PastJobList, PastJobRow } from "../api/wire";
import { useNow } from "../session";
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

/** Jobs that were deleted, newest first, page by page. */
export function DeletedJobs({ q, clear }: { q: string; clear: () => void }) {
  const line = useSettled(q);
  const question = pastQuestion(line);
  const asked = "parameters" in question ? question.parameters : {};
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["history", asked],
    queryFn: ({ pageParam, signal }) => get<PastJobList>(`/api/v1/history/jobs?${new URLSearchParams({ ...asked, after: pageParam }).toString()}`, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next || undefined,
    enabled: "parameters" in question,
    staleTime: FRESH,
    retry: false, // a database that is down is said at once
  });
  if ("problem" in question)
    return (
      <div className="card">
        <Notice icon="info" title={question.problem} />
      </div>
    );
  const trouble = error === null ? null : <Trouble error={error} retry={() => void refetch()} />;
  if (data === undefined || forbids(error)) return <div className="card">{trouble ?? <Skeleton />}</div>;
  if (data.pages.some(({ installed }) => !installed)) return <NoHistory />;
  const rows = data.pages.flatMap((page) => page.rows);
  const hidden = data.pages[0]?.hiddenNamespaces ?? 0;
  return (
    <section className="card" aria-label="Deleted jobs">
      {trouble}
      {rows.length === 0 ? <Empty line={line} more={hasNextPage} clear={clear} /> : <Table rows={rows} />}
      <footer className="tablefoot">
        {rows.length === 0 && hidden > 0 ? null : <span>{figure(rows.length)} from the history</span>}
        <HiddenPast namespaces={hidden} />
        <span className="grow" />
        {hasNextPage ? (
          <button className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show older
          </button>
        ) : null}
      </footer>
    </section>
  );
}

function Empty({ line, more, clear }: { line: string; more: boolean; clear: () => void }) {
  if (more)
    return (
      <Notice icon="info" title="None of the newest deleted jobs match.">
        <p>A text is searched in 2,000 jobs at a time. Show older ones to go on.</p>
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
