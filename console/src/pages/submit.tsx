import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { get, post, RequestError } from "../api/request";
import type { Done, FieldProblem, KindList, KindRow, Manifest } from "../api/wire";
import { Refused, useDoing } from "../parts/act";
import { Crumbs } from "../parts/crumbs";
import { Icon } from "../parts/icon";
import { FormOfJob } from "../parts/job-form";
import { address } from "../parts/page-query";
import { Skeleton } from "../parts/skeleton";
import { TextEditor } from "../parts/text-editor";
import { Notice, Trouble } from "../parts/trouble";
import { appeared } from "../session";
import { kindOf, placeOf, starter } from "../text/job-form";
import { isService, SERVICE, serviceOf, versionOf } from "../text/service-start";
import { type Json, toYaml } from "../text/yaml";

const AGAIN = 3000; // milliseconds until it is read again after nobody answered
const PAUSE = 400; // milliseconds after the last key until a text is read
const FIRST = "PyTorchJob";

/** A job to begin with: a copy of one that exists, or an empty one of a kind; or a service for a version of a model. */
export function Submit() {
  const { from, kind, serve } = useSearch({ from: "/submit" });
  const version = serve === undefined ? null : versionOf(serve);
  const kinds = useQuery({ queryKey: ["kinds"], queryFn: ({ signal }) => get<KindList>("/api/v1/submit/kinds", signal) });
  const copy = useQuery({
    queryKey: ["copy", from],
    queryFn: ({ signal }) => get<Manifest>(`${address("jobs", ...(from ?? "").split("/"))}/copy`, signal),
    enabled: from !== undefined,
    gcTime: 0, // the next copy has another name
  });
  const error = kinds.error ?? copy.error;
  const rows = kinds.data?.rows;
  const ready = rows !== undefined && (from === undefined || copy.data !== undefined);
  const chosen = rows?.find((one) => one.kind === kind) ?? rows?.find((one) => one.kind === FIRST) ?? rows?.[0];
  return (
    <>
      {version === null ? (
        <Crumbs to="/jobs" title="Jobs" more={from === undefined ? "" : `again: ${from}`} />
      ) : (
        <Crumbs to="/models" title="Models" more={version.namespace} />
      )}
      <div className="head">
        <h1>{version === null ? "Submit a job" : `Serve ${version.name}`}</h1>
      </div>
      {error !== null && !ready ? (
        <div className="card" role="alert">
          <Trouble error={error} retry={() => void (kinds.error === null ? copy.refetch() : kinds.refetch())} />
        </div>
      ) : !ready || chosen === undefined ? ( // what is typed stays, whatever is asked again meanwhile
        <div className="card">{rows?.length === 0 ? <Notice icon="info" title="There are no kinds of jobs." /> : <Skeleton />}</div>
      ) : (
        <Content
          key={`${from ?? ""} ${serve ?? ""}`}
          kinds={rows}
          first={version !== null ? serviceOf(version) : copy.data === undefined ? starter(chosen, "") : (JSON.parse(copy.data.json) as Json)}
        />
      )}
    </>
  );
}

