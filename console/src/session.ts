// Who is signed in, the list of jobs and its stream: one of each for the whole page.
import { QueryClient, useQuery } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { change, get, RequestError } from "./api/request";
import type { JobRow, Session } from "./api/wire";
import { Live } from "./live/connection";
import type { Heard } from "./live/health";
import { Rows } from "./live/rows";
import { pagesOf, Topics } from "./live/topics";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Infinity, // the stream says when something changed
      retry: (failures, error) => !(error instanceof RequestError && error.status < 500) && failures < 3,
      refetchOnWindowFocus: false,
    },
  },
});

const SESSION = ["session"];
export const rows = new Rows();
export const live = new Live(rows, () => void queries.invalidateQueries({ queryKey: SESSION }));

const topics = new Topics((topic) => {
  for (const page of pagesOf(topic)) void queries.invalidateQueries({ queryKey: [page] });
});

rows.onTouched((uids) => {
  void queries.invalidateQueries({
    predicate: ({ queryKey, state }) =>
      queryKey[0] === "job" && uids.has((state.data as { job?: JobRow } | undefined)?.job?.uid ?? ""),
  });
  topics.changed(uids);
});
// After a gap in the stream nobody knows what changed.
rows.onListedAgain(() => void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] }));

export function useSession() {
  return useQuery({ queryKey: SESSION, queryFn: ({ signal }) => get<Session>("/api/v1/session", signal) });
}

export async function signIn(proof: { token: string } | { code: string }): Promise<void> {
  await change("POST", "/api/v1/session", proof);
  await queries.invalidateQueries({ queryKey: SESSION });
}

export async function signOut(): Promise<void> {
  await change("DELETE", "/api/v1/session");
  rows.clear();
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
  await queries.invalidateQueries({ queryKey: SESSION });
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
