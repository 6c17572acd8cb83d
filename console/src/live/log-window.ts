// Which lines of a log are in view. The scroll bar stands for numbers of lines: an element as high as all lines of a long
// log would pass the height at which browsers lose whole pixels. Pure.

export const LINE = 18; // pixels
export const TALLEST = 8_000_000; // pixels
export const CHUNK = 500; // lines that are asked for at a time

export interface LineWindow {
  readonly first: number; // from 0
  readonly count: number;
  readonly top: number; // pixels from the beginning of the space to the first of them
}

export const spaceOf = (total: number): number => Math.min(total * LINE, TALLEST);

const room = (height: number): number => Math.max(1, Math.floor(height / LINE));

/** `height` is that of the port, in pixels. */
export function windowOf(total: number, scrolled: number, height: number): LineWindow {
  const count = room(height) + 2;
  const range = spaceOf(total) - height;
  if (range <= 0) return { first: 0, count: Math.min(count, total), top: 0 };
  const at = Math.min(Math.max(0, scrolled), range);
  const exact = total * LINE <= TALLEST;
  const first = exact ? Math.floor(at / LINE) : Math.round((at / range) * (total - room(height)));
  return { first, count: Math.min(count, total - first), top: exact ? first * LINE : at };
}

/** How far to scroll so that a line is in the middle. */
export function scrolledTo(line: number, total: number, height: number): number {
  const range = spaceOf(total) - height;
  if (range <= 0) return 0;
  const first = Math.max(0, line - Math.floor(room(height) / 2));
  const exact = total * LINE <= TALLEST;
  return Math.min(range, exact ? first * LINE : (first / Math.max(1, total - room(height))) * range);
}

/** The chunks that have these lines. */
export function chunksOf({ first, count }: LineWindow): number[] {
  if (count <= 0) return [];
  const [from, to] = [Math.floor(first / CHUNK), Math.floor((first + count - 1) / CHUNK)];
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
