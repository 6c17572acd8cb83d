import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { jobPath } from "../api/request";
import type { JobRow, PodRow } from "../api/wire";
import { useLog } from "../live/follow";
import { inPlaceOfLines, plain } from "../live/log";
import { figure } from "../text/format";
import { Icon } from "./icon";
import { Trouble } from "./trouble";

const ENDED = new Set(["Succeeded", "Failed"]);
const WORDS = { reading: "reading", live: "live", ended: "ended", cut: "disconnected, trying again" };
const LINE = 18;

/** The log of one container, followed while it is written. */
export function LogView({ job, pod }: { job: JobRow; pod: PodRow }) {
  const [chosen, setChosen] = useState("");
  const container = pod.containers.includes(chosen) ? chosen : (pod.containers[0] ?? "");
  const path = `${jobPath(job.namespace, job.kind, job.name)}/logs/${encodeURIComponent(pod.name)}`;
  const log = useLog(path, container, !ENDED.has(pod.phase));
  const [following, setFollowing] = useState(true);
  const [query, setQuery] = useState("");
  const port = useRef<HTMLDivElement>(null);
  const wanted = query.toLowerCase();
  const lines = wanted === "" ? log.lines : log.lines.filter((line) => line.text.toLowerCase().includes(wanted));
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => port.current,
    estimateSize: () => LINE,
    overscan: 20,
  });
  useEffect(() => {
    if (following && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: "end" });
  }, [following, lines.length, rows]);
  const scrolled = (): void => {
    const element = port.current;
    if (element !== null) setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < 3 * LINE);
  };
  return (
    <div className="log">
      <div className="logbar">
        <label className="field">
          <Icon name="search" small />
          <span className="sr">Search the log</span>
          <input type="search" placeholder="Search these lines" value={query} onChange={(event) => setQuery(event.target.value)} />
        </label>
        {pod.containers.length > 1 ? (
          <select className="button" aria-label="Container" value={container} onChange={(event) => setChosen(event.target.value)}>
            {pod.containers.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        ) : null}
        <button className="button" aria-pressed={following} onClick={() => setFollowing(!following)}>
          <Icon name="follow" small />
          Follow
        </button>
      </div>
      {log.error !== null && inPlaceOfLines(log.lines.length, log.error.status) ? (
        <Trouble error={log.error} />
      ) : (
        <div className="logport" ref={port} onScroll={scrolled} tabIndex={0} role="log" aria-label={`Log of ${pod.name}`} aria-live="off">
          {lines.length === 0 && log.state !== "reading" ? (
            <p className="empty">{wanted === "" ? "Nothing was printed yet." : "No line has this text."}</p>
          ) : null}
          <div className="lines" style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map((item) => {
              const line = lines[item.index];
              return line === undefined ? null : (
                <div className="line" key={item.key} style={{ transform: `translateY(${item.start}px)` }}>
                  <span className="number">{figure(log.dropped + item.index + 1)}</span>
                  <time title={line.time}>{line.time.slice(11, 23)}</time>
                  <span className={`text${level(line.text)}`}>{plain(line.text)}</span>
                </div>
              );
            })}
          </div>
        </div>
      )}
      <div className="logfoot">
        <span>
          {figure(lines.length)} {lines.length === 1 ? "line" : "lines"}
          {log.dropped > 0 ? `, ${figure(log.dropped)} older ones left out` : ""}
        </span>
        <span className={`livebox ${log.state === "live" ? "tone-dot-ok" : "tone-dot-off"}`}>
          <span className="dot" />
          {WORDS[log.state]}
        </span>
      </div>
    </div>
  );
}

function level(text: string): string {
  if (/\b(error|fatal|exception|traceback|killed)\b/i.test(text)) return " error";
  return /\bwarn(ing)?\b/i.test(text) ? " warning" : "";
}
