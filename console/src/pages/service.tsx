import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { MetricsList, MetricsRow, PredictorRow, ServiceRow, StepRow } from "../api/wire";
import { useActions } from "../parts/act";
import { Crumbs } from "../parts/crumbs";
import { Judged, MetricsNote, NotKnown, useMetrics } from "../parts/metrics";
import { address, PageQuery } from "../parts/page-query";
import { RolloutActions, TrafficActions } from "../parts/service-actions";
import { runsOf, ServiceState, Shares } from "../parts/service-parts";
import { useNow } from "../session";
import { figure, moment } from "../text/format";
import { failed, latency, rate, rowOf } from "../text/metrics";
import { pauseWords, rolloutWords, underWay } from "../text/services";

export function Service() {
  const { namespace, name } = useParams({ from: "/services/$namespace/$name" });
  return (
    <>
      <Crumbs to="/services" title="Services" more={namespace} />
      <PageQuery<ServiceRow> topic="services" path={address("services", namespace, name)} name={name}>
        {(service) => <Content service={service} />}
      </PageQuery>
    </>
  );
}

function Content({ service }: { service: ServiceRow }) {
  const now = useNow(10_000);
  const actions = useActions(address("services", service.namespace, service.name));
  const heard = useMetrics(`${address("services", service.namespace, service.name)}/metrics`);
  const { list } = heard;
  const judged = list?.services.flatMap((one) => one.judged) ?? [];
  const rollouts = service.predictors.filter((one) => one.rollout !== null && one.rollout.phase !== "Stable");
  return (
    <>
      <div className="head">
        <h1>{service.name}</h1>
        <ServiceState row={service} />
        <span className="tag">{service.framework}</span>
        {service.endpoint === "" ? null : <code>{service.endpoint}</code>}
      </div>
      {rollouts.map((one) => (
        <Rollout key={one.name} one={one} steps={service.steps} now={now}>
          {judged.filter(({ predictor }) => predictor === one.name).map((row) => (
            <Judged key={row.version} row={row} />
          ))}
          <RolloutActions service={service} one={one} rows={actions} />
        </Rollout>
      ))}
      <section className="card">
        <header className="cardhead">
          <h2>Traffic</h2>
          <TrafficActions service={service} rows={actions} />
        </header>
        <div className="inset">
          <Shares predictors={service.predictors} />
        </div>
        <Predictors service={service} list={list} />
        <MetricsNote heard={heard} rows={list?.services.flatMap(({ rows }) => rows) ?? []} />
      </section>
    </>
  );
}

/** A row for each version that a predictor runs. */
function Predictors({ service, list }: { service: ServiceRow; list: MetricsList | undefined }) {
  return (
    <div className="scrollx" tabIndex={0} role="region" aria-label="Predictors">
      <table className="stack">
        <thead>
          <tr>
            <th>Predictor</th>
            <th>Version</th>
            <th className="right">Weight</th>
            <th className="right">Gets</th>
            <th className="right">Rate</th>
            <th className="right">p99</th>
            <th className="right">Failed</th>
            <th className="right">Ready</th>
            <th>State</th>
          </tr>
        </thead>
        <tbody>
          {runsOf(service.predictors).map(({ predictor: one, ...run }) => (
            <tr key={`${one.name} ${run.canary ? "canary" : ""}`}>
              <td className="title">
                <i className={`key ${run.colour}`} />
                <b>{one.name}</b>
                {run.canary ? <span className="tag">canary</span> : null}
              </td>
              <td data-label="Version" className="wrap">
                {run.model === "" ? (
                  run.version || "–"
                ) : (
                  <Link to="/models/$namespace/$name" params={{ namespace: service.namespace, name: run.model }} search={{ focus: `version:${run.version}` }}>
                    {run.version}
                  </Link>
                )}
              </td>
              <td data-label="Weight" className="right">{run.canary ? "by the rollout" : one.weight === null ? "equal" : figure(one.weight)}</td>
              <td data-label="Gets" className="right">
                <b>{run.percent === null ? "–" : `${figure(run.percent)} %`}</b>
              </td>
              <Measured row={rowOf(list, service.namespace, service.name, one.name, run.canary)} list={list} />
              <td data-label="Ready" className="right">
                {one.percent === null || run.canary ? "–" : `${figure(one.ready)}/${figure(one.replicas)}`}
              </td>
              <td data-label="State" className="message dim">
                {one.reason === "" || run.canary ? "–" : `${one.reason}: ${one.message}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Rate, p99 and failures of one version in the last minutes. */
function Measured({ row, list }: { row: MetricsRow | undefined; list: MetricsList | undefined }) {
  const figures = row?.figures ?? null;
  const unknown = list === undefined ? "–" : <NotKnown reason={row?.reason || list.problem || "the operator has not said what it runs"} />;
  const none = <span className="dim">–</span>; // of no requests nothing has a latency
  return (
    <>
      <td data-label="Rate" className="right">{figures === null ? unknown : rate(figures)}</td>
      <td data-label="p99" className="right">{figures === null ? unknown : (latency(figures.p99Seconds) ?? (figures.requests === 0 ? none : <NotKnown reason="the gateway has no latencies of it" />))}</td>
      <td data-label="Failed" className="right">{figures === null ? unknown : (failed(figures) ?? none)}</td>
    </>
  );
}

function Rollout({ one, steps, now, children }: { one: PredictorRow; steps: readonly StepRow[]; now: number; children: ReactNode }) {
  const { rollout } = one;
  if (rollout === null) return null;
  const active = underWay(one);
  return (
    <section className="card" aria-label={`Rollout of ${one.name}`}>
      <header className="cardhead">
        <h2>Rollout of {one.name}</h2>
        <span className={`pill ${active ? "tone-running" : "tone-fail"}`}>{rollout.phase}</span>
        <span className="dim">{rolloutWords(one, steps)}</span>
        <span className="grow" />
        <span className="dim small">
          stable is {rollout.stable || "not known"}, since {moment(rollout.since, now)}
        </span>
      </header>
      {active && steps.length > 0 ? (
        <ol className="steps">
          {steps.map(({ weight, pause }, index) => {
            const state = index < rollout.step ? "done" : index === rollout.step && rollout.phase === "Stepping" ? "now" : "next";
            return (
              <li key={index} className={state} aria-current={state === "now" ? "step" : undefined}>
                <b>{weight} %</b>
                <span className="dim small">{state === "done" ? "done" : pauseWords(pause)}</span>
              </li>
            );
          })}
        </ol>
      ) : null}
      {rollout.message === "" ? null : (
        <p className={active ? "note" : "note tone-text-fail"}>
          {rollout.reason === "" ? "" : `${rollout.reason}: `}
          {rollout.message}
        </p>
      )}
      {children}
    </section>
  );
}
