import { useQuery } from "@tanstack/react-query";
import { get, jobPath } from "../api/request";
import type { JobPage, JobRow, WhyPage } from "../api/wire";
import { hasEnded, look } from "../text/states";
import { Icon } from "./icon";

interface Asked {
  readonly data: WhyPage | undefined;
  readonly error: Error | null;
}

const FRESH = 30_000; // milliseconds; the cause of a job that waits changes without the job: a node comes, an image is pulled

/** What the rules of `kubedl why` say about a job; nothing before the job itself is there. */
export function useWhy(job: JobRow | undefined): Asked {
  const path = job === undefined ? "" : `${jobPath(job.namespace, job.kind, job.name)}/why`;
  const { data, error } = useQuery<WhyPage>({
    queryKey: ["why", path, job?.uid, job?.state, job?.message, job?.ready], // another state may have another cause
    queryFn: ({ signal }) => get<WhyPage>(path, signal),
    enabled: job !== undefined && job.state !== "Succeeded",
    // While it is in the same state, what was said of it stays until there is another answer.
    placeholderData: (before, query) => (query?.queryKey[2] === job?.uid && query?.queryKey[3] === job?.state ? before : undefined),
    staleTime: FRESH,
    refetchInterval: job === undefined || hasEnded(job.state) ? false : FRESH,
    retry: false,
  });
  return { data, error };
}

/** Why a job waits or failed: the job's own message, until the rules have answered. */
export function Why({ page: { job, reason }, data, error }: { page: JobPage } & Asked) {
  if (data === undefined && job.message === "") return null;
  const help = data?.tries ?? [];
  return (
    <section className={`card whybox tone-edge-${look(job.state).tone}`} aria-label="Why">
      <div className="why">
        <b>{data === undefined ? reason || "Message" : "Why"}</b>
        <span>{data?.first ?? job.message}</span>
      </div>
      {data === undefined || data.facts.length === 0 ? null : (
        <dl className="whyfacts">
          {data.facts.map(({ label, text }) => (
            <div key={`${label} ${text}`}>
              <dt>{label}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {help.length === 0 ? null : (
        <ul className="whytries">
          {help.map(({ command, effect, by }) => (
            <li key={command}>
              <code>{command}</code>
              {effect === "" && by === "you" ? null : (
                <span className="dim small block">
                  {effect}
                  {by === "you" ? "" : ` (${by})`}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {data === undefined || data.unread.length === 0 ? null : (
        <p className="note small">
          <Icon name="lock" small /> Not read, with your rights: {data.unread.join("; ")}
        </p>
      )}
      {error === null ? null : <p className="note small">The rules of kubedl why could not be asked: {error.message}.</p>}
    </section>
  );
}
