import { memo } from "react";
import { at } from "../api/base";
import type { JobRow } from "../api/wire";
import { elapsed, figure, gpuWords, moment } from "../text/format";
import { progressWords } from "../text/progress";
import { Ready } from "./ready";
import { State } from "./state";

interface Props {
  readonly row: JobRow;
  readonly index: number;
  readonly top: number;
  readonly now: number;
  readonly narrow: boolean;
}

/**
 * A row of the list of jobs. One that stays in view is not drawn again while the list scrolls. The list itself follows
 * its link: nothing is set up for a row, which comes and goes many times a second.
 */
export const Row = memo(function Row({ row, index, top, now, narrow }: Props) {
  const said = progressWords(row, now) ?? row.message;
  const since = row.started ?? row.created;
  return (
    <div
      className={said === "" ? "vrow vgrid" : "vrow vgrid has-why"}
      role="row"
      data-uid={row.uid}
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="cell" className="c-state">
        <State state={row.state} plain />
      </span>
      <span role="cell" className="c-name cut" title={`${row.namespace}/${row.name}`}>
        <a href={at(`/jobs/${[row.namespace, row.kind.toLowerCase(), row.name].map(encodeURIComponent).join("/")}`)}>{row.name}</a>{" "}
        <span className="dimmer">{row.namespace}</span>
      </span>
      <span role="cell" className="c-kind dim" title={row.kind}>
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
      {narrow ? (
        <span className="c-facts cut" aria-hidden="true">
          {[row.namespace, row.user, row.gpus === 0 ? "" : gpuWords(row.gpus)].filter((part) => part !== "").join(" · ")}
        </span>
      ) : null}
      <span role="cell" className="c-why dim cut" title={said || undefined}>
        {said || "–"}
      </span>
      <span role="cell" className="c-time right dim" title={since === null ? undefined : moment(since, now)}>
        {elapsed(row, now)}
      </span>
    </div>
  );
});
