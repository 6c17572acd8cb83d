import { useEffect, useState } from "react";
import { get } from "../api/request";
import type { LogHit, LogHits, PastPodRow } from "../api/wire";
import { plain } from "../live/log";
import { figure } from "../text/format";
import { Icon } from "./icon";
import { Trouble } from "./trouble";

const AT_ONCE = 4; // logs that are searched at a time
const MOST = 500; // hits that are shown

interface Found {
  readonly hits: readonly { readonly pod: PastPodRow; readonly hit: LogHit }[];
  readonly searched: number;
  readonly more: boolean;
  readonly error: Error | null;
}
const NOTHING: Found = { hits: [], searched: 0, more: false, error: null };

interface Props {
  readonly pods: readonly PastPodRow[];
  readonly path: (pod: PastPodRow) => string;
  readonly choose: (pod: PastPodRow, hit: LogHit) => void;
}

/** Searches the logs of all pods, some at a time; what is found is shown at once. */
export function LogSearch({ pods, path, choose }: Props) {
  const [text, setText] = useState("");
  const [wanted, setWanted] = useState("");
  const [found, setFound] = useState(NOTHING);
  useEffect(() => {
    setFound(NOTHING);
    if (wanted === "") return;
    const stopped = new AbortController();
    void search(pods, path, wanted, stopped, setFound);
    return () => stopped.abort();
    // The pods of a job that has ended stay the same; only a new text is a new search.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [wanted]);
  const done = found.searched === pods.length || found.hits.length >= MOST;
  return (
    <div className="logsearch">
      <form
        className="logbar"
        onSubmit={(event) => {
          event.preventDefault();
          setWanted(text.trim());
        }}
      >
        <label className="field">
          <Icon name="search" small />
          <span className="sr">Search all logs</span>
          <input type="search" placeholder="Search all logs" value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <button className="button">Search</button>
        {wanted !== "" && !done ? (
          <button className="button" type="button" onClick={() => setWanted("")}>
            Stop
          </button>
        ) : null}
      </form>
      {wanted === "" ? null : (
        <>
          {found.error === null ? null : <Trouble error={found.error} />}
          <p className="note" role="status">
            {figure(found.hits.length)}
            {found.more ? " or more" : ""} {found.hits.length === 1 ? "line" : "lines"} in {figure(found.searched)} of {figure(pods.length)} logs
          </p>
          <ul className="hits" aria-label="Lines found">
            {found.hits.map(({ pod, hit }) => (
              <li key={`${pod.uid}/${hit.line}`}>
                <button className="hit" onClick={() => choose(pod, hit)}>
                  <b>{pod.replica}</b>
                  <span className="dim">{figure(hit.line)}</span>
                  <code className="cut">{plain(hit.text)}</code>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

async function search(
  pods: readonly PastPodRow[],
  path: Props["path"],
  wanted: string,
  stopped: AbortController,
  show: (change: (before: Found) => Found) => void,
): Promise<void> {
  const left = [...pods];
  let count = 0;
  const one = async (): Promise<void> => {
    for (let pod = left.shift(); pod !== undefined && count < MOST; pod = left.shift()) {
      const asked = pod;
      try {
        const { hits, more } = await get<LogHits>(`${path(asked)}/search?${new URLSearchParams({ q: wanted }).toString()}`, stopped.signal);
        count += hits.length;
        show((before) => ({
          hits: [...before.hits, ...hits.map((hit) => ({ pod: asked, hit }))].slice(0, MOST),
          searched: before.searched + 1,
          more: before.more || more || count > MOST,
          error: before.error,
        }));
      } catch (error) {
        if (stopped.signal.aborted) return;
        show((before) => ({ ...before, searched: before.searched + 1, error: error as Error }));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
