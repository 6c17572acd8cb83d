import { expect, test } from "vitest";
import type { LineageEdge, LineageNode, LineagePage } from "../api/wire";
import { ancestors, curve, descendants, HEIGHT, layout, lit, neighbour, ROW } from "./lineage";
import { answer, detail, sources, title } from "./lineage-words";

const KINDS = ["code", "job", "version", "service"];
const node = (id: string, column: number, more: Partial<LineageNode> = {}): LineageNode => ({
  id, column, kind: KINDS[column] ?? "", name: id, revision: "", state: "", user: "", gpus: 0, started: null, finished: null, signed: false, model: "",
  jobKind: "", uid: "", sight: column === 1 ? "there" : "", count: 0, ...more,
});
const edge = (source: string, target: string, more: Partial<LineageEdge> = {}): LineageEdge => ({ source, target, percent: null, canary: false, parent: false, ...more });
const page = (nodes: readonly LineageNode[], edges: readonly LineageEdge[], more: Partial<LineagePage> = {}): LineagePage => ({
  nodes, edges, leftOut: 0, history: "", missing: [], ...more,
});

// Two versions of one model: the older serves 75 %, the newer is a canary and began with the older.
const NODES = [
  node("old-code", 0, { name: "https://git.example/nlp/sft.git", revision: "41c8e0277777" }),
  node("new-code", 0, { name: "https://git.example/nlp/sft.git", revision: "9f3c1ab" }),
  node("mix", 0, { kind: "data", name: "s3://data/instruct-mix/v11" }),
  node("job-1", 1, { user: "mei.lin", state: "Succeeded", gpus: 16, started: "2026-11-07T01:00:00Z", finished: "2026-11-07T04:18:00Z" }),
  node("job-2", 1, { user: "mei.lin", sight: "recorded", finished: "2026-11-15T12:00:00Z" }),
  node("m-v2", 2, { state: "Built", revision: `hub/m@sha256:${"b2".repeat(32)}`, signed: true }),
  node("m-v1", 2, { state: "Built" }),
  node("chat", 3),
];
const EDGES = [
  edge("old-code", "job-1"), edge("mix", "job-1"), edge("new-code", "job-2"), edge("mix", "job-2"), edge("m-v1", "job-2", { parent: true }),
  edge("job-1", "m-v1"), edge("job-2", "m-v2"), edge("m-v1", "chat", { percent: 75 }), edge("m-v2", "chat", { percent: 25, canary: true }),
];
const PAGE = page(NODES, EDGES);

test("a part lights what it came from and what came from it, and nothing beside", () => {
  expect([...lit("job-2", NODES, EDGES)].sort()).toEqual(["chat", "job-1", "job-2", "m-v1", "m-v2", "mix", "new-code", "old-code"]);
  expect([...lit("old-code", NODES, EDGES)].sort()).toEqual(["chat", "job-1", "job-2", "m-v1", "m-v2", "old-code"]);
  expect([...ancestors(["job-1"], EDGES)].sort()).toEqual(["job-1", "mix", "old-code"]);
  expect([...descendants(["new-code"], EDGES)].sort()).toEqual(["chat", "job-2", "m-v2", "new-code"]);
});

test("without a choice what serves now is lit; a version without traffic is not; without services everything is", () => {
  const idle = EDGES.map((one) => (one.source === "m-v2" ? { ...one, percent: 0 } : one));
  expect(lit("", NODES, idle).has("m-v2")).toBe(false);
  expect(lit("", NODES, idle).has("m-v1")).toBe(true);
  const [nodes, edges] = [NODES.slice(0, -1), EDGES.slice(0, -2)];
  expect(lit("", nodes, edges).size).toBe(nodes.length);
});

test("versions that are each other's parents do not walk for ever", () => {
  const round = [edge("a", "b"), edge("b", "a")];
  expect([...ancestors(["a"], round)].sort()).toEqual(["a", "b"]);
});

test("no part stands on another, and none above the top", () => {
  const { tops, columns, height } = layout(NODES, EDGES);
  for (const column of columns)
    for (const [index, id] of column.entries()) {
      const [top, before] = [tops.get(id) ?? -1, tops.get(column[index - 1] ?? "")];
      expect(top).toBeGreaterThanOrEqual(0);
      expect(top + HEIGHT).toBeLessThanOrEqual(height);
      if (before !== undefined) expect(top - before).toBeGreaterThanOrEqual(ROW - 1);
    }
  expect(columns[2]).toEqual(["m-v2", "m-v1"]);
});

test("a service stands between the versions that it runs", () => {
  const { tops } = layout(NODES, EDGES);
  expect(tops.get("chat")).toBe(((tops.get("m-v1") ?? 0) + (tops.get("m-v2") ?? 0)) / 2);
});

