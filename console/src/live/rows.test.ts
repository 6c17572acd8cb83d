import { expect, test } from "vitest";
import type { JobRow } from "../api/wire";
import { inOrder } from "../text/filter";
import { positionOf, Rows } from "./rows";

const row = (uid: string, state = "Running"): JobRow => ({
  uid, namespace: "nlp", kind: "PyTorchJob", name: uid, state, message: "", ready: "1/1", gpus: 0, cpuMillis: 0, memoryBytes: 0,
  user: "ada", queue: "", restarts: 0, progress: null, progressUnknown: false, ends: null, created: null, started: null, finished: null,
});
const list = (cursor: string, ...rows: JobRow[]) => ({ cursor, rows, hiddenNamespaces: 0 });

test("frames change the list, and tell which jobs to read again", () => {
  const rows = new Rows();
  const touched: string[][] = [];
  rows.onTouched((uids) => touched.push([...uids]));
  rows.replace(list("e-1-v", row("a"), row("b")));
  rows.apply({ rows: [row("c")], gone: ["a"], touched: ["b"] }, "e-2-v");
  expect(rows.all().map(({ uid }) => uid)).toEqual(["b", "c"]);
  expect(touched).toEqual([["b", "a", "c"]]);
});

test("a person who may see no job does not know that there is none", () => {
  const rows = new Rows();
  expect(rows.seesNothing).toBe(false);
  rows.replace({ ...list("e-1-v"), hiddenNamespaces: 2 });
  expect(rows.seesNothing).toBe(true);
  rows.replace({ ...list("e-2-v", row("a")), hiddenNamespaces: 2 });
  expect(rows.seesNothing).toBe(false);
  rows.replace(list("e-3-v"));
  expect(rows.seesNothing).toBe(false);
});

test("the list is in order after every frame", () => {
  const states = ["Queuing", "Running", "Failed", "Succeeded"];
  const rows = new Rows();
  const wanted = new Map(Array.from({ length: 60 }, (_, number) => [`j${number}`, row(`j${number}`, states[number % 4])]));
  rows.replace(list("e-0-v", ...wanted.values()));
  let seed = 1;
  const dice = (sides: number): number => (seed = (seed * 48271) % 2147483647) % sides;
  for (let frame = 1; frame <= 200; frame += 1) {
    const changed = Array.from({ length: 1 + dice(5) }, () => row(`j${dice(90)}`, states[dice(4)]));
    const gone = [`j${dice(90)}`].filter((uid) => changed.every((one) => one.uid !== uid));
    for (const one of changed) wanted.set(one.uid, one);
    for (const uid of gone) wanted.delete(uid);
    rows.apply({ rows: changed, gone, touched: [] }, `e-${frame}-v`);
    expect(rows.all()).toEqual(inOrder([...wanted.values()]));
  }
});

test("a frame that is older than the list changes nothing", () => {
  const rows = new Rows();
  rows.replace(list("e-5-v", row("a", "Succeeded")));
  rows.apply({ rows: [row("a", "Running")], gone: [], touched: [] }, "e-5-v");
  expect(rows.all()[0]?.state).toBe("Succeeded");
});

test("rows that did not change stay the same objects in a new list", () => {
  const rows = new Rows();
  rows.replace(list("e-1-v", row("a"), row("b")));
  const before = rows.all();
  rows.replace(list("e-9-v", row("a"), row("b", "Failed")));
  expect(rows.all()[0]).toBe(before[0]);
  expect(rows.all()[1]).not.toBe(before[1]);
});

test("a cursor has a position", () => {
  expect(positionOf("ab-17-cd")).toBe(17);
  expect(positionOf("")).toBe(-1);
});
