import { expect, test } from "vitest";
import { CHUNK, chunksOf, LINE, scrolledTo, spaceOf, TALLEST, windowOf } from "./log-window";

const HEIGHT = 420;

test("every line can be scrolled to, and the last one ends the log", () => {
  for (const total of [1, 23, 24, 500, 31_250, 444_444, 444_445, 1_000_000, 5_000_000]) {
    expect(spaceOf(total)).toBeLessThanOrEqual(TALLEST);
    for (const line of [0, 1, Math.floor(total / 3), total - 2, total - 1].filter((one) => one >= 0 && one < total)) {
      const seen = windowOf(total, scrolledTo(line, total, HEIGHT), HEIGHT);
      expect(seen.first).toBeLessThanOrEqual(line);
      expect(seen.first + Math.min(seen.count, Math.floor(HEIGHT / LINE) + 1)).toBeGreaterThan(line);
    }
    const end = windowOf(total, spaceOf(total), HEIGHT);
    expect(end.first + end.count).toBe(total);
    expect(windowOf(total, 0, HEIGHT).first).toBe(0);
  }
});

test("the scroll bar never goes back while it is dragged on", () => {
  let before = -1;
  for (let at = 0; at <= TALLEST; at += 9973) {
    const { first } = windowOf(1_000_000, at, HEIGHT);
    expect(first).toBeGreaterThanOrEqual(before);
    before = first;
  }
});

test("lines in view are in at most two chunks", () => {
  expect(chunksOf({ first: 0, count: 25, top: 0 })).toEqual([0]);
  expect(chunksOf({ first: CHUNK - 1, count: 25, top: 0 })).toEqual([0, 1]);
  expect(chunksOf({ first: CHUNK, count: 25, top: 0 })).toEqual([1]);
  expect(chunksOf({ first: 0, count: 0, top: 0 })).toEqual([]);
});
