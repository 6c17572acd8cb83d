import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import type { NodeList, NodeRow, Share } from "../api/wire";
import { GpuCells, GpuLegend } from "../parts/gpu-cells";
import { SearchLine } from "../parts/search-line";
import { JobLink } from "../parts/job-link";
import { Track } from "../parts/meter";
import { PageQuery } from "../parts/page-query";
import { Notice } from "../parts/trouble";
import { bytes, cores, ratio } from "../text/amounts";
import { figure } from "../text/format";
import { closedWords } from "../text/gpus";

export function Nodes() {
  const { q = "", after = "" } = useSearch({ from: "/nodes" });
  const navigate = useNavigate({ from: "/nodes" });
  const path = `/api/v1/nodes?${new URLSearchParams({ q: useDeferredValue(q), after }).toString()}`;
  return (
    <>
      <div className="head">
        <h1>Nodes</h1>
      </div>
      <SearchLine value={q} hint="Name of a node" change={(next) => void navigate({ search: next === "" ? {} : { q: next }, replace: true })} />
      <PageQuery<NodeList> topic="nodes" path={path}>
        {(list) => <List list={list} q={q} after={after} />}
      </PageQuery>
    </>
  );
}

function List({ list, q, after }: { list: NodeList; q: string; after: string }) {
  if (list.rows.length === 0)
    return (
      <div className="card">
        <Notice icon="info" title={q === "" ? "The cluster has no nodes." : "No node has this in its name."} />
      </div>
    );
  return (
    <section className="card">
      {list.onlyNamespace === "" ? null : (
        <p className="note">Only {list.onlyNamespace} is followed, so what is free is not known.</p>
      )}
      <div className="scrollx" tabIndex={0} role="region" aria-label="Nodes">
        <table className="stack">
          <thead>
            <tr>
              <th>Node</th>
              <th>GPUs</th>
              <th>Held by</th>
              <th>CPU requested</th>
              <th>Memory requested</th>
              <th className="right">Pods</th>
            </tr>
          </thead>
          <tbody>
            {list.rows.map((node) => (
              <tr key={node.name}>
                <td className="title">
                  <Link to="/nodes/$name" params={{ name: node.name }}>
                    <code>{node.name}</code>
                  </Link>{" "}
                  <NodeState node={node} />
                  {node.gpuModel === "" ? null : <span className="dim small block">{node.gpuModel}</span>}
                </td>
                <td data-label="GPUs">
                  <GpuCells node={node} />
                </td>
                <td data-label="Held by" className="wrap">
                  <Holders node={node} />
                </td>
                <td data-label="CPU requested">
                  <Amount share={node.cpu} words={cores} />
                </td>
                <td data-label="Memory requested">
                  <Amount share={node.memory} words={bytes} />
                </td>
                <td data-label="Pods" className="right">
                  {figure(node.pods)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <footer className="tablefoot">
        <span>
          {figure(list.rows.length)} of {figure(list.total)}
        </span>
        {after !== "" ? (
          <Link to="/nodes" search={q === "" ? {} : { q }}>
            First page
          </Link>
        ) : null}
        {list.after !== "" ? (
          <Link to="/nodes" search={{ ...(q === "" ? {} : { q }), after: list.after }}>
            Next page
          </Link>
        ) : null}
      </footer>
      <div className="note">
        <GpuLegend />
      </div>
    </section>
  );
}

/** What a node has: a bar of what is requested, and the whole; nothing of a node that has not said what it has. */
export function Amount({ share, words }: { share: Share; words: (value: number) => string }) {
  if (share.total === 0) return <span className="dim">–</span>;
  return (
    <span className="amountcell">
      {share.requested === null ? null : <Track value={ratio(share.requested, share.total)} />}
      <span className="dim small block">
        {share.requested === null ? `of ${words(share.total)}` : `${words(share.requested)} of ${words(share.total)}`}
      </span>
    </span>
  );
}

export function NodeState({ node }: { node: NodeRow }) {
  const words = closedWords(node);
  return words === "" ? null : <span className={`pill ${node.ready ? "tone-wait" : "tone-fail"}`}>{words}</span>;
}

/** Who holds the GPUs of a node, added up by job. */
export function Holders({ node }: { node: NodeRow }) {
  const found = new Map<string, { namespace: string; kind: string; name: string; gpus: number }>();
  for (const { namespace, pod, kind, job, gpus } of node.holders) {
    const key = `${namespace}/${kind}/${job || pod}`;
    const before = found.get(key)?.gpus ?? 0;
    found.set(key, { namespace, kind, name: job || pod, gpus: before + gpus });
  }
  if (found.size === 0 && node.hiddenGpus === 0) return <span className="dim">–</span>;
  return (
    <ul className="holders">
      {[...found.values()].map((one) => (
        <li key={`${one.namespace}/${one.kind}/${one.name}`}>
          {one.kind === "" ? (
            <>
              <span className="dimmer">{one.namespace} / </span>
              {one.name}
            </>
          ) : (
            <JobLink row={one} />
          )}{" "}
          <b>{figure(one.gpus)}</b>
        </li>
      ))}
      {node.hiddenGpus > 0 ? (
        <li className="dim">
          others <b>{figure(node.hiddenGpus)}</b>
        </li>
      ) : null}
    </ul>
  );
}
