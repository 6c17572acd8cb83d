import { useParams } from "@tanstack/react-router";
import type { CronRow } from "../api/wire";
import { CronActions } from "../parts/cron-actions";
import { CronState, Runs, runTone } from "../parts/cron-parts";
import { Crumbs } from "../parts/crumbs";
import { JobLink } from "../parts/job-link";
import { address, PageQuery } from "../parts/page-query";
import { Notice } from "../parts/trouble";
import { useNow } from "../session";
import { duration, moment } from "../text/format";

const POLICIES: Readonly<Record<string, string>> = {
  Allow: "runs may overlap",
  Forbid: "a run waits for the one before it",
  Replace: "a run replaces the one before it",
};

export function Cron() {
  const { namespace, name } = useParams({ from: "/crons/$namespace/$name" });
  return (
    <>
      <Crumbs to="/crons" title="Crons" more={namespace} />
      <PageQuery<CronRow> topic="crons" path={address("crons", namespace, name)} name={name}>
        {(cron) => <Content cron={cron} />}
      </PageQuery>
    </>
  );
}

function Content({ cron }: { cron: CronRow }) {
  const now = useNow(10_000);
  const facts = [
    { title: "Next", value: moment(cron.next, now) },
    { title: "Last", value: moment(cron.last, now) },
    { title: "Schedule", value: <code>{cron.schedule}</code> },
    { title: "Time zone", value: cron.timeZone },
    { title: "Creates", value: cron.kind },
    { title: "Overlap", value: POLICIES[cron.policy] ?? cron.policy },
  ];
  return (
    <>
      <div className="head">
        <h1>{cron.name}</h1>
        <CronState row={cron} />
      </div>
      <CronActions cron={cron} />
      <dl className="card facts">
        {facts.map(({ title, value }) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <section className="card">
        <header className="cardhead">
          <h2>Last runs</h2>
          <Runs runs={cron.runs} />
        </header>
        {cron.runs.length === 0 ? (
          <Notice icon="info" title="It has not run yet." />
        ) : (
          <div className="scrollx" tabIndex={0} role="region" aria-label="Last runs">
            <table className="stack">
              <thead>
                <tr>
                  <th>Job</th>
                  <th>Outcome</th>
                  <th className="right">Created</th>
                  <th className="right">Took</th>
                </tr>
              </thead>
              <tbody>
                {cron.runs.map((run) => (
                  <tr key={`${run.kind}/${run.name}`}>
                    <td className="title wrap name">
                      {run.there ? <JobLink row={{ namespace: cron.namespace, kind: run.kind, name: run.name }} /> : run.name}
                    </td>
                    <td data-label="Outcome" className={`tone-text-${runTone(run.status)}`}>{run.status}</td>
                    <td data-label="Created" className="right dim">{moment(run.created, now)}</td>
                    <td data-label="Took" className="right dim">
                      {run.created === null || run.finished === null ? "–" : duration(Date.parse(run.finished) - Date.parse(run.created))}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <footer className="tablefoot">
          <span>At most the last 30 runs. A name without a link is a job that was deleted, or that you may not see.</span>
        </footer>
      </section>
    </>
  );
}
