import { useNavigate } from "@tanstack/react-router";
import { memo, type MouseEvent } from "react";
import { at } from "../api/base";
import type { JobRow } from "../api/wire";
import { elapsed, figure, moment } from "../text/format";
import { progressWords } from "../text/progress";
import { Ready } from "./ready";
import { State } from "./state";

/** A row of the list of jobs. One that stays in view is not drawn again while the list scrolls. */
export const Row = memo(function Row({ row, index, top, now }: { row: JobRow; index: number; top: number; now: number }) {
  const said = progressWords(row, now) ?? row.message;
  return (
    <div
      className={said === "" ? "vrow vgrid" : "vrow vgrid has-why"}
      role="row"
      data-uid={row.uid}
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${top}px)` }}
    >
      <Cells row={row} said={said} now={now} />
    </div>
  );
});

function Cells({ row, said, now }: { row: JobRow; said: string; now: number }) {
  const since = row.started ?? row.created;
  return (
    <>
      <span role="cell" className="c-state">
        <State state={row.state} plain />
      </span>
      <span role="cell" className="c-name cut" title={`${row.namespace}/${row.name}`}>
        <NameLink row={row} /> <span className="dimmer">{row.namespace}</span>
      </span>
      <span role="cell" className="c-kind dim cut" title={row.kind}>
        {row.kind.replace(/Job$/, "")}
      </span>
      <span role="cell" className="c-user cut" title={row.user === "" ? undefined : `${row.user}, as the job states`}>
        {row.user || "–"}
      </span>
      <span role="cell" className="c-gpus right">
        {row.gpus === 0 ? "–" : figure(row.gpus)}
      </span>
      <span role="cell" className="c-ready">
        <Ready text={row.ready} />
      </span>
      <span className="c-facts cut" aria-hidden="true">
        {[row.namespace, row.user, row.gpus === 0 ? "" : `${figure(row.gpus)} GPUs`].filter((part) => part !== "").join(" · ")}
      </span>
      <span role="cell" className="c-why dim cut" title={said || undefined}>
        {said || "–"}
      </span>
      <span role="cell" className="c-time right dim" title={since === null ? undefined : moment(since, now)}>
        {elapsed(row, now)}
      </span>
    </>
  );
}

/** A link of its own: the router's works out with each drawing whether it is active, which takes as long as the rest of a row. */
function NameLink({ row }: { row: JobRow }) {
  const navigate = useNavigate();
  const params = { namespace: row.namespace, kind: row.kind.toLowerCase(), name: row.name };
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // the browser's own
    event.preventDefault();
    void navigate({ to: "/jobs/$namespace/$kind/$name", params });
  };
  return (
    <a href={at(`/jobs/${Object.values(params).map(encodeURIComponent).join("/")}`)} onClick={follow}>
      <b>{row.name}</b>
    </a>
  );
}
