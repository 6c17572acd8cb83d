import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Live } from "./connection";
import { Rows } from "./rows";

const LIST = JSON.stringify({ cursor: "e-1-v", rows: [], hiddenNamespaces: 0 });
const ALIVE = 'event: alive\nid: e-2-v\ndata: {"silentSeconds":0,"unansweredSeconds":0}\n\n';
const open = (): Response => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(ALIVE)) }));
let stream: () => Response;
let list: () => Response;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", (path: string) => Promise.resolve(path === "/api/v1/stream" ? stream() : list()));
  list = () => new Response(LIST);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a refusal of a moment, of somebody who is signed in, does not end the stream", async () => {
  const signedOut = vi.fn();
  const live = new Live(new Rows(), signedOut);
  stream = () => new Response("", { status: 401 });
  live.start();
  await vi.advanceTimersByTimeAsync(100);
  expect(signedOut).toHaveBeenCalledOnce();
  expect(live.state().connection).toBe("signed-out");
  stream = open;
  await vi.advanceTimersByTimeAsync(3000);
  expect(live.state().connection).toBe("open");
  live.stop();
});

test("after another sign-in the console is asked until it answers", async () => {
  const live = new Live(new Rows(), () => live.stop());
  stream = () => new Response("event: signed-out\ndata: {}\n\n");
  live.start();
  await vi.advanceTimersByTimeAsync(100);
  expect(live.state().connection).toBe("signed-out");
  stream = open;
  list = () => new Response("", { status: 502 });
  live.start();
  expect(live.state().connection).toBe("connecting");
  await vi.advanceTimersByTimeAsync(100);
  expect(live.state()).toMatchObject({ connection: "cut", told: "Cluster does not answer" });
  list = () => new Response(LIST);
  await vi.advanceTimersByTimeAsync(5000);
  expect(live.state().connection).toBe("open");
  live.stop();
});
