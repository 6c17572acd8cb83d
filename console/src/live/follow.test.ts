import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { follow, type Followed } from "./follow";

const LINES = "2026-11-18T00:00:01Z a\n2026-11-18T00:00:02Z done";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the log of a container that has ended is shown to its last word", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(LINES)));
  const shown: Followed[] = [];
  await follow("/log", "main", () => false, new AbortController().signal, (now) => shown.push(now));
  expect(shown.at(-1)?.state).toBe("ended");
  expect(shown.at(-1)?.lines.map(({ text }) => text)).toEqual(["a", "done"]);
});

test("a container that has ended in a pod that runs is asked less and less often", async () => {
  const asked = vi.fn(() => Promise.resolve(new Response(`${LINES}\n`)));
  vi.stubGlobal("fetch", asked);
  const stopped = new AbortController();
  const shown: Followed[] = [];
  void follow("/log", "main", () => true, stopped.signal, (now) => shown.push(now));
  await vi.advanceTimersByTimeAsync(120_000);
  stopped.abort();
  expect(asked.mock.calls.length).toBeLessThan(15);
  expect(shown.at(-1)?.lines).toHaveLength(2);
});

test("a log goes on after another sign-in, and is not asked for by who may not see it", async () => {
  const answers = [401, 200, 403];
  const asked = vi.fn(() => Promise.resolve(new Response(`${LINES}\n`, { status: answers.shift() ?? 500 })));
  vi.stubGlobal("fetch", asked);
  const shown: Followed[] = [];
  void follow("/log", "main", () => true, new AbortController().signal, (now) => shown.push(now));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveBeenCalledTimes(3);
  expect(shown.map(({ lines }) => lines.length)).toContain(2);
  expect(shown.at(-1)).toMatchObject({ state: "refused", error: { status: 403 } });
});
