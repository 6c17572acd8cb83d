import { expect, test } from "vitest";
import type { PredictorRow, RolloutRow } from "../api/wire";
import { repositoryName, shortDigest } from "./images";
import { pauseWords, rolloutWords, underWay } from "./services";

const rollout = (more: Partial<RolloutRow>): RolloutRow => ({
  phase: "Stepping", stable: "v1", candidate: "v2", rejected: "", step: 1, since: null, reason: "", message: "", ...more,
});
const predictor = (more: RolloutRow | null): PredictorRow => ({
  name: "main", modelVersion: "v1", model: "m", replicas: 1, ready: 1, weight: null, percent: null, reason: "", message: "", rollout: more,
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
