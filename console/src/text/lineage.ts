// The graph of a model as it is drawn and walked: what came from what, and where each part stands. Pure.
import type { LineageEdge, LineageNode } from "../api/wire";

export const COLUMNS = ["Made from", "Trained by", "Versions", "Served by"] as const;
export const ROW = 68; // pixels from one part to the next
export const HEIGHT = 52; // of a part

type Ends = Pick<LineageEdge, "source" | "target">;
type Part = Pick<LineageNode, "id" | "column">;

function reached(from: Iterable<string>, edges: readonly Ends[], next: (edge: Ends) => readonly [string, string]): Set<string> {
  const found = new Set(from);
  const waiting = [...found];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const edge of edges) {
      const [here, there] = next(edge);
      if (here !== at || found.has(there)) continue;
      found.add(there);
      waiting.push(there);
    }
  return found;
}

/** All that some parts came from, and they themselves. */
export const ancestors = (from: Iterable<string>, edges: readonly Ends[]): Set<string> => reached(from, edges, ({ source, target }) => [target, source]);

/** All that came from some parts, and they themselves. */
export const descendants = (from: Iterable<string>, edges: readonly Ends[]): Set<string> => reached(from, edges, ({ source, target }) => [source, target]);

/** What lights up: what a part came from and what came from it; without one, all that leads to what serves now. */
export function lit(focus: string, nodes: readonly LineageNode[], edges: readonly LineageEdge[]): ReadonlySet<string> {
  if (focus !== "") return new Set([...ancestors([focus], edges), ...descendants([focus], edges)]);
  const services = nodes.filter(({ kind }) => kind === "service").map(({ id }) => id);
  if (services.length === 0) return new Set(nodes.map(({ id }) => id));
  const idle = new Set(edges.filter(({ percent, target }) => percent === 0 && services.includes(target)));
  return ancestors(services, edges.filter((edge) => !idle.has(edge)));
}

export interface Layout {
  readonly tops: ReadonlyMap<string, number>; // pixels
  readonly columns: readonly (readonly string[])[]; // from top to bottom
  readonly height: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;

/** Versions stand one below the other; everything else stands beside the middle of what it belongs to. */
export function layout(nodes: readonly Part[], edges: readonly Ends[]): Layout {
  const tops = new Map<string, number>();
  const inColumn = (column: number): readonly Part[] => nodes.filter((node) => node.column === column);
  inColumn(2).forEach(({ id }, index) => tops.set(id, index * ROW));
  for (const [column, beside] of [
    [1, 2],
    [0, 1],
    [3, 2],
  ] as const) {
    const neighbours = new Set(inColumn(beside).map(({ id }) => id));
    const wishes = inColumn(column).map(({ id }, index) => {
      const ends = edges.flatMap(({ source, target }) => (source === id ? [target] : target === id ? [source] : [])).filter((end) => neighbours.has(end));
      const known = ends.flatMap((end) => tops.get(end) ?? []);
      return { id, wish: known.length > 0 ? mean(known) : index * ROW };
    });
    for (const [id, top] of spread(wishes)) tops.set(id, top);
  }
  const highest = Math.min(0, ...tops.values());
  for (const [id, top] of tops) tops.set(id, Math.round(top - highest));
  const columns = COLUMNS.map((_, column) =>
    inColumn(column)
      .map(({ id }) => id)
      .sort((a, b) => (tops.get(a) ?? 0) - (tops.get(b) ?? 0)),
  );
  return { tops, columns, height: Math.max(0, ...tops.values()) + HEIGHT };
}

/** Places as near to the wishes as a row's distance allows, in the order of the wishes. */
function spread(wishes: readonly { readonly id: string; readonly wish: number }[]): readonly (readonly [string, number])[] {
  let last = -Infinity;
  const placed = [...wishes]
    .sort((a, b) => a.wish - b.wish)
    .map(({ id, wish }) => {
      last = Math.max(wish, last + ROW);
      return { id, wish, top: last };
    });
  const shift = placed.length === 0 ? 0 : mean(placed.map(({ wish, top }) => wish - top));
  return placed.map(({ id, top }) => [id, top + shift]);
}

/** The part that an arrow key leads to: above and below in the order of reading, to the sides the nearest one. */
export function neighbour({ columns, tops }: Layout, id: string, key: string): string | undefined {
  const all = columns.flat();
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  if (key === "ArrowDown" || key === "ArrowUp") return all[all.indexOf(id) + (key === "ArrowDown" ? 1 : -1)];
  if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
  const step = key === "ArrowRight" ? 1 : -1;
  const here = columns.findIndex((column) => column.includes(id));
  const top = tops.get(id) ?? 0;
  const far = (one: string): number => Math.abs((tops.get(one) ?? 0) - top);
  for (let at = here + step; at >= 0 && at < columns.length; at += step) {
    const nearest = [...(columns[at] ?? [])].sort((a, b) => far(a) - far(b))[0];
    if (nearest !== undefined) return nearest;
  }
  return undefined;
}

const HEAD = 7; // pixels of an arrow's head
const BESIDE = 13; // pixels that a line back stands below the others

/** A line between two columns, with its arrow; back to the left for the parent of a later version. */
export function curve(from: number, to: number, width: number, back: boolean): { readonly line: string; readonly head: string } {
  const beside = back ? BESIDE : 0;
  const [a, b] = [from + HEIGHT / 2 + beside, to + HEIGHT / 2 + beside];
  const [start, end, towards] = back ? [width, 0, 1] : [0, width, -1];
  const middle = width / 2;
  return {
    line: `M${start},${a} C${middle},${a} ${middle},${b} ${end + towards * HEAD},${b}`,
    head: `M${end + towards * (HEAD + 1)},${b - 4} L${end},${b} L${end + towards * (HEAD + 1)},${b + 4} Z`,
  };
}
