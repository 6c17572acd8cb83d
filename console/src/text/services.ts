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

export type RolloutWord = "next" | "promote" | "abort" | "retry";

interface RolloutStep {
  readonly word: RolloutWord;
  readonly title: string;
  readonly icon: "right" | "ok" | "restart";
  readonly losses: readonly string[]; // what a person is told first; nothing for what goes on as planned
}

/** What can be said about a rollout as it is now, in the operator's own words. */
export function rolloutSteps(one: PredictorRow): readonly RolloutStep[] {
  const { rollout } = one;
  if (rollout === null) return [];
  const candidate = rollout.candidate || rollout.rejected || "the new version";
  const promote: RolloutStep = {
    word: "promote",
    title: "Promote",
    icon: "ok",
    losses: [`${candidate} serves everything, without the steps that are left.`, "What is measured meanwhile does not stop it."],
  };
  const abort: RolloutStep = {
    word: "abort",
    title: "Roll back",
    icon: "restart",
    losses: [`${rollout.stable || "The version before"} serves everything again.`, `${candidate} is not tried again until somebody says so.`],
  };
  if (rollout.phase === "Stepping") return [{ word: "next", title: "Next step", icon: "right", losses: [] }, promote, abort];
  if (rollout.phase === "Starting") return [promote, abort];
  if (rollout.phase === "Promoting") return [abort];
  if (rollout.rejected !== "") return [{ word: "retry", title: "Try again", icon: "restart", losses: [] }, promote];
  return [];
}
