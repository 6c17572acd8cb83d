import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { MetricsList, ServiceRow } from "../api/wire";
import { ListPage } from "../parts/list-page";
import { MetricsNote, NotKnown, useMetrics } from "../parts/metrics";
import { ServiceState, Shares } from "../parts/service-parts";
import { inShort } from "../text/metrics";
import { rolloutWords } from "../text/services";

export function Services() {
  const { q = "" } = useSearch({ from: "/services" });
  const navigate = useNavigate({ from: "/services" });
  const heard = useMetrics(`/api/v1/service-metrics?${new URLSearchParams({ q }).toString()}`);
  return (
    <ListPage<ServiceRow>
      title="Services"
      topic="services"
      q={q}
      search={(next) => void navigate({ search: next === "" ? {} : { q: next }, replace: true })}
      absent="The cluster does not have KubeDL's kind Inference."
      empty={<p>Serve a model version: kubedl serve --help shows how.</p>}
    >
      {(rows) => (
        <>
          <div className="scrollx" tabIndex={0} role="region" aria-label="Services">
            <table className="stack">
              <thead>
                <tr>
                  <th>Service</th>
                  <th>State</th>
                  <th>Traffic</th>
                  <th>Requests</th>
                  <th>Rollout</th>
                  <th>Framework</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <tr key={`${row.namespace}/${row.name}`}>
                    <td className="title wrap name">
                      <span className="dimmer">{row.namespace} / </span>
                      <Link to="/services/$namespace/$name" params={{ namespace: row.namespace, name: row.name }}>
                        {row.name}
                      </Link>
                    </td>
                    <td data-label="State" className="wrap">
                      <ServiceState row={row} />
                    </td>
                    <td data-label="Traffic">
                      <Shares predictors={row.predictors} />
                    </td>
                    <td data-label="Requests" className="wrap">
                      <Requests row={row} list={heard.list} />
                    </td>
                    <td data-label="Rollout" className="wrap">
                      {row.predictors.map((one) => rolloutWords(one, row.steps)).filter((words) => words !== "").join("; ") || <span className="dim">–</span>}
                    </td>
                    <td data-label="Framework" className="dim">{row.framework}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <MetricsNote heard={heard} />
        </>
      )}
    </ListPage>
  );
}

const MOST_RUNS = 4; // of one service; its page has all

/** What each version of a service gets. */
function Requests({ row, list }: { row: ServiceRow; list: MetricsList | undefined }) {
  const found = list?.services.find((one) => one.namespace === row.namespace && one.name === row.name)?.rows ?? [];
  if (list === undefined) return <span className="dim">–</span>;
  if (found.length === 0) return <NotKnown reason={list.problem || "it is not among the services that are measured"} />;
  return (
    <ul className="runlist">
      {found.slice(0, MOST_RUNS).map((one) => (
        <li key={`${one.predictor} ${one.version}`}>
          {found.length === 1 ? null : <span className="dim small block">{one.canary ? `${one.predictor}, canary` : one.predictor}</span>}
          {one.figures === null ? <NotKnown reason={one.reason} /> : inShort(one.figures)}
          {one.reason === "" ? null : <span className="dimmer small block">{one.reason}</span>}
        </li>
      ))}
      {found.length > MOST_RUNS ? <li className="dim small">{found.length - MOST_RUNS} more</li> : null}
    </ul>
  );
}
