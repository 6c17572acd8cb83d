import { expect, test } from "vitest";
import type { CostRow } from "../api/wire";
import { barsOf, costWords, hours, money, unpricedWords } from "./cost";

const row = (part: Partial<CostRow>): CostRow => ({
  name: "nlp", costs: [], gpuSeconds: 0, cpuSeconds: 0, memoryGibSeconds: 0, unpricedGpuSeconds: 0, unpricedCpuSeconds: 0, waste: null, ...part,
});
const EUR = (micros: number) => ({ currency: "EUR", micros });

test("money has two digits and its currency", () => {
  expect([1_234_500_000, 5_000, 0].map((micros) => money(EUR(micros)))).toEqual(["1,234.50 EUR", "<0.01 EUR", "0.00 EUR"]);
  expect(money({ currency: "", micros: 2_000_000 })).toBe("2.00");
});

test("what has no price is unknown, not 0", () => {
  expect(costWords(row({ gpuSeconds: 3600 }))).toBe("no price");
  expect(costWords(row({ costs: [EUR(1_000_000), { currency: "USD", micros: 2_000_000 }] }))).toBe("1.00 EUR + 2.00 USD");
});

test("a part without a price is named", () => {
  expect(unpricedWords(row({ costs: [EUR(1)], unpricedGpuSeconds: 7200, unpricedCpuSeconds: 60 }))).toBe("and 2 GPU h without a price");
  expect(unpricedWords(row({ costs: [EUR(1)], unpricedCpuSeconds: 3600 }))).toBe("and 1 CPU h without a price");
  expect(unpricedWords(row({ costs: [EUR(1)] }))).toBe("");
  expect(unpricedWords(row({ unpricedGpuSeconds: 7200 }))).toBe("");
});

test("hours are short", () => {
  expect([0, 60, 5400, 3_600_000].map(hours)).toEqual(["0 h", "<0.1 h", "1.5 h", "1,000 h"]);
});

test("every day of a range has a bar, of money if there is one currency", () => {
  const days = [row({ name: "2026-11-16", costs: [EUR(4)], gpuSeconds: 10 }), row({ name: "2026-11-18", costs: [EUR(1)], gpuSeconds: 40 })];
  const { unit, bars } = barsOf("2026-11-16", "2026-11-18", days);
  expect(unit).toBe("EUR");
  expect(bars.map(({ day, height }) => [day, height])).toEqual([["2026-11-16", 100], ["2026-11-17", 0], ["2026-11-18", 25]]);
  expect(bars[1]?.words).toBe("nothing used");
});

test("without a price, or with two currencies, bars are of GPU hours", () => {
  const free = row({ name: "2026-11-16", gpuSeconds: 10 });
  expect(barsOf("2026-11-16", "2026-11-16", [free])).toMatchObject({ unit: "GPU hours", bars: [{ height: 100 }] });
  const mixed = row({ name: "2026-11-16", costs: [EUR(1), { currency: "USD", micros: 2 }], gpuSeconds: 10 });
  expect(barsOf("2026-11-16", "2026-11-16", [mixed]).unit).toBe("GPU hours");
});
