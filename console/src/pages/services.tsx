import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ServiceRow } from "../api/wire";
import { ListPage } from "../parts/list-page";
import { ServiceState, Shares } from "../parts/service-parts";
import { rolloutWords } from "../text/services";

export function Services() {
  const { q = "" } = useSearch({ from: "/services" });
  const navigate = useNavigate({ from: "/services" });
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
        <div className="scrollx" tabIndex={0} role="region" aria-label="Services">
          <table className="stack">
            <thead>
              <tr>
                <th>Service</th>
                <th>State</th>
                <th>Traffic</th>
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
                  <td data-label="Rollout" className="wrap">
                    {row.predictors.map((one) => rolloutWords(one, row.steps)).filter((words) => words !== "").join("; ") || <span className="dim">–</span>}
                  </td>
                  <td data-label="Framework" className="dim">{row.framework}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </ListPage>
  );
}
