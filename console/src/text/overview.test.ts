import { expect, test } from "vitest";
import type { Capacity, JobRow } from "../api/wire";
import { bytes, cores, percent, ratio } from "./amounts";
import { byUser, failedSince, overviewFacts, running, waiting } from "./overview";

const NOW = Date.parse("2026-11-18T12:00:00Z");
const row = (uid: string, more: Partial<JobRow>): JobRow => ({
  uid, namespace: "nlp", kind: "PyTorchJob", name: uid, state: "Running", message: "", ready: "", gpus: 0, cpuMillis: 0,
  memoryBytes: 0, user: "mei", queue: "", restarts: 0, progress: null, progressUnknown: false, ends: null, created: "2026-11-18T11:00:00Z", started: null, finished: null, ...more,
});

test("jobs are counted by user, and only those of the range", () => {
  const rows = [row("a", {}), row("b", { state: "Failed" }), row("c", { user: "tom" }), row("d", { created: "2026-11-01T00:00:00Z" }), row("e", { created: null })];
  expect(byUser(rows, NOW - 86_400_000)).toEqual([
    { user: "mei", jobs: 2, failed: 1, running: 1 },
    { user: "tom", jobs: 1, failed: 0, running: 1 },
  ]);
});

test("what is not known of the cluster is said beside the nodes", () => {
  const capacity = { nodes: 4, closedNodes: 1, onlyNamespace: "" } as Capacity;
  expect(overviewFacts(capacity, 0)).toEqual(["4 nodes, 1 not taking pods"]);
  expect(overviewFacts({ ...capacity, nodes: 1, closedNodes: 0, onlyNamespace: "nlp" }, 2)).toEqual([
    "1 node", "only nlp is followed, so what is free is not known", "2 namespaces are hidden",
  ]);
  expect(overviewFacts(undefined, 1)).toEqual(["1 namespace is hidden"]);
});

test("the longest wait comes first", () => {
  const rows = [row("new", { state: "Queuing" }), row("old", { state: "Created", created: "2026-11-18T09:00:00Z" }), row("runs", {})];
  expect(waiting(rows).map(({ uid }) => uid)).toEqual(["old", "new"]);
});

test("a failure counts by its end, not by the job's creation", () => {
  const rows = [row("long", { state: "Failed", created: "2026-10-01T00:00:00Z", finished: "2026-11-18T10:00:00Z" }), row("past", { state: "Failed", finished: "2026-11-01T00:00:00Z" })];
  expect(failedSince(rows, NOW - 86_400_000).map(({ uid }) => uid)).toEqual(["long"]);
});

test("the largest job comes first", () => {
  expect(running([row("small", { cpuMillis: 9 }), row("large", { gpus: 8 }), row("off", { state: "Suspended", gpus: 9 })]).map(({ uid }) => uid)).toEqual(["large", "small"]);
});

test("amounts have units and at most one decimal", () => {
  expect([cores(1500), cores(698_000), bytes(64 * 1024 ** 3), bytes(7.5 * 1024 ** 4), bytes(0)]).toEqual(["1.5", "698", "64 GiB", "7.5 TiB", "0 B"]);
  expect([percent(ratio(1, 8)), percent(ratio(1, 0)), percent(ratio(9, 8))]).toEqual(["12.5 %", "–", "100.0 %"]);
});
