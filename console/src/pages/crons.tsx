import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { CronRow } from "../api/wire";
import { CronState, Runs } from "../parts/cron-parts";
import { ListPage } from "../parts/list-page";
import { useNow } from "../session";
import { moment } from "../text/format";

export function Crons() {
  const { q = "" } = useSearch({ from: "/crons" });
  const navigate = useNavigate({ from: "/crons" });
  const now = useNow(10_000);
  return (
    <ListPage<CronRow>
      title="Crons"
      topic="crons"
      q={q}
      search={(next) => void navigate({ search: next === "" ? {} : { q: next }, replace: true })}
      absent="The cluster does not have KubeDL's kind Cron."
      empty={<p>A Cron creates a job at the times of a schedule.</p>}
    >
      {(rows) => (
        <div className="scrollx" tabIndex={0} role="region" aria-label="Crons">
          <table className="stack">
            <thead>
              <tr>
                <th>Cron</th>
                <th>Schedule</th>
                <th>State</th>
                <th>Last runs, newest on the right</th>
                <th className="right">Last</th>
                <th className="right">Next</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.namespace}/${row.name}`}>
                  <td className="title wrap name">
                    <span className="dimmer">{row.namespace} / </span>
                    <Link to="/crons/$namespace/$name" params={{ namespace: row.namespace, name: row.name }}>
                      {row.name}
                    </Link>
                    <span className="dim small block">{row.kind}</span>
                  </td>
                  <td data-label="Schedule">
                    <code>{row.schedule}</code>
                    <span className="dim small block">{row.timeZone}</span>
                  </td>
                  <td data-label="State" className="wrap">
                    <CronState row={row} />
                  </td>
                  <td data-label="Last runs">
                    <Runs runs={row.runs} />
                  </td>
                  <td data-label="Last" className="right dim">{moment(row.last, now)}</td>
                  <td data-label="Next" className="right">{moment(row.next, now)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </ListPage>
  );
}
