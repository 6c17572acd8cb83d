import { expect, test } from "vitest";
import { percentDone, progressWords } from "./progress";

const NOW = Date.parse("2026-11-18T12:00:00Z");
const job = { progress: 0.4249, progressUnknown: false, ends: null, state: "Running" };

test("progress is rounded down, and a job that runs is never done", () => {
  expect([percentDone(0.4249), percentDone(0.29), percentDone(1), percentDone(0)]).toEqual(["42 %", "29 %", "99 %", "0 %"]);
});

test("only a job that runs and whose program reports has progress", () => {
  expect(progressWords(job, NOW)).toBe("42 % done");
  expect(progressWords({ ...job, ends: "2026-11-18T12:00:00Z" }, NOW)).toMatch(/^42 % done, ends \d\d:\d\d$/);
  expect(progressWords({ ...job, progressUnknown: true, ends: "2026-11-18T12:00:00Z" }, NOW)).toBe("42 % done, says nothing now");
  expect(progressWords({ ...job, progress: null }, NOW)).toBeNull();
  expect(progressWords({ ...job, state: "Failed" }, NOW)).toBeNull();
});
