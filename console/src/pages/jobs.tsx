import { useNavigate, useSearch } from "@tanstack/react-router";
import { type MouseEvent, useDeferredValue, useLayoutEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { JobRow, Session } from "../api/wire";
import { elementOf } from "../live/row-window";
import { DeletedJobs } from "../parts/deleted-jobs";
import { Icon } from "../parts/icon";
import { Row } from "../parts/job-row";
import { useRowsInView } from "../parts/rows-in-view";
import { Skeleton } from "../parts/skeleton";
import { panelOf, Tabs } from "../parts/tabs";
import { Notice, Trouble } from "../parts/trouble";
import { live, rows as store, useHeard, useNow, useRows, useSession } from "../session";
import { countsOf, DELETED, inView, matcher, type View, VIEWS } from "../text/filter";
import { figure, hiddenWords } from "../text/format";

const TABS: readonly { readonly id: View; readonly title: string }[] = [...VIEWS, { id: DELETED, title: "Deleted" }];

const narrow = window.matchMedia("(max-width: 820px)");
const onNarrow = (listener: () => void): (() => void) => {
  narrow.addEventListener("change", listener);
  return () => narrow.removeEventListener("change", listener);
};

export function Jobs() {
  const { view = "all", q = "", after = "" } = useSearch({ from: "/jobs" });
  const navigate = useNavigate({ from: "/jobs" });
  const session = useSession().data as Session;
  const all = useRows();
  useHeard(); // an error of the stream is shown here too
  const query = useDeferredValue(q);
  const counts = useMemo(() => countsOf(all, session.user), [all, session.user]);
  const shown = useMemo(() => {
    const matches = matcher(query);
    return all.filter((row) => view !== DELETED && inView(view, row, session.user) && matches(row));
  }, [all, view, query, session.user]);
  const counted = store.loaded && !store.seesNothing;
  const search = (next: { view?: typeof view; q?: string }): void =>
    void navigate({ search: (before) => clean({ ...before, ...next }), replace: true });
  return (
    <>
      <div className="head">
        <h1>Jobs</h1>
        {counted && view !== DELETED ? <span className="dim">{figure(shown.length)} shown</span> : null}
      </div>
      <Tabs label="Views" tabs={TABS} counts={counted ? counts : {}} chosen={view} choose={(next) => search({ view: next })} />
      <label className="query">
        <Icon name="filter" small />
        <span className="sr">Filter</span>
        <input
          type="search"
          placeholder="state:Failed ns:nlp kind:pytorch or any text"
          value={q}
          onChange={(event) => search({ q: event.target.value })}
        />
      </label>
      <div {...panelOf(view)}>
        {view === DELETED ? (
          <DeletedJobs q={q} after={after} clear={() => search({ q: "" })} />
        ) : store.loaded ? (
          <Table rows={shown} any={all.length > 0} clear={() => search({ view: "all", q: "" })} />
        ) : live.failure !== null ? (
          <Trouble error={live.failure} />
        ) : (
          <div className="card">
            <Skeleton />
          </div>
        )}
      </div>
    </>
  );
}

function Table({ rows, any, clear }: { rows: readonly JobRow[]; any: boolean; clear: () => void }) {
  const now = useNow(10_000);
  const navigate = useNavigate();
  const small = useSyncExternalStore(onNarrow, () => narrow.matches);
  const height = small ? 88 : 36;
  const { port, drawn, order } = useRowsInView(rows.length, height);
  const focused = useRef<string | undefined>(undefined);
  // Elements are used again for other rows, and the focus must not go with them: Enter would open another job.
  useLayoutEffect(() => {
    const row = document.activeElement?.closest<HTMLElement>(".vrow");
    if (row && row.dataset["uid"] !== focused.current) row.closest<HTMLElement>(".vport")?.focus({ preventScroll: true });
  });
  const follow = (event: MouseEvent): void => {
    const link = (event.target as Element).closest("a");
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // the browser's own
    const row = rows.find(({ uid }) => uid === uidOf(link));
    if (row === undefined) return;
    event.preventDefault();
    void navigate({ to: "/jobs/$namespace/$kind/$name", params: { namespace: row.namespace, kind: row.kind.toLowerCase(), name: row.name } });
  };
  const foot = (
    <div className="tablefoot">
      {store.seesNothing ? null : <span>{figure(rows.length)} live</span>}
      {store.hiddenNamespaces > 0 ? <span>{hiddenWords(store.hiddenNamespaces)}</span> : null}
    </div>
  );
  if (rows.length === 0)
    return (
      <div className="card jobs">
        <Empty any={any} clear={clear} />
        {foot}
      </div>
    );
  return (
    <div className="card jobs">
      <div role="table" aria-label="Jobs" aria-rowcount={rows.length + 1}>
        <div className="vhead vgrid" role="row">
          {["State", "Name", "Kind", "User", "GPUs", "Ready", "Why, or progress", "Time"].map((title) => (
            <span key={title} role="columnheader" className={title === "GPUs" || title === "Time" ? "right" : undefined}>
              {title}
            </span>
          ))}
        </div>
        <div
          className="vport"
          ref={port}
          role="rowgroup"
          tabIndex={0}
          aria-label="Rows"
          onFocus={(event) => (focused.current = uidOf(event.target))}
          onClick={follow}
        >
          <div className="vspace" style={{ height: rows.length * height }}>
            {order.map((index) => {
              const row = rows[index];
              return row === undefined ? null : (
                <Row key={elementOf(index, drawn)} row={row} index={index} top={index * height} now={now} narrow={small} />
              );
            })}
          </div>
        </div>
      </div>
      {foot}
    </div>
  );
}

/** The job of the row that an element is in. */
const uidOf = (element: Element): string | undefined => element.closest<HTMLElement>(".vrow")?.dataset["uid"];

function Empty({ any, clear }: { any: boolean; clear: () => void }) {
  if (any)
    return (
      <Notice icon="info" title="No job matches.">
        <button className="button" onClick={clear}>
          Clear filters
        </button>
      </Notice>
    );
  return (
    <Notice icon={store.hiddenNamespaces > 0 ? "lock" : "info"} title="There are no jobs that you may see.">
      <p>
        {store.hiddenNamespaces > 0
          ? `${hiddenWords(store.hiddenNamespaces)}; ask an administrator for the role view there.`
          : "Submit one, and it appears here by itself:"}
      </p>
      {store.hiddenNamespaces > 0 ? null : <code>kubedl submit pytorch --name hello --image IMAGE -- python train.py</code>}
    </Notice>
  );
}

function clean(search: { view?: View; q?: string }) {
  return { ...(search.view && search.view !== "all" ? { view: search.view } : {}), ...(search.q ? { q: search.q } : {}) };
}
