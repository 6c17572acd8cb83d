import { QueryObserver } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";

const SESSION = { mode: "proxy", user: "ada", groups: [], cluster: "", version: "" };
const said = (status: number) => new Response(JSON.stringify(SESSION), { status });

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

test("a proxy that says itself that nobody is signed in ends the sign-in", async () => {
  const { asksWho, lastSession, queries } = await import("./session");
  vi.stubGlobal("fetch", () => Promise.resolve(said(200)));
  await queries.fetchQuery(asksWho);
  vi.stubGlobal("fetch", () => Promise.resolve(said(401)));
  expect(await queries.fetchQuery({ ...asksWho, staleTime: 0 })).toEqual({ ...SESSION, user: "" });
  expect(lastSession()).toEqual(SESSION);
});

test("a proxy that refuses everything is not asked without pause", async () => {
  const { asksWho, queries } = await import("./session");
  const asked = vi.fn(() => Promise.resolve(said(401)));
  vi.stubGlobal("fetch", asked);
  const close = new QueryObserver(queries, asksWho).subscribe(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 200));
  close();
  expect(asked).toHaveBeenCalledOnce();
});
