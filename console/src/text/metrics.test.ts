import { expect, test } from "vitest";
import { RequestError, unlessRefused } from "../api/request";
import type { Figures, JudgedRow } from "../api/wire";
import { failed, heard, inShort, latency, measures, rate } from "./metrics";

const figures = (more: Partial<Figures> = {}): Figures => ({ requests: 600, failures: 3, seconds: 300, p99Seconds: 0.25, ...more });
const judged = (more: Partial<JudgedRow> = {}): JudgedRow => ({
  predictor: "main", version: "v2", figures: figures({ requests: 5812, failures: 15, p99Seconds: 1.64 }), outcome: "Good", reason: "", message: "",
  mostErrorRate: 0.01, mostP99Seconds: 1.8, leastRequests: 1000, ...more,
});

test("rates are short, and few requests are counted", () => {
  expect([rate(figures()), rate(figures({ requests: 63_600 })), rate(figures({ requests: 4 })), rate(figures({ requests: 0 }))]).toEqual(["2/s", "212/s", "4 in 5 min", "none"]);
});

test("latencies are milliseconds; what is not known is not 0", () => {
  expect([latency(1.64), latency(0.0042), latency(null)]).toEqual(["1,640 ms", "4.2 ms", null]);
});

test("nothing failed of no requests is no share", () => {
  expect([failed(figures()), failed(figures({ failures: 0 })), failed(figures({ requests: 0, failures: 0 }))]).toEqual(["0.5 %", "0 %", null]);
});

test("one failure of very many requests is not none", () => {
  expect(failed(figures({ requests: 1_000_000, failures: 1 }))).toBe("<0.01 %");
  expect(failed(figures({ requests: 10_000, failures: 1 }))).toBe("0.01 %");
});

test("all figures in one line", () => {
  expect(inShort(figures())).toBe("2/s, p99 250 ms, 0.5 % failed");
  expect(inShort(figures({ p99Seconds: null }))).toBe("2/s, p99 not known, 0.5 % failed");
  expect(inShort(figures({ requests: 0, failures: 0, p99Seconds: null }))).toBe("no requests");
});

test("a canary stands beside its bounds", () => {
  const [errors, p99, seen] = measures(judged());
  expect([errors?.value, errors?.bound, errors?.tone, errors?.words]).toEqual(["0.26 %", "of 1 %", "ok", "within the bound"]);
  expect([p99?.value, p99?.bound, p99?.tone, p99?.words]).toEqual(["1,640 ms", "of 1,800 ms", "wait", "close to the bound"]);
  expect([seen?.value, seen?.bound, seen?.tone, seen?.words]).toEqual(["5,812", "of 1,000", "ok", "enough to judge"]);
  expect(measures(judged({ mostErrorRate: 0.001 }))[0]?.tone).toBe("fail");
  expect(measures(judged({ mostErrorRate: 0 }))[0]?.words).toBe("past the bound");
});

test("too few requests are grey, not green", () => {
  const tones = measures(judged({ outcome: "Unknown", figures: figures({ requests: 10, failures: 0 }) })).map(({ tone }) => tone);
  expect(tones).toEqual(["off", "off", "off"]);
});

test("too few requests past a bound are grey: nothing follows from them", () => {
  const [errors, p99] = measures(judged({ outcome: "Unknown", figures: figures({ requests: 10, failures: 5, p99Seconds: 9 }) }));
  expect([errors?.tone, errors?.words, p99?.tone]).toEqual(["off", "past the bound, of too few requests", "off"]);
});

test("figures of before are shown with their time, unless they may not be seen any more", () => {
  const list = { problem: "", services: [], leftOut: 0 };
  const at = Date.UTC(2026, 10, 18, 12);
  expect(heard(list, false, at)).toEqual({ list, trouble: "", since: null });
  expect(heard(list, true, at)).toEqual({ list, trouble: "silent", since: "2026-11-18T12:00:00.000Z" });
  expect(heard(undefined, true, 0)).toEqual({ list: undefined, trouble: "silent", since: null });
  for (const silent of [false, true]) expect(heard(null, silent, at)).toEqual({ list: undefined, trouble: "refused", since: null });
});

test("a refusal is an answer, and a failure is none", async () => {
  const refusal = (status: number): Promise<never> => Promise.reject(new RequestError(status, { what: "", why: "", next: "", request: "", fields: [] }));
  expect([await unlessRefused(refusal(401)), await unlessRefused(refusal(403)), await unlessRefused(Promise.resolve(1))]).toEqual([null, null, 1]);
  await expect(unlessRefused(refusal(503))).rejects.toThrow();
});

test("bounds that are not set are not drawn, nor what nobody measured", () => {
  expect(measures(judged({ mostErrorRate: null })).map(({ title }) => title)).toEqual(["p99", "Requests seen"]);
  expect(measures(judged({ figures: null }))).toEqual([]);
  expect(measures(judged({ figures: figures({ p99Seconds: null, requests: 5000 }) }))[1]?.value).toBe("not known");
});
