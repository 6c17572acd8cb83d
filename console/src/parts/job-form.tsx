import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { get } from "../api/request";
import type { FieldProblem, KindRow, QueueList } from "../api/wire";
import { useRows } from "../session";
import { type Field, formOf, placeOf, roleIn, type RoleField, stillTyped, withField, withKind, withRole } from "../text/job-form";
import type { Json } from "../text/yaml";

interface Props {
  readonly job: Json;
  readonly kind: KindRow;
  readonly kinds: readonly KindRow[];
  readonly drafts: Readonly<Record<string, string>>; // what is being typed, by field
  readonly problems: readonly FieldProblem[];
  readonly disabled: boolean;
  readonly change: (job: Json | null, drafts: Readonly<Record<string, string>>) => void; // null: it cannot be a value
}

const AMOUNTS: readonly { readonly id: RoleField; readonly title: string; readonly hint: string }[] = [
  { id: "replicas", title: "Replicas", hint: "none" },
  { id: "gpus", title: "GPUs each", hint: "0" },
  { id: "cpu", title: "CPU each", hint: "4 or 500m" },
  { id: "memory", title: "Memory each", hint: "16Gi" },
];
const WRONG: Readonly<Record<string, string>> = { replicas: "A whole number, or nothing", gpus: "A whole number", command: "A quote is not closed" };

/** The fields that most jobs have. What was said about one stands beside it. */
export function FormOfJob({ job, kind, kinds, drafts, problems, disabled, change }: Props) {
  const form = formOf(job, kind);
  const rows = useRows();
  const namespaces = [...new Set(rows.map(({ namespace }) => namespace))].sort();
  const { data: queues } = useQuery({ queryKey: ["queues", "/api/v1/queues"], queryFn: ({ signal }) => get<QueueList>("/api/v1/queues", signal) });
  const names = (queues?.localQueues ?? []).filter(({ namespace }) => namespace === form.namespace).map(({ name }) => name);
  const said = (id: string): readonly string[] => problems.filter(({ field }) => placeOf(field, kind) === id).map(({ message }) => message);

  const input = (id: string, title: string, value: string, set: (text: string) => Json | null, more: { hint?: string; list?: string; off?: boolean } = {}): ReactNode => {
    const typed = drafts[id];
    const draft = !more.off && stillTyped(job, typed, set) ? typed : undefined;
    const wrong = draft !== undefined && set(draft) === null ? [WRONG[id.split(".").at(-1) ?? ""] ?? "Not a value"] : said(id);
    return (
      <div className="formfield">
        <label htmlFor={`field-${id}`}>{title}</label>
        <input
          id={`field-${id}`}
          className="input"
          value={draft ?? value}
          placeholder={more.hint}
          list={more.list}
          maxLength={4096}
          spellCheck={false}
          autoCapitalize="off"
          disabled={disabled || more.off}
          aria-invalid={wrong.length > 0}
          aria-describedby={wrong.length > 0 ? `wrong-${id}` : undefined}
          onChange={({ target }) => change(set(target.value), { ...drafts, [id]: target.value })}
        />
        {wrong.length > 0 ? (
          <span className="small tone-text-fail" id={`wrong-${id}`}>
            {wrong.join("; ")}
          </span>
        ) : null}
      </div>
    );
  };
  const field = (id: Field, title: string, hint: string, list?: string): ReactNode => {
    const several = form[id].includes("\n"); // a field of one line would join them
    const more = several ? { hint: "several lines, in the YAML", off: true } : { hint, ...(list === undefined ? {} : { list }) };
    return input(id, title, several ? "" : form[id], (text) => withField(job, kind, id, text), more);
  };
  const last = useRef(new Map<string, Json>()); // each role as it was when the job last had it
  useEffect(() => {
    for (const { name } of kind.roles) {
      const role = roleIn(job, kind, name);
      if (role !== undefined) last.current.set(name, role);
    }
  }, [job, kind]);
  // A number of replicas that is typed anew may be empty in between: that takes away nothing of the role.
  const roleField = (role: string, id: RoleField, text: string): Json | null =>
    withRole(job, kind, role, id, text, drafts[`${role}.replicas`] === "" ? last.current.get(role) : undefined);

  return (
    <div className="jobform">
      <div className="formfield">
        <label htmlFor="field-kind">Kind</label>
        <select
          id="field-kind"
          className="input"
          value={kind.kind}
          disabled={disabled}
          onChange={({ target }) => {
            const next = kinds.find((one) => one.kind === target.value);
            if (next !== undefined) change(withKind(job, kind, next), {});
          }}
        >
          {kinds.map((one) => (
            <option key={one.kind}>{one.kind}</option>
          ))}
        </select>
        {said("kind").map((words) => (
          <span key={words} className="small tone-text-fail">
            {words}
          </span>
        ))}
      </div>
      {field("name", "Name", "bert-large")}
      {field("namespace", "Namespace", "nlp", "known-namespaces")}
      {field("queue", "Queue", names.length === 0 ? "none" : (names[0] ?? ""), "known-queues")}
      <div className="wide">{field("image", "Image", "registry/image:tag")}</div>
      <div className="wide">{field("command", "Command", "as in the image")}</div>
      {form.roles.map((role) => (
        <fieldset key={role.name} className="wide roleform" aria-label={role.name}>
          <legend>{role.name}</legend>
          {AMOUNTS.map(({ id, title, hint }) => (
            <div key={id}>
              {input(`${role.name}.${id}`, title, role[id], (text) => roleField(role.name, id, text), { hint, off: id !== "replicas" && role.replicas === "" })}
            </div>
          ))}
        </fieldset>
      ))}
      <datalist id="known-namespaces">
        {namespaces.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id="known-queues">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  );
}
