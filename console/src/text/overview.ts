// What the overview says about jobs, from the rows that this person may see. Pure.
import type { Capacity, JobRow } from "../api/wire";
import { figure, hiddenWords } from "./format";
import { look } from "./states";

const DAY = 86_400_000;
export const RANGES = [
  { id: "24h", title: "Last 24 hours", milliseconds: DAY },
  { id: "7d", title: "Last 7 days", milliseconds: 7 * DAY },
  { id: "30d", title: "Last 30 days", milliseconds: 30 * DAY },
] as const;
export type RangeId = (typeof RANGES)[number]["id"];

export interface UserJobs {
  readonly user: string; // empty: the jobs name nobody
  readonly jobs: number;
  readonly failed: number;
  readonly running: number;
}

/** Jobs created since a time, by user, most first. */
export function byUser(rows: readonly JobRow[], since: number): UserJobs[] {
  const found = new Map<string, { user: string; jobs: number; failed: number; running: number }>();
  for (const row of rows) {
    if (row.created === null || Date.parse(row.created) < since) continue;
    const entry = found.get(row.user) ?? { user: row.user, jobs: 0, failed: 0, running: 0 };
    entry.jobs += 1;
    if (row.state === "Failed") entry.failed += 1;
    if (row.state === "Running") entry.running += 1;
    found.set(row.user, entry);
  }
  return [...found.values()].sort((a, b) => b.jobs - a.jobs || (a.user < b.user ? -1 : 1));
}

/** Jobs that wait, the longest first. */
export const waiting = (rows: readonly JobRow[]): JobRow[] =>
  rows.filter((row) => look(row.state).tone === "wait").sort((a, b) => time(a.created) - time(b.created));

/** Jobs that failed since a time, the newest first. */
export const failedSince = (rows: readonly JobRow[], since: number): JobRow[] =>
  rows
    .filter((row) => row.state === "Failed" && time(row.finished ?? row.created) >= since)
    .sort((a, b) => time(b.finished ?? b.created) - time(a.finished ?? a.created));

/** Jobs that run, most GPUs first, then most CPUs. */
export const running = (rows: readonly JobRow[]): JobRow[] =>
  rows
    .filter((row) => row.state === "Running")
    .sort((a, b) => b.gpus - a.gpus || b.cpuMillis - a.cpuMillis || (a.uid < b.uid ? -1 : 1));

/** Beside the headline: how many nodes there are, and what is not seen. */
export function overviewFacts(capacity: Capacity | undefined, hiddenNamespaces: number): string[] {
  const hidden = hiddenNamespaces > 0 ? [hiddenWords(hiddenNamespaces)] : [];
  if (capacity === undefined) return hidden;
  const closed = capacity.closedNodes > 0 ? `, ${figure(capacity.closedNodes)} not taking pods` : "";
  const nodes = `${figure(capacity.nodes)} ${capacity.nodes === 1 ? "node" : "nodes"}${closed}`;
  const followed = capacity.onlyNamespace === "" ? [] : [`only ${capacity.onlyNamespace} is followed, so what is free is not known`];
  return [nodes, ...followed, ...hidden];
}

const time = (text: string | null): number => (text === null ? 0 : Date.parse(text));
