// A line of a pod's log in an address. Pure.

export interface LogPlace {
  readonly pod?: string; // its uid
  readonly line?: number; // from 1
  readonly at?: string; // when the line was written: it counts if that number is another line's
}

/** What an address says; what is no place is dropped. */
export function placeIn(search: Record<string, unknown>): LogPlace {
  const { pod, at } = search;
  const line = Number(search["line"]);
  if (typeof pod !== "string" || pod === "") return {};
  const found = Number.isInteger(line) && line > 0 && line < 1e9 ? line : undefined;
  if (found === undefined) return { pod };
  return typeof at === "string" && /^\d{4}-\d\d-\d\dT[\d:.]{8,18}Z$/.test(at) ? { pod, line: found, at } : { pod, line: found };
}

/** A place for an address. */
export const placeOf = (pod: string, line: number, at: string): LogPlace => placeIn({ pod, line, at });
