import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { forbids, get } from "../api/request";
import { Skeleton } from "./skeleton";
import { Trouble } from "./trouble";

/** The address of an answer, of parts that may have any character. */
export const address = (...parts: readonly string[]): string => `/api/v1/${parts.map(encodeURIComponent).join("/")}`;

interface Props<T> {
  readonly topic: string;
  readonly path: string;
  readonly name?: string; // what the page is about, until its content says so itself
  readonly fresh?: number; // milliseconds for which an answer is good, if no stream says when it changed
  readonly keep?: boolean; // what is there, while another path is asked
  readonly children: (data: T, current: boolean) => ReactNode;
}

/** Reads one answer and draws it; loading, forbidden and failed look the same on every page. What is there stays. */
export function PageQuery<T>({ topic, path, name = "", fresh, keep = false, children }: Props<T>) {
  const { data, error, refetch, isPlaceholderData } = useQuery<T>({
    queryKey: [topic, path],
    queryFn: ({ signal }) => get<T>(path, signal),
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    ...(fresh === undefined ? {} : { staleTime: fresh, refetchInterval: fresh, retry: false }),
  });
  const trouble =
    error === null ? null : (
      <div className="card" role="alert">
        <Trouble error={error} retry={() => void refetch()} />
      </div>
    );
  if (data === undefined || forbids(error))
    return (
      <>
        {name === "" ? null : (
          <div className="head">
            <h1>{name}</h1>
          </div>
        )}
        {trouble ?? (
          <div className="card">
            <Skeleton />
          </div>
        )}
      </>
    );
  return (
    <>
      {trouble}
      {children(data, !isPlaceholderData)}
    </>
  );
}
