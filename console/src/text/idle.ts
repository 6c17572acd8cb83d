// GPUs that were held and not used, in words. Pure.
import type { IdleRow } from "../api/wire";
import { hours } from "./cost";

/** "12 % of 340 h": of what was measured, which may be less than what was held. */
export const idleWords = ({ measuredSeconds, idleSeconds }: IdleRow): string => `${Math.round((100 * idleSeconds) / measuredSeconds)} % of ${hours(measuredSeconds)}`;

/** All of several namespaces; null if nothing of them was measured. */
export function together(rows: readonly IdleRow[]): IdleRow | null {
  const measuredSeconds = rows.reduce((sum, row) => sum + row.measuredSeconds, 0);
  return measuredSeconds === 0 ? null : { name: "", measuredSeconds, idleSeconds: rows.reduce((sum, row) => sum + row.idleSeconds, 0) };
}
