// Which rows of a long list are drawn, and in which order their elements are. Pure.

const BESIDE = 4; // rows above those in view, and below

export interface RowWindow {
  readonly first: number; // from 0
  readonly count: number;
}

/** `top` is the row at the upper edge of the port, `fit` how many the port has room for. While a list scrolls there are always as many. */
export function rowsAt(total: number, top: number, fit: number): RowWindow {
  const count = Math.min(total, fit + 1 + 2 * BESIDE);
  return { first: Math.min(Math.max(0, top - BESIDE), total - count), count };
}

/** The element of a row: that of the row which has left when this one comes, so only what differs between them is drawn. */
export const elementOf = (index: number, { count }: RowWindow): number => index % count;

/** The rows as their elements follow each other: from that of the row `begin` on, so that none is moved while a list scrolls. */
export function inElements({ first, count }: RowWindow, begin: number): number[] {
  return Array.from({ length: count }, (_, place) => first + ((((begin + place - first) % count) + count) % count));
}
