import { expect, test } from "vitest";
import type { PredictorRow, RolloutRow } from "../api/wire";
import { repositoryName, shortDigest } from "./images";
import { pauseWords, rolloutSteps, rolloutWords, underWay } from "./services";

const rollout = (more: Partial<RolloutRow>): RolloutRow => ({
  phase: "Stepping", stable: "v1", candidate: "v2", rejected: "", step: 1, since: null, reason: "", message: "", ...more,
});
const predictor = (more: RolloutRow | null): PredictorRow => ({
  name: "main", modelVersion: "v1", model: "m", replicas: 1, ready: 1, weight: null, percent: null, reason: "", message: "", rollout: more, runs: [],
});
const STEPS = [{ weight: 5, pause: 600 }, { weight: 25, pause: null }];

test("a rollout is one sentence", () => {
  expect(rolloutWords(predictor(rollout({})), STEPS)).toBe("v2 at 25 %, step 2 of 2");
  expect(rolloutWords(predictor(rollout({ phase: "RolledBack", rejected: "v2" })), STEPS)).toBe("v2 was rolled back");
  expect(rolloutWords(predictor(rollout({ phase: "Stable" })), STEPS)).toBe("");
  expect(rolloutWords(predictor(null), STEPS)).toBe("");
});

test("a step that the spec does not have any more is not guessed", () => {
  expect(rolloutWords(predictor(rollout({ step: 7 })), STEPS)).toBe("v2 at an unknown share, step 8 of 8");
});

test("what has ended is not under way", () => {
  expect([underWay(predictor(rollout({}))), underWay(predictor(rollout({ phase: "RolledBack" }))), underWay(predictor(null))]).toEqual([true, false, false]);
});

test("pauses, digests and repositories are short", () => {
  expect([pauseWords(30), pauseWords(600), pauseWords(null)]).toEqual(["30 s", "10 min", "until a person goes on"]);
  expect([shortDigest(`hub/m@sha256:${"ab".repeat(32)}`), shortDigest("hub/m:1")]).toEqual(["abababababab", "hub/m:1"]);
  expect([repositoryName("https://git.example/team/nlp.git"), repositoryName("")]).toEqual(["nlp", ""]);
});

test("what can be said about a rollout follows its phase", () => {
  const words = (more: Partial<RolloutRow>): readonly string[] => rolloutSteps(predictor(rollout(more))).map(({ word }) => word);
  expect(words({})).toEqual(["next", "promote", "abort"]);
  expect(words({ phase: "Starting" })).toEqual(["promote", "abort"]);
  expect(words({ phase: "Promoting" })).toEqual(["abort"]);
  expect(words({ phase: "RolledBack", rejected: "v2" })).toEqual(["retry", "promote"]);
  expect(words({ phase: "Stable" })).toEqual([]);
  expect(rolloutSteps(predictor(null))).toEqual([]);
});

test("a person is told what promoting and rolling back do, with names", () => {
  const [, promote, abort] = rolloutSteps(predictor(rollout({})));
  expect(promote?.losses[0]).toBe("v2 serves everything, without the steps that are left.");
  expect(abort?.losses[0]).toBe("v1 serves everything again.");
});
