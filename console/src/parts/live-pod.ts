import { useQuery } from "@tanstack/react-query";
import { get, jobPath } from "../api/request";
import type { JobPage, JobRow, PodRow } from "../api/wire";
import { useRows } from "../session";

interface Run {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** A pod of a job that still exists, by the uids of both; null if either is gone. */
export function useLivePod({ namespace, kind, name, uid }: Run, pod: string | undefined): { job: JobRow; pod: PodRow } | null {
  const exists = useRows().some((row) => row.uid === uid);
  const { data } = useQuery({
    queryKey: ["job", namespace, kind, name],
    queryFn: ({ signal }) => get<JobPage>(jobPath(namespace, kind, name), signal),
    enabled: exists && pod !== undefined,
  });
  const found = data?.job.uid === uid && exists ? data.pods.find((one) => one.uid === pod) : undefined;
  return data === undefined || found === undefined ? null : { job: data.job, pod: found };
}
