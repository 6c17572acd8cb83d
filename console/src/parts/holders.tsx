import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../api/request";
import type { HolderGroup, HolderList } from "../api/wire";
import { ratio } from "../text/amounts";
import { figure, gpuWords } from "../text/format";
import { JobLink } from "./job-link";
import { Track } from "./meter";
import { Skeleton } from "./skeleton";
import { Notice, Trouble } from "./trouble";

const BY = [
  { id: "workload", title: "Workload" },
  { id: "user", title: "User" },
  { id: "team", title: "Team" },
] as const;
type By = (typeof BY)[number]["id"];
const MOST = 8;

/** Who holds the GPUs, of all that the cluster has. */
export function Holders({ total }: { total: number | null }) {
  const [by, setBy] = useState<By>("workload");
  const { data, error, refetch } = useQuery<HolderList>({
    queryKey: ["nodes", "holders", by], // read again when what nodes have free changes
    queryFn: ({ signal }) => get<HolderList>(`/api/v1/capacity/holders?by=${by}`, signal),
  });
  return (
    <>
      <header className="cardhead">
        <h2>Who holds the GPUs</h2>
        <span className="grow" />
        <span className="segments" role="group" aria-label="Holders by">
          {BY.map(({ id, title }) => (
            <button key={id} aria-pressed={id === by} onClick={() => setBy(id)}>
              {title}
            </button>
          ))}
        </span>
      </header>
      {data !== undefined ? <List list={data} total={total} /> : error === null ? <Skeleton rows={3} /> : <Trouble error={error} retry={() => void refetch()} />}
    </>
  );
}

function List({ list, total }: { list: HolderList; total: number | null }) {
  if (list.held === 0) return <Notice icon="info" title={list.onlyNamespace === "" ? "No pod holds a GPU." : `No pod in ${list.onlyNamespace} holds a GPU.`} />;
  const more = list.more + Math.max(0, list.rows.length - MOST);
  return (
    <>
      <div className="scrollx" tabIndex={0} role="region" aria-label="Who holds the GPUs">
        <table>
          <thead>
            <tr>
              <th>{list.by === "team" ? "Team" : list.by === "user" ? "User" : "Workload"}</th>
              {list.by === "workload" ? <th>User</th> : null}
              <th className="right">GPUs</th>
              <th>Of all GPUs</th>
            </tr>
          </thead>
          <tbody>
            {list.rows.slice(0, MOST).map((row) => (
              <tr key={`${row.namespace}/${row.kind}/${row.name}`}>
                <td className="cut name">
                  <Name row={row} by={list.by} />
                </td>
                {list.by === "workload" ? (
                  <td className="cut user" title={row.user}>
                    {row.user || "–"}
                  </td>
                ) : null}
                <td className="right">{figure(row.gpus)}</td>
                <td>{total === null ? "–" : <Track value={ratio(row.gpus, total)} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <footer className="tablefoot">
        {more > 0 ? <span>{figure(more)} more are not listed.</span> : null}
        {list.hiddenGpus > 0 ? <span>{gpuWords(list.hiddenGpus)} {list.hiddenGpus === 1 ? "is" : "are"} held by pods that you may not see.</span> : null}
        {list.onlyNamespace === "" ? null : <span>Only {list.onlyNamespace} is followed.</span>}
      </footer>
    </>
  );
}

function Name({ row, by }: { row: HolderGroup; by: string }) {
  if (by === "team") return <>{row.namespace}</>;
  if (by === "user") return row.name === "" ? <span className="dim">not named</span> : <>{row.name}</>;
  if (row.kind !== "") return <JobLink row={row} />;
  return (
    <>
      <span className="dimmer">{row.namespace} / </span>
      {row.name === "" ? <span className="dim">jobs that you may not see</span> : row.name}
    </>
  );
}
