import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Topics } from "./topics";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a burst of changes is read twice: at once, and when it is over", () => {
  const read: string[] = [];
  const topics = new Topics((topic) => read.push(topic));
  for (let change = 0; change < 50; change++) topics.changed(["nodes", "a-uid"]);
  expect(read).toEqual(["nodes"]);
  vi.advanceTimersByTime(2000);
  expect(read).toEqual(["nodes", "nodes"]);
  vi.advanceTimersByTime(60_000);
  expect(read).toHaveLength(2);
});

test("a change after a quiet time is read at once", () => {
  const read: string[] = [];
  const topics = new Topics((topic) => read.push(topic));
  topics.changed(["nodes"]);
  vi.advanceTimersByTime(2000);
  topics.changed(["nodes"]);
  expect(read).toEqual(["nodes", "nodes"]);
});
