import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get, jobPath } from "../api/request";
import type { ChangesPage, JobRow } from "../api/wire";
import { useNow } from "../session";
import { figure, moment } from "../text/format";
import { Skeleton } from "./skeleton";
import { Notice, Trouble } from "./trouble";

const FRESH = 60_000; // milliseconds

const LOOKED: Readonly<Record<string, string>> = {
  absent: "Deleted jobs were not looked for: the history is not installed.",
  failed: "Deleted jobs were not looked for: the history cannot be read now.",
};

/** What differs from the last run that succeeded. */
export function Changes({ job }: { job: JobRow }) {
  const path = `${jobPath(job.namespace, job.kind, job.name)}/changes`;
  const { data, error, refetch } = useQuery<ChangesPage>({
    queryKey: ["changes", path, job.uid],
    queryFn: ({ signal }) => get<ChangesPage>(path, signal),
    staleTime: FRESH,
    retry: false,
  });
  const now = useNow(60_000);
  if (data === undefined) return error === null ? <Skeleton rows={3} /> : <Trouble error={error} retry={() => void refetch()} />;
  const looked = LOOKED[data.history];
  if (data.name === "")
    return (
      <Notice icon="info" title="No run of this job that succeeded before it is known.">
        <p>A run is a job of the same kind and namespace whose name differs in the number at its end only. {looked}</p>
      </Notice>
    );
  return (
    <>
      <p className="note">
        Since <Good page={data} job={job} /> succeeded, {moment(data.finished, now)}:{" "}
        {data.rows.length === 0 ? "nothing that is compared has changed." : data.rows.length === 1 ? "one field is different." : `${figure(data.rows.length + data.more)} fields are different.`}
      </p>
      {data.rows.length === 0 ? null : (
        <div className="scrollx" tabIndex={0} role="region" aria-label="Changes">
          <table className="stack">
            <thead>
              <tr>
                <th>Field</th>
                <th>Then</th>
                <th>Now</th>
              </tr>
            </thead>
            <tbody>
              {data.rows.map(({ field, before, now: after }) => (
                <tr key={field}>
                  <td className="title wrap">
                    <code>{field}</code>
                  </td>
                  <td data-label="Then" className="wrap">{before === "" ? <span className="dim">not set</span> : <code>{before}</code>}</td>
                  <td data-label="Now" className="wrap">{after === "" ? <span className="dim">not set</span> : <code>{after}</code>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p className="note">
        {data.more > 0 ? `${figure(data.more)} more fields are different. ` : ""}
        Images, resources, replicas, code, data, queue and the like are compared. Commands, arguments and environment variables are not: they are not recorded. {looked}
      </p>
    </>
  );
}

function Good({ page, job }: { page: ChangesPage; job: JobRow }) {
  const params = { namespace: job.namespace, kind: job.kind.toLowerCase(), name: page.name };
  return page.there ? (
    <Link to="/jobs/$namespace/$kind/$name" params={params}>
      {page.name}
    </Link>
  ) : (
    <Link to="/jobs/$namespace/$kind/$name/$uid" params={{ ...params, uid: page.uid }}>
      {page.name}
    </Link>
  );
}
