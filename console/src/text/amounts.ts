// Amounts of resources as people read them. Pure.
import { figure } from "./format";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

const short = (value: number): string => figure(value < 100 ? Math.round(value * 10) / 10 : Math.round(value));

/** Cores of thousandths: "1.5", "698". */
export const cores = (millis: number): string => short(millis / 1000);

/** Bytes in the largest unit of which there is at least one: "6.8 TiB". */
export function bytes(value: number): string {
  let rest = value;
  let unit = 0;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${short(rest)} ${UNITS[unit] ?? ""}`;
}

/** A part of a whole in percent, never more than 100; null if there is no whole. */
export const ratio = (part: number, whole: number): number | null =>
  whole > 0 ? Math.min(100, (part / whole) * 100) : null;

/** "12.5 %", "–" if it is not known. */
export const percent = (value: number | null): string => (value === null ? "–" : `${value.toFixed(1)} %`);

const OF_BYTES = /^(memory|(ephemeral-)?storage|hugepages-.+)$/; // what a vendor names, with a slash, is counted

/** An amount of any resource by its name: those of Kubernetes that are bytes, or a count. */
export const amountOf = (resource: string, value: number): string => (OF_BYTES.test(resource) ? bytes(value) : short(value));
