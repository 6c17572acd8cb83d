import type { CronRow, RunRow } from "../api/wire";
import { figure } from "../text/format";
import { Icon } from "./icon";

const TONES: Readonly<Record<string, string>> = { Active: "running", Succeeded: "ok", Failed: "fail" };

export const runTone = (status: string): string => TONES[status] ?? "off";

/** The last runs as a strip, oldest first, and the same in words. */
export function Runs({ runs }: { runs: readonly RunRow[] }) {
  if (runs.length === 0) return <span className="dim">no run yet</span>;
  const failed = runs.filter(({ status }) => status === "Failed").length;
  return (
    <span className="cells">
      <span className="strip" aria-hidden="true">
        {[...runs].reverse().map(({ name, status }) => (
          <i key={name} className={`run run-${runTone(status)}`} title={`${name}: ${status}`} />
        ))}
      </span>
      <span className="dim small">
        {figure(runs.length)} {runs.length === 1 ? "run" : "runs"}, {failed === 0 ? "none failed" : `${figure(failed)} failed`}
      </span>
    </span>
  );
}

export function CronState({ row }: { row: CronRow }) {
  const look = row.suspended
    ? { tone: "off", sign: "off", words: "Suspended" }
    : row.missed
      ? { tone: "wait", sign: "warn", words: "Missed" }
      : row.ready === "True"
        ? { tone: "ok", sign: "ok", words: row.reason || "Scheduled" }
        : row.ready === ""
          ? { tone: "off", sign: "help", words: "Not seen" }
          : { tone: "fail", sign: "warn", words: row.reason || "Not ready" };
  return (
    <>
      <span className={`pill tone-${look.tone}`}>
        <Icon name={look.sign as "off" | "warn" | "ok" | "help"} small />
        {look.words}
      </span>
      {row.message === "" ? null : <span className="dim small block">{row.message}</span>}
    </>
  );
}
