import { useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { get } from "../api/request";
import type { LogPage } from "../api/wire";
import { CHUNK, chunksOf, LINE, scrolledTo, spaceOf, windowOf } from "../live/log-window";
import { figure } from "../text/format";
import { LateBeginning } from "./late-beginning";
import { LineField } from "./line-field";
import { LogLine } from "./log-line";
import { Skeleton } from "./skeleton";
import { Trouble } from "./trouble";

const KEPT = 60_000; // milliseconds for which lines are in memory that are not in view

export interface LinePlace {
  readonly line: number; // from 1
  readonly at: string; // when it was written; it counts if the number is that of another line
}

interface Props {
  readonly path: string;
  readonly name: string;
  readonly place: LinePlace | null;
  readonly choose: (line: number, time: string) => void;
}

/** The archived log of a pod: only lines in view are read and drawn, however many there are. */
export function StoredLog({ path, name, place, choose }: Props) {
  const asked = new URLSearchParams({ first: `${place?.line ?? 1}`, count: "1", at: place?.at ?? "" }).toString();
  const { data: begin, error, refetch } = useQuery({
    queryKey: ["log", path, asked],
    queryFn: ({ signal }) => get<LogPage>(`${path}?${asked}`, signal),
    gcTime: KEPT,
    retry: false,
    placeholderData: (before, query) => (query?.queryKey[1] === path ? before : undefined),
  });
  if (error !== null) return <Trouble error={error} retry={() => void refetch()} />;
  if (begin === undefined) return <Skeleton />;
  return <Lines path={path} name={name} begin={begin} chosen={place === null ? 0 : begin.first} choose={choose} />;
}

interface LinesProps {
  readonly path: string;
  readonly name: string;
  readonly begin: LogPage;
  readonly chosen: number;
  readonly choose: Props["choose"];
}

function Lines({ path, name, begin, chosen, choose }: LinesProps) {
  const { total, cut, silentSeconds } = begin;
  const port = useRef<HTMLDivElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const [height, setHeight] = useState(420);
  const seen = windowOf(total, scrolled, height);
  const indexes = chunksOf(seen);
  const chunks = useQueries({
    queries: indexes.map((index) => ({
      queryKey: ["log", path, index],
      queryFn: ({ signal }: { signal: AbortSignal }) => get<LogPage>(`${path}?first=${index * CHUNK + 1}&count=${CHUNK}`, signal),
      gcTime: KEPT,
      retry: false,
    })),
  });
  useLayoutEffect(() => {
    if (port.current !== null) setHeight(port.current.clientHeight);
  }, []);
  const go = useCallback(
    (line: number): void => {
      if (port.current !== null) port.current.scrollTop = scrolledTo(line - 1, total, port.current.clientHeight);
    },
    [total],
  );
  useEffect(() => {
    const element = port.current;
    if (chosen === 0 || element === null) return;
    const now = windowOf(total, element.scrollTop, element.clientHeight);
    if (chosen <= now.first || chosen > now.first + now.count - 2) go(chosen); // what is in view stays where it is
  }, [chosen, go, total]);
  const failed = chunks.find(({ error }) => error !== null);
  return (
    <div className="log">
      <div className="logbar">
        <b>{name}</b>
        <LineField total={total} go={(line) => (go(line), choose(line, ""))} />
      </div>
      {cut ? <p className="note gap">The beginning of this log was not kept: lines are missing before line 1.</p> : null}
      <LateBeginning silence={silentSeconds * 1000} />
      {failed?.error ? <Trouble error={failed.error} retry={() => void failed.refetch()} /> : null}
      <div
        className="logport"
        ref={port}
        onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
        tabIndex={0}
        role="log"
        aria-label={`Log of ${name}`}
        aria-live="off"
        aria-busy={chunks.some(({ data }) => data === undefined)}
      >
        {total === 0 ? <p className="empty">Nothing was printed.</p> : null}
        <div className="lines" style={{ height: spaceOf(total) }}>
          {Array.from({ length: seen.count }, (_, offset) => {
            const index = seen.first + offset;
            const chunk = chunks[indexes.indexOf(Math.floor(index / CHUNK))]?.data;
            const row = chunk?.lines[index % CHUNK];
            return row === undefined ? null : (
              <LogLine
                key={index}
                number={index + 1}
                time={row.time}
                text={row.text}
                top={seen.top + offset * LINE}
                chosen={index + 1 === chosen}
                choose={choose}
              />
            );
          })}
        </div>
      </div>
      <div className="logfoot">
        <span>
          {figure(total)} {total === 1 ? "line" : "lines"} of the archive
        </span>
      </div>
    </div>
  );
}
