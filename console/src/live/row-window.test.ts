import { expect, test } from "vitest";
import { elementOf, inElements, rowsAt } from "./row-window";

const FIT = 17;
const TOTAL = 10_000;

test("all rows in view are drawn, always as many", () => {
  for (const top of [0, 1, 5, 4_000, TOTAL - FIT - 1, TOTAL - FIT]) {
    const { first, count } = rowsAt(TOTAL, top, FIT);
    expect(count).toBe(rowsAt(TOTAL, 0, FIT).count);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(first).toBeLessThanOrEqual(top);
    expect(first + count).toBeGreaterThanOrEqual(Math.min(TOTAL, top + FIT + 1));
    expect(first + count).toBeLessThanOrEqual(TOTAL);
  }
});

test("a list that is shorter than the port is drawn whole, also if it was scrolled when it was longer", () => {
  for (const total of [0, 1, FIT]) expect(rowsAt(total, 900, FIT)).toEqual({ first: 0, count: total });
  expect(inElements(rowsAt(0, 0, FIT), 0)).toEqual([]);
});

test("a row that stays keeps its element and its place, and one that comes takes those of one that has left", () => {
  const before = rowsAt(TOTAL, 100, FIT);
  const elements = inElements(before, before.first).map((index) => elementOf(index, before));
  for (const top of [101, 107, 99, 40, 5_000, 0]) {
    const now = rowsAt(TOTAL, top, FIT);
    expect(inElements(now, before.first).map((index) => elementOf(index, now))).toEqual(elements);
  }
});

test("when nothing scrolls the elements are in the order of the rows", () => {
  for (const top of [0, 3, 101, 9_999]) {
    const now = rowsAt(TOTAL, top, FIT);
    expect(inElements(now, now.first)).toEqual(Array.from({ length: now.count }, (_, place) => now.first + place));
  }
});
