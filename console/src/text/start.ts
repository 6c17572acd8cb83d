// When a job would start, by the waits of jobs like it, in words. Pure.
import type { StartPage } from "../api/wire";
import { duration, figure, moment } from "./format";

export interface StartWords {
  readonly known: boolean;
  readonly value: string;
  readonly more: string;
}

/** "13:42", and "likely by 14:20": half of such jobs, and nine of ten. What has passed already is not said as a time. */
export function startWords(page: StartPage, created: string | null, now: number): StartWords {
  const { halfSeconds, mostSeconds, waits, enough } = page;
  if (!page.installed) return { known: false, value: "not known", more: "the history is not installed" };
  if (halfSeconds === null || mostSeconds === null || created === null)
    return { known: false, value: "not known", more: `${waits === 0 ? "no" : figure(waits)} similar ${waits === 1 ? "job" : "jobs"} in ${page.days} days, ${enough} are needed` };
  const at = (seconds: number): string => moment(new Date(Date.parse(created) + seconds * 1000).toISOString(), now);
  const passed = (now - Date.parse(created)) / 1000;
  const waited = (seconds: number): string => duration(seconds * 1000);
  const said = `half of ${figure(waits)} similar jobs waited ${waited(halfSeconds)}, nine of ten ${waited(mostSeconds)}`;
  if (passed <= halfSeconds) return { known: true, value: at(halfSeconds), more: `likely by ${at(mostSeconds)}: ${said}` };
  return { known: true, value: passed <= mostSeconds ? `by ${at(mostSeconds)}` : "later than usual", more: said };
}
