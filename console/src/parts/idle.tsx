import { useQuery } from "@tanstack/react-query";
import { get } from "../api/request";
import type { IdlePage, IdleRow } from "../api/wire";
import { idleWords } from "../text/idle";

const FRESH = 300_000; // milliseconds, as long as the server uses an answer

export interface Idle {
  readonly page: IdlePage | undefined;
  readonly problem: string; // why nothing is known
}

/** How much of the GPU time of namespaces was idle; costs do not wait for it. */
export function useIdle(parameters: string): Idle {
  const { data, error } = useQuery<IdlePage>({
    queryKey: ["idle", parameters],
    queryFn: ({ signal }) => get<IdlePage>(`/api/v1/cost/idle?${parameters}`, signal),
    staleTime: FRESH,
    refetchInterval: FRESH,
    retry: false,
  });
  return { page: data, problem: data?.problem ?? error?.message ?? "" };
}

/** The cell of a namespace; undefined: nothing of it was measured. */
export function IdleCell({ idle, name }: { idle: Idle; name: string }) {
  if (idle.page === undefined && idle.problem === "") return <>–</>;
  const row: IdleRow | undefined = idle.page?.rows.find((one) => one.name === name);
  if (row === undefined || row.measuredSeconds === 0)
    return (
      <span className="unknown" title={idle.problem || "nothing of it was measured"}>
        not known
      </span>
    );
  return <>{idleWords(row)}</>;
}
