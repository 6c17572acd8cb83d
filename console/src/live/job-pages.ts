// Which pages of jobs a frame of the stream is about. Pure.
import type { JobRow } from "../api/wire";

/** What a page has read: nothing if it failed, as for a job that is not there yet. */
interface JobQuery {
  readonly queryKey: readonly unknown[]; // "job", namespace, kind as in an address, name
  readonly uid: string | undefined;
}

const keyOf = ({ namespace, kind, name }: JobRow): string => JSON.stringify(["job", namespace, kind.toLowerCase(), name]);

/** Whether a page is about a job that changed, or that has come by the name of a page without it. */
export function concernedBy(uids: ReadonlySet<string>, rowOf: (uid: string) => JobRow | undefined): (query: JobQuery) => boolean {
  const keys = new Set<string>();
  for (const uid of uids) {
    const row = rowOf(uid);
    if (row !== undefined) keys.add(keyOf(row));
  }
  return ({ queryKey, uid }) => queryKey[0] === "job" && (uids.has(uid ?? "") || keys.has(JSON.stringify(queryKey)));
}
