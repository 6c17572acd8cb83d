// How far a job is, as its program says. Pure.
import type { JobRow } from "../api/wire";
import { moment } from "./format";

type Said = Pick<JobRow, "progress" | "progressUnknown" | "ends" | "state">;

/** "42 %"; a job is not done before it has ended. */
export const percentDone = (part: number): string => `${Math.min(99, Math.floor(part * 100 + 1e-9))} %`;

/** What is known of the end: "ends 15:10", or that the program has fallen silent; empty if nothing is. */
export function endWords({ ends, progressUnknown }: Said, now: number): string {
  if (progressUnknown) return "says nothing now";
  return ends === null ? "" : `ends ${moment(ends, now)}`;
}

/** "42 % done, ends 15:10"; null for a job that does not run, or whose program does not say it. */
export function progressWords(job: Said, now: number): string | null {
  if (job.state !== "Running" || job.progress === null) return null;
  return [`${percentDone(job.progress)} done`, endWords(job, now)].filter((part) => part !== "").join(", ");
}
