import type { PredictorRow, ServiceRow, VersionShare } from "../api/wire";
import { figure } from "../text/format";
import { Icon } from "./icon";

const COLOURS = 6; // of versions; the seventh has the first one's again

export interface Run extends VersionShare {
  readonly predictor: PredictorRow;
  readonly colour: string;
}

/** What all predictors run, a canary after its predictor; before the operator has said it, what the spec names. */
export const runsOf = (predictors: readonly PredictorRow[]): readonly Run[] =>
  predictors
    .flatMap((predictor) => {
      const { modelVersion: version, model, percent, runs } = predictor;
      return (runs.length > 0 ? runs : [{ version, model, percent, canary: false }]).map((run) => ({ ...run, predictor }));
    })
    .map((run, index) => ({ ...run, colour: `team-${(index % COLOURS) + 1}` }));

/** Who gets how much of the traffic now. */
export function Shares({ predictors }: { predictors: readonly PredictorRow[] }) {
  const runs = runsOf(predictors).map((run) => ({ ...run, name: run.canary ? `${run.predictor.name} canary` : run.predictor.name }));
  return (
    <span className="shares">
      <span className="meter" aria-hidden="true">
        {runs.map(({ name, percent, colour }) => (percent === null || percent === 0 ? null : <i key={name} className={colour} style={{ width: `${percent}%` }} />))}
      </span>
      <span className="legend">
        {runs.map(({ name, percent, colour }) => (
          <span key={name}>
            <i className={`key ${colour}`} />
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
