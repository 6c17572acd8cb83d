import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PredictorRow, ServiceRow, StepRow } from "../api/wire";
import { useActions } from "../parts/act";
import { Crumbs } from "../parts/crumbs";
import { address, PageQuery } from "../parts/page-query";
import { RolloutActions, WeightActions } from "../parts/service-actions";
import { colour, ServiceState, Shares } from "../parts/service-parts";
import { useNow } from "../session";
import { figure, moment } from "../text/format";
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
          <RolloutActions service={service} one={one} rows={actions} />
        </Rollout>
      ))}
      <section className="card">
        <header className="cardhead">
          <h2>Traffic</h2>
          <WeightActions service={service} rows={actions} />
        </header>
        <div className="inset">
          <Shares predictors={service.predictors} />
        </div>
        <div className="scrollx" tabIndex={0} role="region" aria-label="Predictors">
          <table className="stack">
            <thead>
              <tr>
                <th>Predictor</th>
                <th>Version</th>
                <th className="right">Weight</th>
                <th className="right">Gets</th>
                <th className="right">Ready</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {service.predictors.map((one, index) => (
                <tr key={one.name}>
                  <td className="title">
                    <i className={`key ${colour(index)}`} />
                    <b>{one.name}</b>
                  </td>
                  <td data-label="Version" className="wrap">
                    {one.model === "" ? (
                      one.modelVersion || "–"
                    ) : (
                      <Link to="/models/$namespace/$name" params={{ namespace: service.namespace, name: one.model }}>
                        {one.modelVersion}
                      </Link>
                    )}
                  </td>
                  <td data-label="Weight" className="right">{one.weight === null ? "equal" : figure(one.weight)}</td>
                  <td data-label="Gets" className="right">
                    <b>{one.percent === null ? "–" : `${figure(one.percent)} %`}</b>
                  </td>
                  <td data-label="Ready" className="right">
                    {one.percent === null ? "–" : `${figure(one.ready)}/${figure(one.replicas)}`}
                  </td>
                  <td data-label="State" className="message dim">
                    {one.reason === "" ? "–" : `${one.reason}: ${one.message}`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
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
