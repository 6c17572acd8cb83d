import { expect, test } from "vitest";
import { placeIn, placeOf } from "./log-place";

const AT = "2026-11-18T00:00:01.000000003Z";

test("a line of a log is in the address", () => {
  expect(placeOf("p", 7, AT)).toEqual({ pod: "p", line: 7, at: AT });
  expect(placeIn(Object.fromEntries(new URLSearchParams({ pod: "p", line: "7", at: AT })))).toEqual({ pod: "p", line: 7, at: AT });
  expect(placeOf("p", 7, "")).toEqual({ pod: "p", line: 7 });
});

test("what is no place is dropped", () => {
  for (const line of [0, -1, 1.5, 1e9, "x", undefined, Infinity]) expect(placeIn({ pod: "p", line, at: AT })).toEqual({ pod: "p" });
  expect(placeIn({ line: 7, at: AT })).toEqual({});
  expect(placeIn({ pod: "p", line: 7, at: "yesterday" })).toEqual({ pod: "p", line: 7 });
});
