// Follows the log of one container, and goes on after a cut.
import { useEffect, useRef, useState } from "react";
import { at } from "../api/base";
import { forbids, problemOf, RequestError } from "../api/request";
import { pause } from "./health";
import { type Line, LogLines, type LogState, MOST_LINES } from "./log";

export interface Followed {
  readonly lines: readonly Line[];
  readonly dropped: number;
  readonly state: LogState;
  readonly error: RequestError | null;
}

const NOTHING: Followed = { lines: [], dropped: 0, state: "reading", error: null };
const FRAME = 100; // milliseconds between two drawings
const LASTED = 10_000; // milliseconds of an answer that was cut

/** `running`: whether the container may still write, so that an end of the answer is a cut. */
export function useLog(path: string, container: string, running: boolean): Followed {
  const [followed, setFollowed] = useState<Followed>(NOTHING);
  const stillRuns = useRef(running);
  stillRuns.current = running;
  useEffect(() => {
    const stopped = new AbortController();
    setFollowed(NOTHING);
    void follow(path, container, () => stillRuns.current, stopped.signal, setFollowed);
    return () => stopped.abort();
  }, [path, container]);
  return followed;
}

/** Shows a log as it grows, until it has ended or nobody may see it. */
export async function follow(
  path: string,
  container: string,
  running: () => boolean,
  signal: AbortSignal,
  show: (followed: Followed) => void,
): Promise<void> {
  const log = new LogLines();
  let failures = 0;
  let drawnAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = (state: Followed["state"], error: RequestError | null = null): void => {
    clearTimeout(timer);
    drawnAt = Date.now();
    if (!signal.aborted) show({ lines: [...log.lines()], dropped: log.dropped, state, error });
  };
  while (!signal.aborted) {
    const askedAt = Date.now();
    try {
      const since = log.resume();
      const query = new URLSearchParams(since === "" ? { container, lines: `${MOST_LINES}` } : { container, since });
      const answer = await fetch(at(`${path}?${query}`), { signal });
      if (!answer.ok || answer.body === null) throw await problemOf(answer);
      draw("live");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (!log.push(value)) continue;
        failures = 0;
        clearTimeout(timer);
        timer = setTimeout(() => draw("live"), Math.max(0, drawnAt + FRAME - Date.now()));
      }
      if (!running()) {
        log.end();
        return draw("ended");
      }
      draw("cut");
    } catch (error) {
      if (signal.aborted) return;
      const refused = error instanceof RequestError ? error : null;
      if (forbids(refused)) return draw("refused", refused);
      draw("cut", refused); // also of somebody who is signed out, and may sign in again
    }
    // A container that has ended in a pod that runs answers at once, again and again, and with nothing new.
    failures = Date.now() - askedAt > LASTED ? 1 : failures + 1;
    await new Promise((resolve) => setTimeout(resolve, pause(failures, Math.random())));
  }
}
