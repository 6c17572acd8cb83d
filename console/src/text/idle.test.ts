import { expect, test } from "vitest";
import { idleWords, together } from "./idle";

test("idle time is a part of what was measured", () => {
  const rows = [
    { name: "nlp", measuredSeconds: 36_000, idleSeconds: 9_000 },
    { name: "vision", measuredSeconds: 36_000, idleSeconds: 0 },
  ];
  expect(rows.map(idleWords)).toEqual(["25 % of 10 h", "0 % of 10 h"]);
  const all = together(rows);
  expect(all === null ? "" : idleWords(all)).toBe("13 % of 20 h");
});

test("nothing measured is not 0", () => {
  expect(together([])).toBeNull();
});