function Content({ kinds, first }: { kinds: readonly KindRow[]; first: Json }) {
  const [job, setJob] = useState(first);
  const [text, setText] = useState(() => toYaml(first));
  const [drafts, setDrafts] = useState<Readonly<Record<string, string>>>({});
  const [reading, setReading] = useState<Error | null>(null); // why the text is no object
  const [unread, setUnread] = useState(false);
  const [tries, setTries] = useState(0); // to read it, since somebody answered
  const [fitting, setFitting] = useState(""); // the text of which the API server has said so
  const { busy, error, run, reset } = useDoing();
  const navigate = useNavigate();
  const typed = useRef(0);
  const kind = kindOf(job, kinds);
  const service = isService(job);

  const fromForm = (next: Json | null, typing: Readonly<Record<string, string>>): void => {
    reset();
    setDrafts(typing);
    if (next === null) return;
    setJob(next);
    setText(toYaml(next));
  };
  const fromText = (next: string): void => {
    reset();
    setDrafts({});
    setText(next);
    setUnread(true);
    setTries(0);
    typed.current += 1;
  };

  useEffect(() => {
    if (!unread) return;
    const asked = typed.current;
    const timer = setTimeout(() => {
      post<Manifest>("/api/v1/submit/read", { text })
        .then(({ json }) => {
          if (asked !== typed.current) return;
          setJob(JSON.parse(json) as Json);
          setReading(null);
          setUnread(false);
          setTries(0);
        })
        .catch((failure: unknown) => {
          if (asked !== typed.current) return;
          const answered = saysWhatIsWrong(failure);
          setReading(answered ? failure : null);
          setTries(answered ? 0 : tries + 1);
        });
    }, tries === 0 ? PAUSE : AGAIN);
    return () => clearTimeout(timer);
  }, [text, unread, tries]);

  const check = async (): Promise<void> => {
    await post<Done>("/api/v1/submit/check", { text });
    setFitting(text);
  };
  const submit = async (): Promise<void> => {
    const { namespace, kind: made, name } = await post<Done>("/api/v1/submit", { text });
    if (made === SERVICE) {
      await navigate({ to: "/services" }); // a list that is live: the service comes when the console has heard of it
      return;
    }
    await appeared(namespace, made, name);
    await navigate({ to: "/jobs/$namespace/$kind/$name", params: { namespace, kind: made.toLowerCase(), name } });
  };
  const problems = fieldsOf(error ?? reading);
  const wrong = problems.flatMap(({ field }) => (/^line \d+$/.test(field) ? [Number(field.slice("line ".length))] : []));
  const elsewhere = problems.filter(({ field }) => kind === undefined || placeOf(field, kind) === null);
  return (
    <>
      <div className="cols">
        <section className="card w5" aria-label="Form">
          <header className="cardhead">
            <h2>Form</h2>
            {unread ? <span className="dim small">{reading === null ? "reads the YAML" : "correct the YAML to go on here"}</span> : null}
          </header>
          {kind === undefined ? (
            <Notice icon="info" title={service ? "A service is written as YAML." : "The form does not know this kind."}>
              <p>{service ? "Each predictor has a version, an image of a server and a weight." : "Its YAML can be checked and submitted all the same, if it is a kind of jobs."}</p>
            </Notice>
          ) : (
            <FormOfJob job={job} kind={kind} kinds={kinds} drafts={drafts} problems={problems} disabled={unread} change={fromForm} />
          )}
        </section>
        <section className="card w7" aria-label="YAML">
          <header className="cardhead">
            <h2>YAML</h2>
            <span className="dim small">{service ? "of the service" : "of the same job; what the form has no field for is typed here"}</span>
          </header>
          <TextEditor label={service ? "YAML of the service" : "YAML of the job"} value={text} wrong={wrong} change={fromText} />
        </section>
      </div>
      <Refused error={error ?? reading} />
      {elsewhere.length > 0 ? (
        <ul className="card losses elsewhere">
          {elsewhere.map(({ field, message }) => (
            <li key={`${field} ${message}`}>
              <code>{field}</code> {message}
            </li>
          ))}
        </ul>
      ) : null}
      {fitting === text ? (
        <p className="pill tone-ok fits" role="status">
          <Icon name="ok" small />
          The API server would take it. Nothing was created.
        </p>
      ) : null}
      <div className="actions">
        <button className="button" aria-disabled={busy} onClick={busy ? undefined : () => void run(check)}>
          Check
        </button>
        <button className="button primary" aria-disabled={busy} onClick={busy ? undefined : () => void run(submit)}>
          Submit
        </button>
        <span className="dim small">Both with your own rights. A check creates nothing.</span>
      </div>
    </>
  );
}

/** Whether an answer is about the text, and not that it could not be read now. */
const saysWhatIsWrong = (failure: unknown): failure is RequestError => failure instanceof RequestError && [413, 422].includes(failure.status);

const fieldsOf = (error: Error | null): readonly FieldProblem[] => (error instanceof RequestError ? error.problem.fields : []);
