import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { jobPath } from "../api/request";
import type { JobRow, PodRow } from "../api/wire";
import { useLog } from "../live/follow";
import { emptyWords, inPlaceOfLines, leftOutWords, type Line, silenceBefore } from "../live/log";
import { LINE } from "../live/log-window";
import { figure } from "../text/format";
import { Icon } from "./icon";
import { LateBeginning } from "./late-beginning";
import { LineField } from "./line-field";
import { LogLine } from "./log-line";
import type { LinePlace } from "./stored-log";
import { Trouble } from "./trouble";

const ENDED = new Set(["Succeeded", "Failed"]);
const WORDS = { reading: "reading", live: "live", ended: "ended", cut: "disconnected, trying again", refused: "not followed" };

interface Props {
  readonly job: JobRow;
  readonly pod: PodRow;
  readonly place?: LinePlace | null;
  readonly choose: (line: number, time: string) => void;
}

/** The log of one container, followed while it is written, unless a line of it was chosen. */
export function LogView({ job, pod, place = null, choose }: Props) {
  const [picked, setPicked] = useState("");
  const container = pod.containers.includes(picked) ? picked : (pod.containers[0] ?? "");
  const path = `${jobPath(job.namespace, job.kind, job.name)}/logs/${encodeURIComponent(pod.name)}`;
  const log = useLog(path, container, !ENDED.has(pod.phase));
  const [following, setFollowing] = useState(place === null);
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
  const leftOut = leftOutWords(log.lines.length, log.dropped);
  const chosen = place === null ? -1 : indexOf(log.lines, place);
  const chosenLine = log.lines[chosen];
  useEffect(() => {
    if (chosenLine === undefined) return;
    setFollowing(false);
    const shown = lines.indexOf(chosenLine); // a search may leave it out
    if (shown >= 0) rows.scrollToIndex(shown, { align: "center" });
    // Its place changes with every line that is left out before it; who then follows or reads elsewhere goes on.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [chosenLine, rows]);
  const scrolled = (): void => {
    const element = port.current;
    if (element !== null) setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < 3 * LINE);
  };
  const gap = lines.findLastIndex(({ number }) => number === 0);
  const show = (index: number): void => {
    setFollowing(false);
    rows.scrollToIndex(index, { align: "center" });
  };
  const go = (number: number): void => {
    setQuery("");
    choose(number, log.lines.find((line) => line.number === number)?.time ?? "");
  };
  return (
    <div className="log">
      <div className="logbar">
        <label className="field">
          <Icon name="search" small />
          <span className="sr">Search the log</span>
          <input type="search" placeholder="Search these lines" value={query} onChange={(event) => setQuery(event.target.value)} />
        </label>
        <LineField total={log.lines.at(-1)?.number ?? 0} go={go} />
        {pod.containers.length > 1 ? (
          <select className="button" aria-label="Container" value={container} onChange={(event) => setPicked(event.target.value)}>
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
      {leftOut !== "" || container !== pod.containers[0] ? null : <LateBeginning silence={silenceBefore(log.lines[0], pod.started)} />}
      {log.error !== null && inPlaceOfLines(log.lines.length, log.error.status) ? (
        <Trouble error={log.error} />
      ) : (
        <div className="logport" ref={port} onScroll={scrolled} tabIndex={0} role="log" aria-label={`Log of ${pod.name}`} aria-live="off">
          {lines.length === 0 ? <p className="empty">{emptyWords(log, wanted !== "")}</p> : null}
          <div className="lines" style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map(({ index, key, start }) => {
              const line = lines[index];
              if (line === undefined) return null;
              const { number, time, text } = line;
              return <LogLine key={key} number={number} time={time} text={text} top={start} chosen={line === chosenLine} choose={choose} />;
            })}
          </div>
        </div>
      )}
      <div className="logfoot">
        <span>
          {figure(lines.length)} {lines.length === 1 ? "line" : "lines"}
          {leftOut}
        </span>
        {place !== null && chosen < 0 && log.lines.length > 0 ? <span>Line {figure(place.line)} is not in what the node still has.</span> : null}
        {gap < 0 ? null : (
          <button className="linklike gap" onClick={() => show(gap)}>
            Lines may be missing
          </button>
        )}
        <span className={`livebox ${log.state === "live" ? "tone-dot-ok" : "tone-dot-off"}`}>
          <span className="dot" />
          {WORDS[log.state]}
        </span>
      </div>
    </div>
  );
}

/** Where a line is: the number counts unless another line is of the time that was asked for. */
function indexOf(lines: readonly Line[], { line, at }: LinePlace): number {
  const byTime = at === "" ? -1 : lines.findIndex(({ time }) => time === at);
  const byNumber = lines.findIndex(({ number }) => number === line);
  return byTime >= 0 && lines[byNumber]?.time !== at ? byTime : byNumber;
}
