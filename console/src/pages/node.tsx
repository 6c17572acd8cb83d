import { Link, useParams } from "@tanstack/react-router";
import type { NodePage, NodePod } from "../api/wire";
import { GpuCells, GpuLegend } from "../parts/gpu-cells";
import { Icon } from "../parts/icon";
import { JobLink } from "../parts/job-link";
import { address, PageQuery } from "../parts/page-query";
import { Notice } from "../parts/trouble";
import { useNow } from "../session";
import { bytes, cores } from "../text/amounts";
import { figure, moment } from "../text/format";
import { Amount, Holders, NodeState } from "./nodes";

export function Node() {
  const { name } = useParams({ from: "/nodes/$name" });
  return (
    <>
      <div className="crumbs">
        <Link to="/nodes">Nodes</Link>
        <Icon name="right" small />
      </div>
      <PageQuery<NodePage> topic="nodes" path={address("nodes", name)} name={name}>
        {(page) => <Content page={page} />}
      </PageQuery>
    </>
  );
}

function Content({ page }: { page: NodePage }) {
  const now = useNow(10_000);
  const { node } = page;
  return (
    <>
      <div className="head">
        <h1>{node.name}</h1>
        <NodeState node={node} />
        {node.gpuModel === "" ? null : <span className="tag">{node.gpuModel}</span>}
      </div>
      <div className="cols">
        <section className="card amount w5" aria-label="GPUs">
          <h2>GPUs</h2>
          <GpuCells node={node} />
          <Holders node={node} />
          {node.gpus.total > 0 ? <GpuLegend /> : null}
        </section>
        <section className="card amount w2" aria-label="CPU">
          <h2>CPU requested</h2>
          <Amount share={node.cpu} words={cores} />
        </section>
        <section className="card amount w2" aria-label="Memory">
          <h2>Memory requested</h2>
          <Amount share={node.memory} words={bytes} />
        </section>
        <section className="card amount w3" aria-label="Conditions">
          <h2>Conditions</h2>
          <ul className="holders">
            {page.conditions.map(({ type, status, since }) => (
              <li key={type} className={(type === "Ready") === (status === "True") ? "" : "tone-text-fail"}>
                {type} <b>{status}</b> <span className="dim small">since {moment(since, now)}</span>
              </li>
            ))}
          </ul>
        </section>
      </div>
      <Pods page={page} now={now} />
    </>
  );
}

function Pods({ page, now }: { page: NodePage; now: number }) {
  return (
    <section className="card">
      <header className="cardhead">
        <h2>Pods</h2>
        <span className="tag">{figure(page.node.pods)}</span>
      </header>
      {page.pods.length === 0 ? (
        <Notice icon={page.hiddenPods > 0 ? "lock" : "info"} title={page.hiddenPods > 0 ? "The pods of this node are hidden from you." : "No pod is on this node."}>
          {page.hiddenPods > 0 ? <p>The right to list pods is missing in their namespaces; the role view has it.</p> : null}
        </Notice>
      ) : (
        <div className="scrollx" tabIndex={0} role="region" aria-label="Pods">
          <table className="stack">
            <thead>
              <tr>
                <th>Pod</th>
                <th>Phase</th>
                <th>Job</th>
                <th className="right">GPUs</th>
                <th className="right">CPU</th>
                <th className="right">Memory</th>
                <th className="right">Created</th>
              </tr>
            </thead>
            <tbody>
              {page.pods.map((pod) => (
                <tr key={`${pod.namespace}/${pod.name}`}>
                  <td className="title cut name" title={pod.name}>
                    <span className="dimmer">{pod.namespace} / </span>
                    {pod.name}
                  </td>
                  <td data-label="Phase">{pod.phase}</td>
                  <td data-label="Job" className="cut name">
                    <Owner pod={pod} />
                  </td>
                  <td data-label="GPUs" className="right">{pod.gpus === 0 ? "–" : figure(pod.gpus)}</td>
                  <td data-label="CPU" className="right">{pod.cpuMillis === 0 ? "–" : cores(pod.cpuMillis)}</td>
                  <td data-label="Memory" className="right">{pod.memoryBytes === 0 ? "–" : bytes(pod.memoryBytes)}</td>
                  <td data-label="Created" className="right dim">{moment(pod.created, now)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <footer className="tablefoot">
        {page.morePods > 0 ? <span>The {figure(page.pods.length)} largest; {figure(page.morePods)} more are not listed.</span> : null}
        {page.hiddenPods > 0 && page.pods.length > 0 ? <span>Hidden from you: {figure(page.hiddenPods)}.</span> : null}
        {page.onlyNamespace !== "" ? <span>Only pods of {page.onlyNamespace} are known.</span> : null}
      </footer>
    </section>
  );
}

function Owner({ pod }: { pod: NodePod }) {
  return pod.kind === "" ? <span className="dim">–</span> : <JobLink row={{ namespace: pod.namespace, kind: pod.kind, name: pod.job }} />;
}
