import { expect, test } from "vitest";
import type { JobRow } from "../api/wire";
import { concernedBy } from "./job-pages";

const ROWS = new Map([["new", { uid: "new", namespace: "nlp", kind: "PyTorchJob", name: "bert" } as JobRow]]);
const concerned = concernedBy(new Set(["new", "gone"]), (uid) => ROWS.get(uid));
const BERT = ["job", "nlp", "pytorchjob", "bert"];

test("a page is read again when its job changed or went", () => {
  expect(concerned({ queryKey: BERT, uid: "new" })).toBe(true);
  expect(concerned({ queryKey: ["job", "nlp", "tfjob", "clip"], uid: "gone" })).toBe(true);
});

test("a page is read again when its job comes, or another one of its name", () => {
  expect(concerned({ queryKey: BERT, uid: undefined })).toBe(true);
  expect(concerned({ queryKey: BERT, uid: "before" })).toBe(true);
});

test("other pages are not", () => {
  expect(concerned({ queryKey: ["job", "vision", "pytorchjob", "bert"], uid: "other" })).toBe(false);
  expect(concerned({ queryKey: ["job", "nlp", "tfjob", "bert"], uid: undefined })).toBe(false);
  expect(concerned({ queryKey: ["nodes", "capacity"], uid: undefined })).toBe(false);
});
