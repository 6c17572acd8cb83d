import { expect, test } from "vitest";
import { type Choice, choiceIn, choosing, choosingVersion, wanted } from "./lineage-choice";

test("the job of an old version is chosen, and the version stays in the graph", () => {
  const old: Choice = choosingVersion({}, "bert-3");
  expect([old, wanted(old)]).toEqual([{ focus: "version:bert-3" }, "bert-3"]);
  const job = choosing(old, "job:uid-3");
  expect([job, wanted(job)]).toEqual([{ focus: "job:uid-3", v: "bert-3" }, "bert-3"]);
  const commit = choosing(job, "code:git@a");
  expect(wanted(commit)).toBe("bert-3");
  expect(wanted(choosing(commit, "version:bert-9"))).toBe("bert-3");
});

test("another version of the list takes its place, and without a choice the graph is that of what serves now", () => {
  const before: Choice = { focus: "job:uid-3", v: "bert-3", all: true };
  expect(choosingVersion(before, "bert-4")).toEqual({ focus: "version:bert-4", all: true });
  expect(choosing(before, "")).toEqual({ all: true });
  expect(wanted({})).toBe("");
});

test("an address has what was chosen, and nothing else counts", () => {
  const chosen: Choice = { focus: "job:uid-3", v: "bert-3", all: true };
  expect(choiceIn({ ...chosen })).toEqual(chosen);
  expect(choiceIn({ focus: 7, v: ["x"], all: "1", more: "x" })).toEqual({});
});
