// Requests of services as people read them, and how far a canary is from its bounds. Pure. Nothing unknown is a 0.
import type { Figures, JudgedRow, MetricsList, MetricsRow } from "../api/wire";
import { figure } from "./format";
import type { Tone } from "./states";

/** "212/s", "1.3/s", "4 in 5 min" for what is less than one in ten seconds. */
export function rate({ requests, seconds }: Figures): string {
  const each = requests / seconds;
  if (requests === 0) return "none";
  if (each < 0.1) return `${figure(requests)} in ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`}`;
  return `${figure(each < 10 ? Math.round(each * 10) / 10 : Math.round(each))}/s`;
}

/** "1,640 ms"; null if it is not known. */
export const latency = (seconds: number | null): string | null => (seconds === null ? null : `${figure(seconds < 0.01 ? Math.round(seconds * 10_000) / 10 : Math.round(seconds * 1000))} ms`);

/** A share of requests: "0.26 %", "12 %"; "<0.01 %" for what is little, and not none. */
export const share = (part: number): string => (part > 0 && part < 0.0001 ? "<0.01 %" : `${figure(part >= 0.1 ? Math.round(part * 1000) / 10 : Math.round(part * 10_000) / 100)} %`);

/** The share of requests that failed; null if there were none. */
export const failed = ({ requests, failures }: Figures): string | null => (requests === 0 ? null : share(failures / requests));

/** All of it in one line: "2/s, p99 250 ms, 0.5 % failed". */
export function inShort(figures: Figures): string {
  if (figures.requests === 0) return "no requests";
  const p99 = latency(figures.p99Seconds);
  return [rate(figures), p99 === null ? "p99 not known" : `p99 ${p99}`, `${failed(figures) ?? ""} failed`].join(", ");
}

/** The figures of one version that a predictor runs; undefined before they are there. */
export const rowOf = (list: MetricsList | undefined, namespace: string, name: string, predictor: string, canary: boolean): MetricsRow | undefined =>
  list?.services.find((one) => one.namespace === namespace && one.name === name)?.rows.find((row) => row.predictor === predictor && row.canary === canary);

export interface Heard {
  readonly list: MetricsList | undefined;
  readonly trouble: "" | "silent" | "refused";
  readonly since: string | null; // when figures that are still shown were heard; null: now
}

/** What to show of the last answer, of some time; null: the figures may not be seen, so those of before are not shown either. */
export function heard(answer: MetricsList | null | undefined, silent: boolean, at: number): Heard {
  if (answer === null) return { list: undefined, trouble: "refused", since: null };
  if (!silent) return { list: answer, trouble: "", since: null };
  return { list: answer, trouble: "silent", since: answer === undefined ? null : new Date(at).toISOString() };
}

export interface Measure {
  readonly title: string;
  readonly value: string;
  readonly bound: string; // "of 1 %"
  readonly width: number; // percent of the bar, of which the bound is at MARK
  readonly tone: Tone;
  readonly words: string;
}

export const MARK = 80; // percent of the bar
const NEAR = 0.8; // of a bound

/** A canary beside its bounds. Grey is what is not known, or too little to judge by. */
export function measures({ figures, outcome, mostErrorRate, mostP99Seconds, leastRequests }: JudgedRow): readonly Measure[] {
  if (figures === null) return [];
  const enough = figures.requests >= leastRequests;
  const found: Measure[] = [];
  const against = (title: string, value: number | null, most: number, words: (value: number) => string): void => {
    if (value === null) {
      found.push({ title, value: "not known", bound: `of ${words(most)}`, width: 0, tone: "off", words: "there are no figures" });
      return;
    }
    const part = most > 0 ? value / most : value > 0 ? 2 : 0;
    const tone: Tone = !enough ? "off" : part > 1 ? "fail" : outcome === "Unknown" ? "off" : part >= NEAR ? "wait" : "ok";
    const said = part > 1 ? `past the bound${enough ? "" : ", of too few requests"}` : part >= NEAR ? "close to the bound" : "within the bound";
    found.push({ title, value: words(value), bound: `of ${words(most)}`, width: Math.min(100, part * MARK), tone, words: said });
  };
  if (mostErrorRate !== null) against("Failed requests", figures.requests === 0 ? null : figures.failures / figures.requests, mostErrorRate, share);
  if (mostP99Seconds !== null) against("p99", figures.p99Seconds, mostP99Seconds, (value) => latency(value) ?? "");
  found.push({
    title: "Requests seen",
    value: figure(figures.requests),
    bound: `of ${figure(leastRequests)}`,
    width: Math.min(100, (figures.requests / Math.max(1, leastRequests)) * MARK),
    tone: enough ? "ok" : "off",
    words: enough ? "enough to judge" : "too few to judge",
  });
  return found;
}
