import { expect, test } from "vitest";
import type { JobRow } from "../api/wire";
import { countsOf, inOrder, inView, matcher, VIEWS } from "./filter";
import { duration, elapsed, moment, readiness, timeTitle } from "./format";
import { hasEnded, STATES } from "./states";

const row = (part: Partial<JobRow>): JobRow => ({
  uid: "u", namespace: "nlp", kind: "PyTorchJob", name: "bert", state: "Running", message: "", ready: "", gpus: 0, cpuMillis: 0, memoryBytes: 0,
  user: "ada", queue: "", restarts: 0, progress: null, progressUnknown: false, ends: null, created: null, started: null, finished: null, ...part,
});

test("durations are short", () => {
  const minute = 60_000;
  expect([0, 25, 246, 60 * 49].map((minutes) => duration(minutes * minute))).toEqual(["<1 min", "25 min", "4 h 06", "2 d 1 h"]);
});

test("a time is a time of day today, a date on other days", () => {
  const now = new Date(2026, 10, 18, 12).getTime();
  expect(moment(new Date(2026, 10, 18, 9, 5).toISOString(), now)).toBe("09:05");
  expect(moment(new Date(2026, 10, 9, 9, 5).toISOString(), now)).toBe("9 Nov 09:05");
  expect(moment(new Date(2026, 10, 20, 9, 5).toISOString(), now)).toBe("20 Nov 09:05");
  expect([2025, 2028].map((year) => moment(new Date(year, 1, 28).toISOString(), now))).toEqual(["28 Feb 2025", "28 Feb 2028"]);
  expect(moment(null, now)).toBe("–");
});

test("a job's time runs from its start to its end", () => {
  const job = { created: "2026-11-18T00:00:00Z", started: "2026-11-18T01:00:00Z", finished: "2026-11-18T02:00:00Z" };
  expect(elapsed(job, 0)).toBe("1 h 00");
  expect(elapsed({ ...job, started: null, finished: null }, Date.parse("2026-11-18T00:30:00Z"))).toBe("30 min");
});

test("a job that never started has not run", () => {
  const [started, finished] = ["2026-11-18T01:00:00Z", "2026-11-18T02:00:00Z"];
  const of = (times: { started: string | null; finished: string | null }): string => timeTitle({ created: started, ...times });
  expect([of({ started, finished }), of({ started, finished: null })]).toEqual(["Ran", "Runs for"]);
  expect([of({ started: null, finished: null }), of({ started: null, finished })]).toEqual(["Waits for", "Waited"]);
});

test("what is not known is not drawn as 0", () => {
  expect(readiness("")).toBeNull();
  expect(readiness("2/4")).toEqual({ ready: 2, wanted: 4 });
});

test("a filter takes tokens and words, and no typing is an error", () => {
  expect(matcher("state:failed,running ns:nlp ber")(row({}))).toBe(true);
  expect(matcher("kind:pytorch")(row({}))).toBe(true);
  expect(matcher("user:ben")(row({}))).toBe(false);
  expect(matcher("state:")(row({}))).toBe(true);
  expect(matcher("nofield:x")(row({ message: "nofield:x" }))).toBe(true);
});

test("views", () => {
  expect(inView("mine", row({ user: "" }), "")).toBe(false);
  expect(inView("waiting", row({ state: "Queuing" }), "ada")).toBe(true);
});

test("what needs a person comes first, then the newest", () => {
  const order = inOrder([
    row({ uid: "old", state: "Succeeded", created: "2026-01-01T00:00:00Z" }),
    row({ uid: "new", state: "Failed", created: "2026-02-01T00:00:00Z" }),
    row({ uid: "run", state: "Running" }),
    row({ uid: "wait", state: "Queuing" }),
  ]);
  expect(order.map(({ uid }) => uid)).toEqual(["wait", "run", "new", "old"]);
});

test("a job that may still change has not ended: why it waits is asked again", () => {
  expect(STATES.filter(hasEnded)).toEqual(["Failed", "Succeeded", "Deleted", "Lost"]);
  expect(hasEnded("")).toBe(false);
});

test("each view is counted as it is shown", () => {
  const rows = ["Queuing", "Running", "Failed", "Running", "Succeeded"].map((state, number) => row({ state, uid: `${number}`, user: number < 2 ? "ada" : "" }));
  const counts = countsOf(rows, "ada");
  for (const { id } of VIEWS) expect(counts[id]).toBe(rows.filter((one) => inView(id, one, "ada")).length);
  expect(counts).toEqual({ mine: 2, waiting: 1, running: 2, failed: 1, all: 5 });
});
