import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ModelRow } from "../api/wire";
import { ListPage } from "../parts/list-page";
import { useNow } from "../session";
import { figure, moment } from "../text/format";
import { choosingVersion } from "../text/lineage-choice";

export function Models() {
  const { q = "" } = useSearch({ from: "/models" });
  const navigate = useNavigate({ from: "/models" });
  const now = useNow(10_000);
  return (
    <ListPage<ModelRow>
      title="Models"
      topic="models"
      q={q}
      search={(next) => void navigate({ search: next === "" ? {} : { q: next }, replace: true })}
      absent="The cluster does not have KubeDL's kinds Model and ModelVersion."
      hint="Name, or digest of a version"
      empty={<p>A job with spec.modelVersion leaves one when it succeeds.</p>}
    >
      {(rows) => (
        <div className="scrollx" tabIndex={0} role="region" aria-label="Models">
          <table className="stack">
            <thead>
              <tr>
                <th>Model</th>
                <th>Newest version</th>
                <th className="right">Versions</th>
                <th>Served by</th>
                <th className="right">Created</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.namespace}/${row.name}`}>
                  <td className="title wrap name">
                    <span className="dimmer">{row.namespace} / </span>
                    <Link
                      to="/models/$namespace/$name"
                      params={{ namespace: row.namespace, name: row.name }}
                      search={row.found === "" ? {} : choosingVersion({}, row.found)}
                    >
                      {row.name}
                    </Link>
                    {row.found === "" ? null : <span className="dim small block">{row.found} has this digest</span>}
                    {row.description === "" ? null : <span className="dim small block">{row.description}</span>}
                  </td>
                  <td data-label="Newest version">{row.latest || "–"}</td>
                  <td data-label="Versions" className="right">{figure(row.versions)}</td>
                  <td data-label="Served by">
                    {row.servedBy.length === 0
                      ? "–"
                      : row.servedBy.map((name, index) => (
                          <span key={name}>
                            {index > 0 ? ", " : ""}
                            <Link to="/services/$namespace/$name" params={{ namespace: row.namespace, name }}>
                              {name}
                            </Link>
                          </span>
                        ))}
                  </td>
                  <td data-label="Created" className="right dim">{moment(row.created, now)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </ListPage>
  );
}
