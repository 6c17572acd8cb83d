// The filter line of the job list: words, and `field:value,value` tokens. Pure.
import type { JobRow } from "../api/wire";
import { look } from "./states";

export type Field = "state" | "ns" | "user" | "kind" | "queue";
export const FIELDS: readonly Field[] = ["state", "ns", "user", "kind", "queue"];

const READ: Readonly<Record<Field, (row: JobRow) => string>> = {
  state: (row) => row.state,
  ns: (row) => row.namespace,
  user: (row) => row.user,
  kind: (row) => row.kind,
  queue: (row) => row.queue,
};

export type LiveView = "all" | "mine" | "waiting" | "running" | "failed";
export const DELETED = "deleted"; // of the history
export type View = LiveView | typeof DELETED;
export const VIEWS: readonly { readonly id: LiveView; readonly title: string }[] = [
  { id: "mine", title: "Mine" },
  { id: "waiting", title: "Waiting" },
  { id: "running", title: "Running" },
  { id: "failed", title: "Failed" },
  { id: "all", title: "All" },
];

export function inView(view: LiveView, row: JobRow, user: string): boolean {
  switch (view) {
    case "mine":
      return row.user !== "" && row.user === user;
    case "waiting":
      return look(row.state).tone === "wait";
    case "running":
      return row.state === "Running";
    case "failed":
      return row.state === "Failed";
    case "all":
      return true;
  }
}

/** How many jobs each view has. */
export function countsOf(rows: readonly JobRow[], user: string): Readonly<Record<LiveView, number>> {
  const counts: Record<LiveView, number> = { mine: 0, waiting: 0, running: 0, failed: 0, all: rows.length };
  for (const row of rows) for (const id of ["mine", "waiting", "running", "failed"] as const) if (inView(id, row, user)) counts[id] += 1;
  return counts;
}

/** A test for rows. A token of an unknown field is an ordinary word, so nothing that is typed is an error. */
export function matcher(query: string): (row: JobRow) => boolean {
  const tests = query
    .split(/\s+/)
    .filter((part) => part !== "")
    .map(testOf);
  return (row) => tests.every((test) => test(row));
}

function testOf(part: string): (row: JobRow) => boolean {
  const colon = part.indexOf(":");
  const field = FIELDS.find((known) => known === part.slice(0, colon).toLowerCase());
  if (colon > 0 && field !== undefined) {
    const values = part
      .slice(colon + 1)
      .toLowerCase()
      .split(",")
      .filter((value) => value !== "");
    const read = READ[field];
    return (row) => values.length === 0 || values.some((value) => matches(field, read(row).toLowerCase(), value));
  }
  const text = part.toLowerCase();
  return (row) =>
    row.name.toLowerCase().includes(text) ||
    row.namespace.toLowerCase().includes(text) ||
    row.kind.toLowerCase().includes(text) ||
    row.user.toLowerCase().includes(text) ||
    row.message.toLowerCase().includes(text);
}

/** A kind is also found by its short name: `pytorch` for PyTorchJob. */
const matches = (field: Field, found: string, wanted: string): boolean =>
  found === wanted || (field === "kind" && found === `${wanted}job`);

/** Needs a person first, then newest; the uid makes the order the same in every browser. */
export function inOrder(rows: readonly JobRow[]): JobRow[] {
  return [...rows].sort(
    (a, b) =>
      look(a.state).order - look(b.state).order ||
      compare(b.created ?? "", a.created ?? "") ||
      compare(a.uid, b.uid),
  );
}

/** By code points, which for times of the server is by time; comparing as people would takes ten times as long. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
