// What the live dot says. Pure.

export type Connection = "connecting" | "open" | "cut" | "signed-out";

export interface Heard {
  readonly connection: Connection;
  readonly heardAt: number; // milliseconds
  readonly silentSeconds: number; // of the API server, as the console says: since it sent a change, or a sign of life
  readonly unansweredSeconds: number; // since it answered a question
  readonly told: string; // why, if the console itself answers, and has no stream; empty: it does not answer
}

export interface Health {
  readonly tone: "ok" | "wait" | "fail";
  readonly words: string;
}

const STALE = 10_000;
const SILENT = 75; // seconds; a healthy watch sends something every minute
const UNANSWERED = 12; // seconds; it is asked every five

export function health(heard: Heard, now: number): Health {
  const ago = Math.max(0, Math.round((now - heard.heardAt) / 1000));
  if (heard.connection === "signed-out") return { tone: "fail", words: "Signed out" };
  if (heard.connection === "connecting" && heard.heardAt === 0) return { tone: "wait", words: "Connecting" };
  if (heard.connection === "cut")
    return { tone: "fail", words: `${heard.told || "Disconnected"}${heard.heardAt === 0 ? "" : `, last heard ${ago} s ago`}` };
  if (now - heard.heardAt > STALE) return { tone: "wait", words: `Last heard ${ago} s ago` };
  const silent = heard.silentSeconds > SILENT ? heard.silentSeconds : heard.unansweredSeconds > UNANSWERED ? heard.unansweredSeconds : 0;
  if (silent > 0) return { tone: "wait", words: `Cluster silent for ${Math.round(silent + (now - heard.heardAt) / 1000)} s` };
  return { tone: "ok", words: "Live" };
}

/** Whether the console, or the API server behind it, is known not to answer. */
export const away = (heard: Heard): boolean => heard.connection === "cut" || heard.unansweredSeconds > UNANSWERED;

/** The same for somebody who hears the page: said when it changes, so without seconds that count. */
export function spoken(heard: Heard, now: number): string {
  const { tone } = health(heard, now);
  if (tone === "ok" || heard.connection === "connecting") return "";
  return tone === "fail" ? `${heard.told || "Disconnected"}. What is shown is not current.` : "Nothing is heard. What is shown may not be current.";
}

/** Milliseconds until the next try: 1, 2, 4 … 30 s, each with up to half of it less. */
export function pause(failures: number, chance: number): number {
  const full = Math.min(30_000, 1000 * 2 ** Math.max(0, failures - 1));
  return full * (1 - chance / 2);
}
