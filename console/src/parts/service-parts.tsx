import type { PredictorRow, ServiceRow } from "../api/wire";
import { figure } from "../text/format";
import { Icon } from "./icon";

const COLOURS = 6; // of predictors; the seventh has the first one's again

export const colour = (index: number): string => `team-${(index % COLOURS) + 1}`;

/** Who gets how much of the traffic now. */
export function Shares({ predictors }: { predictors: readonly PredictorRow[] }) {
  return (
    <span className="shares">
      <span className="meter" aria-hidden="true">
        {predictors.map(({ name, percent }, index) =>
          percent === null || percent === 0 ? null : <i key={name} className={colour(index)} style={{ width: `${percent}%` }} />,
        )}
      </span>
      <span className="legend">
        {predictors.map(({ name, percent }, index) => (
          <span key={name}>
            <i className={`key ${colour(index)}`} />
            {name} <b>{percent === null ? "not known" : `${figure(percent)} %`}</b>
          </span>
        ))}
      </span>
    </span>
  );
}

export function ServiceState({ row }: { row: ServiceRow }) {
  if (row.ready === "True")
    return (
      <span className="pill tone-ok">
        <Icon name="ok" small />
        Ready
      </span>
    );
  return (
    <>
      <span className={`pill ${row.ready === "" ? "tone-off" : "tone-wait"}`}>
        <Icon name={row.ready === "" ? "help" : "warn"} small />
        {row.ready === "" ? "Not seen" : row.reason || "Not ready"}
      </span>
      {row.message === "" ? null : <span className="dim small block">{row.message}</span>}
    </>
  );
}
