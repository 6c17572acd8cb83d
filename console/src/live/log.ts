// The lines of a log that is followed: no line twice and none lost when the request is cut and made again. Pure.
import { figure } from "../text/format";

export interface Line {
  readonly time: string; // RFC 3339 with nanoseconds; empty if the line has none
  readonly text: string;
  readonly number: number; // from 1, as lines came; 0 for a gap: what was written between two lines is lost
}
export type LogState = "reading" | "live" | "ended" | "cut" | "refused";
type Written = Omit<Line, "number">;

export const MOST_LINES = 50_000;
const LONGEST = 16_384; // characters of a line; a program may never end one

/** Splits "2026-11-18T00:01:02.000000003Z text" into its parts. */
export function parseLine(raw: string): Written {
  const space = raw.indexOf(" ");
  const time = space < 0 ? raw : raw.slice(0, space);
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(time) ? { time, text: space < 0 ? "" : raw.slice(space + 1) } : { time: "", text: raw };
}

/** Whether an error is shown in place of lines: those that were read stay, unless they may no longer be seen. */
export const inPlaceOfLines = (lines: number, status: number): boolean => lines === 0 || status === 403;

/** In place of lines, if there are none to show; empty while it is not known whether there are. */
export function emptyWords({ state, lines }: { readonly state: LogState; readonly lines: readonly Line[] }, searched: boolean): string {
  if (searched && lines.length > 0) return "No line has this text.";
  return state === "live" ? "Nothing was printed yet." : state === "ended" ? "Nothing was printed." : "";
}

/** What is not among the lines: the first answer has no more of them than are kept, and does not say whether there are. */
export const leftOutWords = (kept: number, dropped: number): string =>
  dropped > 0 ? `, ${figure(dropped)} older ones left out` : kept >= MOST_LINES ? ", older ones may be left out" : "";

const LONGEST_START = 60_000; // milliseconds that programs need to say something

/** Milliseconds for which a container had run when it wrote the first line, if others may have been before it; else 0. */
export function silenceBefore(first: Line | undefined, started: string | null): number {
  if (first === undefined || first.time === "" || started === null) return 0;
  const silence = Date.parse(`${first.time.slice(0, 19)}Z`) - Date.parse(started);
  return silence > LONGEST_START ? silence : 0;
}

/** Escape codes of terminals are left out. Text is shown as text, never as markup. */
export const plain = (text: string): string =>
  // eslint-disable-next-line no-control-regex
  text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");

export class LogLines {
  private rest = "";
  private list: Line[] = [];
  private repeated = 0; // lines of the last instant that the next request will send again
  private skipUntil = "";
  private count = 0;
  private resumed = false; // nothing has come yet of what was sent before the cut
  dropped = 0;

  /** Text as it arrives, cut anywhere. Returns whether there are new lines. */
  push(text: string): boolean {
    const [begun = "", ...others] = text.split("\n");
    const parts = [this.rest + begun, ...others];
    this.rest = (parts.pop() ?? "").slice(0, LONGEST + 1); // one more tells that there were more
    let grown = false;
    for (const part of parts) grown = this.add(parseLine(whole(part))) || grown;
    if (this.list.length > MOST_LINES) {
      this.dropped += this.list.length - MOST_LINES;
      this.list = this.list.slice(-MOST_LINES);
    }
    return grown;
  }

  /** After the last text of a container that has ended: its last line may have no line break. Returns whether there was one. */
  end(): boolean {
    return this.rest !== "" && this.push("\n");
  }

  /** What to ask for after a cut: the time of the last line. The server rounds it down to a second. */
  resume(): string {
    this.rest = "";
    const last = this.lastTime();
    this.skipUntil = last;
    this.resumed = last !== "";
    this.repeated = this.list.filter((line) => line.time === last).length;
    return last;
  }

  private lastTime(): string {
    return this.list.findLast(({ time }) => time !== "")?.time ?? "";
  }

  lines(): readonly Line[] {
    return this.list;
  }

  private add(line: Written): boolean {
    if (this.skipUntil !== "" && line.time !== "") {
      const order = compareTimes(line.time, this.skipUntil);
      if (order < 0) {
        this.resumed = false;
        return false;
      }
      if (order === 0 && this.repeated > 0) {
        this.repeated -= 1;
        this.resumed = false;
        return false;
      }
      if (order > 0) this.skipUntil = "";
      // Not even the last line that was sent is there.
      if (this.resumed) this.list.push({ time: "", text: lost(this.lastTime(), line.time), number: 0 });
      this.resumed = false;
    }
    this.count += 1;
    this.list.push({ ...line, number: this.count });
    return true;
  }
}

const whole = (line: string): string => (line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line.endsWith("\r") ? line.slice(0, -1) : line);

const lost = (from: string, to: string): string =>
  `Lines between ${from.slice(11, 19)} and ${to.slice(11, 19)} may be missing: the node has rotated this log, or restarted its container.`;

/** Compares times to the nanosecond; fractions have any number of digits, and trailing zeros are left out. */
export function compareTimes(a: string, b: string): number {
  const seconds = a.slice(0, 19).localeCompare(b.slice(0, 19));
  if (seconds !== 0) return seconds;
  const fraction = (time: string): string => time.slice(20, -1).padEnd(9, "0");
  return fraction(a).localeCompare(fraction(b));
}
