// Who is signed in, the list of jobs and its stream: one of each for the whole page.
import { QueryCache, QueryClient, type QueryFilters, queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { change, get, RequestError } from "./api/request";
import type { JobRow, Session } from "./api/wire";
import { Live } from "./live/connection";
import { away, type Heard } from "./live/health";
import { concernedBy } from "./live/job-pages";
import { ReadAgain } from "./live/read-again";
import { Rows } from "./live/rows";
import { pagesOf, Topics } from "./live/topics";

export const queries = new QueryClient({
  // Whoever is not signed in any more is told at once, whatever noticed it.
  queryCache: new QueryCache({ onError: (error, { queryKey }) => notSignedIn(error) && queryKey[0] !== SESSION[0] && void askAgain() }),
  defaultOptions: {
    queries: {
      staleTime: Infinity, // the stream says when something changed
      retry: (failures, error) => !(error instanceof RequestError && error.status < 500) && failures < 3,
      refetchOnWindowFocus: false,
    },
  },
});

const SESSION = ["session"];
const AGAIN = 5_000; // milliseconds
const notSignedIn = (error: unknown): boolean => error instanceof RequestError && error.status === 401;
const askAgain = (): Promise<void> => queries.invalidateQueries({ queryKey: SESSION });
let latest: Session | null = null; // of somebody who signed in and did not sign out

/** Who worked here last, and may go on after another sign-in: null if nobody, or if that person has left. */
export const lastSession = (): Session | null => latest;

export const rows = new Rows();
export const live = new Live(rows, () => void askAgain());

const again = new ReadAgain(queries);
const topics = new Topics((topic) => {
  for (const page of pagesOf(topic)) again.read({ queryKey: [page] });
});

rows.onTouched((uids) => {
  const concerned = concernedBy(uids, rows.row);
  again.read({ predicate: ({ queryKey, state }) => concerned({ queryKey, uid: (state.data as { job?: JobRow } | undefined)?.job?.uid }) });
  topics.changed(uids);
});
// After a gap in the stream nobody knows what changed, and answers on their way may never come.
const allButSession: QueryFilters = { predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] };
rows.onListedAgain(() => void queries.cancelQueries(allButSession).then(() => again.read(allButSession)));

// What failed while nobody answered is asked again as soon as there are answers.
let wasAway = false;
live.subscribe(() => {
  const heard = live.state();
  const isAway = away(heard) || (wasAway && heard.connection !== "open");
  if (wasAway && !isAway) void queries.invalidateQueries({ predicate: ({ state }) => state.error !== null });
  wasAway = isAway;
});

export const asksWho = queryOptions({
  queryKey: SESSION,
  queryFn: ({ signal }) => whoIsThere(signal),
  refetchInterval: ({ state }) => (state.status === "error" ? AGAIN : false), // nothing else asks before there is a page
});

export const useSession = () => useQuery(asksWho);

/** What one person has read is not shown to another one who signs in after. */
async function whoIsThere(signal: AbortSignal): Promise<Session> {
  const session = await get<Session>("/api/v1/session", signal).catch((error: unknown) => {
    if (latest !== null && notSignedIn(error)) return { ...latest, user: "" }; // a proxy in front answers itself
    throw error;
  });
  if (session.user === "") return session;
  if (latest !== null && latest.user !== session.user) forget();
  latest = session;
  return session;
}

function forget(): void {
  latest = null;
  rows.clear();
  queries.removeQueries(allButSession);
}

export async function signIn(proof: { token: string } | { code: string }): Promise<void> {
  await change("POST", "/api/v1/session", proof);
  await askAgain();
}

export async function signOut(): Promise<void> {
  await change("DELETE", "/api/v1/session");
  forget();
  await askAgain();
}

export const useRows = (): readonly JobRow[] => useSyncExternalStore(rows.subscribe, rows.all);
export const useHeard = (): Heard => useSyncExternalStore(live.subscribe, live.state);

const SOON = 5_000; // milliseconds from a new job to its row

/** Wait until a job that was just created is in the list, so that its page exists; not for ever. */
export function appeared(namespace: string, kind: string, name: string): Promise<void> {
  const there = (): boolean => rows.all().some((row) => row.namespace === namespace && row.kind === kind && row.name === name);
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, SOON);
    const stop = rows.subscribe(() => there() && end());
    if (there()) end();
  });
}

/** The time, which moves on by itself. */
export function useNow(every: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
