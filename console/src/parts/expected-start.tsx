import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get, jobPath } from "../api/request";
import type { JobRow, StartPage } from "../api/wire";
import { startWords } from "../text/start";

const FRESH = 60_000; // milliseconds: no stream says when receipts were written

/** When a job that waits would start, as far as others like it say. */
export function useExpectedStart(job: JobRow, waits: boolean, now: number): { readonly value: ReactNode; readonly more: string } {
  const path = `${jobPath(job.namespace, job.kind, job.name)}/start`;
  const { data, isError } = useQuery<StartPage>({
    queryKey: ["start", path, job.uid],
    queryFn: ({ signal }) => get<StartPage>(path, signal),
    enabled: waits,
    staleTime: FRESH,
    refetchInterval: FRESH,
    retry: false,
  });
  if (data === undefined) return { value: "–", more: isError ? "the history cannot be read now" : "" };
  const { known, value, more } = startWords(data, job.created, now);
  return { value: known ? value : <span className="unknown">{value}</span>, more };
}
