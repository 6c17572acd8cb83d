// Times, durations and figures as people read them. Pure: the caller says what time it is.

const MINUTE = 60_000;
const DAY = 86_400_000;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const pad = (value: number): string => String(value).padStart(2, "0");

/** "<1 min", "25 min", "4 h 06", "3 d 4 h". */
export function duration(milliseconds: number): string {
  const minutes = Math.floor(Math.max(0, milliseconds) / MINUTE);
  if (minutes < 1) return "<1 min";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${pad(minutes % 60)}` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A time of day today, a date on other days; in the browser's time zone. */
export function moment(time: string | null, now: number): string {
  if (time === null) return "–";
  const then = new Date(time);
  const clock = `${pad(then.getHours())}:${pad(then.getMinutes())}`;
  const today = new Date(now).toDateString() === then.toDateString();
  if (today) return clock;
  const date = `${then.getDate()} ${MONTHS[then.getMonth()] ?? ""}`;
  return Math.abs(now - then.getTime()) < 300 * DAY ? `${date} ${clock}` : `${date} ${then.getFullYear()}`;
}

/** A day: "7 Nov". */
export function day(time: string): string {
  const then = new Date(time);
  return `${then.getDate()} ${MONTHS[then.getMonth()] ?? ""}`;
}

interface Times {
  readonly created: string | null;
  readonly started: string | null;
  readonly finished: string | null;
}

/** What a job has done for as long as `elapsed` says; one that never started has not run. */
export function timeTitle({ started, finished }: Times): string {
  if (started === null) return finished === null ? "Waits for" : "Waited";
  return finished === null ? "Runs for" : "Ran";
}

/** How long a job has taken: from its start to its end or now; since its creation if it has not started. */
export function elapsed(job: Times, now: number): string {
  const from = job.started ?? job.created;
  if (from === null) return "–";
  return duration((job.finished === null ? now : Date.parse(job.finished)) - Date.parse(from));
}

/** Ready and wanted pods of "2/4"; null if it says neither. */
export function readiness(text: string): { readonly ready: number; readonly wanted: number } | null {
  const found = /^(\d+)\/(\d+)$/.exec(text);
  return found === null ? null : { ready: Number(found[1]), wanted: Number(found[2]) };
}

const FIGURES = new Intl.NumberFormat("en-US"); // one for all: to make one takes longer than a row of a table

export const figure = (value: number): string => FIGURES.format(value);

export const gpuWords = (count: number): string => `${figure(count)} ${count === 1 ? "GPU" : "GPUs"}`;

/** A figure that nobody may have. */
export const known = (value: number | null): string => (value === null ? "–" : figure(value));

/** What a person does not see of the jobs. */
export const hiddenWords = (namespaces: number): string => (namespaces === 1 ? "1 namespace is hidden" : `${figure(namespaces)} namespaces are hidden`);
