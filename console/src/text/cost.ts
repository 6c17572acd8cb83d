// Costs as people read them. What has no price is unknown, and never 0. Pure.
import type { CostRow, Money } from "../api/wire";
import { figure } from "./format";

const MICROS = 1_000_000;
const DAY = 86_400_000;
export const RANGES = [
  { id: 7, title: "Last 7 days" },
  { id: 30, title: "Last 30 days" },
  { id: 90, title: "Last 90 days" },
  { id: "month", title: "Last month" },
] as const;
export type Days = (typeof RANGES)[number]["id"];
export const UNKNOWN = "no price";

/** "1,234.50 EUR", "<0.01 EUR". */
export function money({ currency, micros }: Money): string {
  const whole = micros / MICROS;
  const text = whole > 0 && whole < 0.01 ? "<0.01" : whole.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return currency === "" ? text : `${text} ${currency}`;
}

/** All currencies of a row; a word if nothing of it has a price. */
export const costWords = (row: CostRow): string => (row.costs.length === 0 ? UNKNOWN : row.costs.map(money).join(" + "));

/** "3.2 h", of what is counted in seconds of one piece. */
export function hours(seconds: number): string {
  const value = seconds / 3600;
  if (value > 0 && value < 0.1) return "<0.1 h";
  return `${figure(value < 100 ? Math.round(value * 10) / 10 : Math.round(value))} h`;
}

/** What of a row with a cost has none: "and 3.2 GPU h without a price"; empty if all of it has one. */
export function unpricedWords(row: CostRow): string {
  if (row.costs.length === 0) return "";
  if (row.unpricedGpuSeconds > 0) return `and ${hours(row.unpricedGpuSeconds).replace("h", "GPU h")} without a price`;
  return row.unpricedCpuSeconds > 0 ? `and ${hours(row.unpricedCpuSeconds).replace("h", "CPU h")} without a price` : "";
}

export interface Bar {
  readonly day: string;
  readonly words: string;
  readonly height: number; // percent of the highest
}

export interface Bars {
  readonly unit: string; // what heights are of
  readonly bars: readonly Bar[];
}

/** A bar for each day, of the only currency; with several or none, of GPU hours. Days without use have none. */
export function barsOf(first: string, last: string, days: readonly CostRow[]): Bars {
  const currencies = new Set(days.flatMap(({ costs }) => costs.map(({ currency }) => currency)));
  const priced = currencies.size === 1;
  const read = (row: CostRow): number => (priced ? (row.costs[0]?.micros ?? 0) : row.gpuSeconds);
  const known = new Map(days.map((row) => [row.name, row]));
  const highest = Math.max(...days.map(read), 1);
  const bars: Bar[] = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    const row = known.get(day);
    const words = row === undefined ? "nothing used" : `${costWords(row)}, ${hours(row.gpuSeconds).replace("h", "GPU h")}`;
    bars.push({ day, words, height: row === undefined ? 0 : (read(row) / highest) * 100 });
  }
  return { unit: priced ? ([...currencies][0] ?? "") : "GPU hours", bars };
}
