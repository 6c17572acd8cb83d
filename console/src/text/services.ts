// Rollouts in words. Pure.
import type { PredictorRow, StepRow } from "../api/wire";

export const underWay = (one: PredictorRow): boolean =>
  one.rollout !== null && ["Starting", "Stepping", "Promoting"].includes(one.rollout.phase);

/** What a rollout does now, in one sentence; empty if there is none. */
export function rolloutWords(one: PredictorRow, steps: readonly StepRow[]): string {
  const { rollout } = one;
  if (rollout === null) return "";
  const weight = steps[rollout.step]?.weight;
  switch (rollout.phase) {
    case "Starting":
      return `${rollout.candidate} starts`;
    case "Stepping":
      return `${rollout.candidate} at ${weight === undefined ? "an unknown share" : `${weight} %`}, step ${rollout.step + 1} of ${Math.max(steps.length, rollout.step + 1)}`;
    case "Promoting":
      return `${rollout.candidate} takes over`;
    case "RolledBack":
      return `${rollout.rejected || rollout.candidate} was rolled back`;
    default:
      return "";
  }
}

/** How long a step lasts: "10 min", "until a person goes on". */
export const pauseWords = (pause: number | null): string =>
  pause === null ? "until a person goes on" : pause < 60 ? `${pause} s` : `${Math.round(pause / 60)} min`;