test("arrow keys lead through all parts and to the nearest beside", () => {
  const places = layout(NODES, EDGES);
  const seen = ["Home"].map((key) => neighbour(places, "chat", key) ?? "");
  for (let next = neighbour(places, seen[0] ?? "", "ArrowDown"); next !== undefined; next = neighbour(places, next, "ArrowDown")) seen.push(next);
  expect(seen.toSorted()).toEqual(NODES.map(({ id }) => id).toSorted());
  expect(neighbour(places, "m-v1", "ArrowLeft")).toBe("job-1");
  expect(neighbour(places, "m-v1", "ArrowRight")).toBe("chat");
  expect(neighbour(places, "chat", "ArrowRight")).toBeUndefined();
  expect(neighbour(places, "chat", "x")).toBeUndefined();
});

test("a line ends at its arrow, also when it leads back", () => {
  expect(curve(0, 68, 76, false).head.split(" ")[1]).toBe("L76,94");
  expect(curve(0, 68, 76, true).head.split(" ")[1]).toBe("L0,107");
});

test("one sentence says who serves what, who trained it and from what", () => {
  const { who, rest } = answer(PAGE, "m");
  expect(who).toBe("chat");
  expect(rest).toBe(" answers with v1 (75 %) and v2 (25 %, canary), trained by mei.lin on 7 Nov and 15 Nov, from 2 commits, one data set and one base model.");
});

test("of two services with different versions each has its own, and who trained is said of the first alone", () => {
  const nodes = [...NODES.map((one) => (one.id === "job-2" ? { ...one, user: "tomas.k" } : one)), node("prod", 3)];
  const apart = [...EDGES.filter(({ target }) => target !== "chat"), edge("m-v1", "chat", { percent: 100 }), edge("m-v2", "prod", { percent: 100 })];
  expect(answer(page(nodes, apart), "m").rest).toBe(" answers with v1 (100 %), trained by mei.lin on 7 Nov, from one commit and one data set; prod answers with v2 (100 %).");
  const three = page([...nodes, node("test", 3)], [...apart, edge("m-v2", "test", { percent: 100 })]);
  expect(answer(three, "m").rest).toMatch(/^ answers with v1 \(100 %\), trained by mei.lin on 7 Nov.*; 2 other services answer with versions of it too\.$/);
});

test("without a service the sentence says so, and speaks of the newest version", () => {
  const nobody = page(NODES.slice(0, -1), EDGES.slice(0, -2));
  expect(answer(nobody, "m").rest).toBe("Nobody that you may see serves it. Its newest version, v2, was trained by mei.lin on 15 Nov, from one commit, one data set and one base model.");
  const hidden = { ...nobody, missing: [{ verb: "list", resource: "inferences.serving.kubedl.io", namespace: "nlp" }] };
  expect(answer(hidden, "m").rest).toMatch(/^Who serves it is hidden from you\./);
  expect(answer(page([], []), "m").rest).toBe("Nobody that you may see serves it.");
});

test("a service that sends no traffic does not answer", () => {
  const idle = page(NODES, EDGES.map((one) => (one.target === "chat" ? { ...one, percent: 0 } : one)));
  expect(answer(idle, "m").rest).toMatch(/^chat names it and sends it no traffic\./);
});

test("a job that is hidden or not stated has words and no name", () => {
  const hidden = node("j", 1, { name: "", sight: "hidden" });
  expect([title(hidden, "m"), detail(hidden, PAGE, "m")]).toEqual(["A job that you may not see", "the right to list it is missing"]);
  expect(title(node("j", 1, { name: "", sight: "none" }), "m")).toBe("No job is stated");
  const only = page([node("j", 1, { name: "", sight: "hidden" }), node("m-v1", 2)], [edge("j", "m-v1")]);
  expect(answer(only, "m").rest).toMatch(/was trained by a job that you may not see\.$/);
});

test("parts have short names and say what they are", () => {
  const words = (id: string): readonly string[] => NODES.filter((one) => one.id === id).flatMap((one) => [title(one, "m"), detail(one, PAGE, "m"), sources(one, PAGE, "m")]);
  expect(words("old-code")).toEqual(["sft @ 41c8e027", "code", ""]);
  expect(words("mix")).toEqual(["instruct-mix/v11", "data", ""]);
  expect(words("job-1")).toEqual(["job-1", "16 GPUs, 3 h 18, mei.lin", "from sft @ 41c8e027 and instruct-mix/v11"]);
  expect(words("job-2")).toEqual(["job-2", "deleted, mei.lin", "from sft @ 9f3c1ab, instruct-mix/v11 and v1"]);
  expect(words("m-v2")).toEqual(["v2", "b2b2b2b2, signed", "from job-2"]);
  expect(words("chat")).toEqual(["chat", "v1 and v2 (canary)", "from v1 (75 %) and v2 (25 %, canary)"]);
});
