import { expect, test } from "vitest";
import type { JobPage, JobRow, PodRow } from "../api/wire";
import { jobWords, losses, missingWords, shares, weightOf } from "./actions";

const pod = { name: "bert-worker-0" } as PodRow;
const page = (parts: Partial<JobPage>, finished: string | null = null): JobPage => ({
  job: { finished } as JobRow,
  suspended: false,
  reason: "",
  conditions: [],
  pods: [],
  events: [],
  missing: [],
  ...parts,
});

test("a job that ended can only be deleted", () => {
  expect(jobWords(page({}))).toEqual(["suspend", "delete"]);
  expect(jobWords(page({ suspended: true }))).toEqual(["resume", "delete"]);
  expect(jobWords(page({ suspended: true }, "2026-11-18T12:00:00Z"))).toEqual(["delete"]);
});

test("what is lost counts the pods that are known", () => {
  expect(losses("delete", page({ pods: [pod, pod] }))[0]).toBe("Its 2 pods are deleted with it.");
  expect(losses("suspend", page({ pods: [pod] }))[0]).toMatch(/^Its pod is deleted, and none/);
  expect(losses("delete", page({}))[0]).toBe("The job is deleted.");
  const hidden = page({ missing: [{ verb: "list", resource: "pods", namespace: "nlp" }] });
  expect(losses("delete", hidden)[0]).toBe("Its pods are deleted with it.");
});

test("a job that ended loses no work", () => {
  expect(losses("delete", page({})).join(" ")).toContain("checkpoint");
  expect(losses("delete", page({}, "2026-11-18T12:00:00Z")).join(" ")).not.toContain("checkpoint");
});

test("a missing right is named once for all that it takes", () => {
  const missing = { verb: "patch", resource: "inferences.serving.kubedl.io", namespace: "nlp" };
  const rows = ["next", "promote", "abort"].map((name) => ({ name, missing }));
  expect(missingWords(rows, ["next", "promote", "abort"])).toEqual([
    "You may not go on, promote or roll back: the right to patch inferences.serving.kubedl.io in nlp is missing.",
  ]);
  expect(missingWords([{ name: "next", missing: null }], ["next"])).toEqual([]);
  expect(missingWords(undefined, ["next"])).toEqual([]);
});

test("weights are shares of their sum", () => {
  expect(shares([30, 50, 20])).toEqual([30, 50, 20]);
  expect(shares([1, 2])).toEqual([33.3, 66.7]);
  expect(shares([0, 0])).toBeNull();
});

test("a weight is a whole number up to a million", () => {
  expect(["0", " 70 ", "1000000"].map(weightOf)).toEqual([0, 70, 1_000_000]);
  for (const text of ["", "-1", "1.5", "1e3", "1000001", "x"]) expect(weightOf(text)).toBeNull();
});
