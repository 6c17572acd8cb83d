// A job as a form: the fields that most jobs have, read from an object and written into it. The rest of the object stays as
// it is. Pure.
import type { KindRow } from "../api/wire";
import { isObject, type Json } from "./yaml";
import { lineOf, wordsOf } from "./words";

type Obj = { readonly [key: string]: Json };

export interface RoleForm {
  readonly name: string;
  readonly replicas: string; // empty: the job does not have this role
  readonly cpu: string;
  readonly memory: string;
  readonly gpus: string;
}

export interface JobForm {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly command: string;
  readonly queue: string;
  readonly roles: readonly RoleForm[];
}

export type Field = "name" | "namespace" | "image" | "command" | "queue";
export type RoleField = "replicas" | "cpu" | "memory" | "gpus";
const GPU = "nvidia.com/gpu";

/** What is at a path; undefined if something on the way is not an object. */
const at = (value: Json | undefined, ...path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((part, key) => (isObject(part) ? part[key] : undefined), value);

const text = (value: Json | undefined): string => (typeof value === "string" ? value : typeof value === "number" ? String(value) : "");

/** A copy with something else at a path; undefined takes it away, and objects that are empty then, too. */
function put(value: Json | undefined, path: readonly string[], set: Json | undefined): Obj {
  const before: Obj = isObject(value) ? value : {};
  const [key = "", ...rest] = path;
  const inner = rest.length === 0 ? set : put(before[key], rest, set);
  const { [key]: _, ...others } = before;
  if (inner === undefined || (rest.length > 0 && set === undefined && isObject(inner) && Object.keys(inner).length === 0)) return others;
  return key in before ? { ...before, [key]: inner } : { ...others, [key]: inner };
}

export const kindOf = (job: Json, kinds: readonly KindRow[]): KindRow | undefined => kinds.find(({ kind }) => kind === at(job, "kind"));

const rolesOf = (job: Json, { replicasField }: KindRow): Obj => {
  const found = at(job, "spec", replicasField);
  return isObject(found) ? found : {};
};

const containersOf = (role: Json | undefined): readonly Json[] => {
  const found = at(role, "template", "spec", "containers");
  return Array.isArray(found) ? (found as readonly Json[]) : [];
};

/** The place of the container that trains: the one with the kind's name, or the first. */
const mainOf = (role: Json | undefined, kind: KindRow): number => Math.max(0, containersOf(role).findIndex((one) => at(one, "name") === kind.container));

const main = (role: Json | undefined, kind: KindRow): Json | undefined => containersOf(role)[mainOf(role, kind)];

/** The value that all roles share; the first one if they differ. */
const shared = (job: Json, kind: KindRow, key: string): Json | undefined => Object.values(rolesOf(job, kind)).map((role) => at(main(role, kind), key)).find((one) => one !== undefined);

/** The fields of an object, of whatever form it is. */
export function formOf(job: Json, kind: KindRow): JobForm {
  const command = shared(job, kind, "command");
  const roles = rolesOf(job, kind);
  return {
    kind: kind.kind,
    name: text(at(job, "metadata", "name")),
    namespace: text(at(job, "metadata", "namespace")),
    image: text(shared(job, kind, "image")),
    command: Array.isArray(command) ? lineOf((command as readonly Json[]).map(text)) : "",
    queue: text(at(job, "spec", "schedulingPolicy", "queue")),
    roles: kind.roles.map(({ name }) => roleOf(name, roles[name], kind)),
  };
}

function roleOf(name: string, role: Json | undefined, kind: KindRow): RoleForm {
  const resources = at(main(role, kind), "resources");
  const amount = (key: string): string => text(at(resources, "requests", key) ?? at(resources, "limits", key));
  const replicas = role === undefined ? "" : text(at(role, "replicas")) || "1";
  return { name, replicas, cpu: amount("cpu"), memory: amount("memory"), gpus: text(at(resources, "limits", GPU)) };
}

/** A job to begin with. */
export function starter(kind: KindRow, namespace: string): Json {
  const first = kind.roles.filter(({ required }) => required);
  const chosen = first.length > 0 ? first : kind.roles.slice(0, 1);
  const roles = Object.fromEntries(chosen.map(({ name }) => [name, emptyRole(kind)]));
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: "", namespace }, spec: { [kind.replicasField]: roles } };
}

const emptyRole = (kind: KindRow): Json => ({ replicas: 1, template: { spec: { containers: [{ name: kind.container, image: "" }] } } });

/** The same job as another kind: roles of the same name, or else the template of the first. */
export function withKind(job: Json, before: KindRow | undefined, kind: KindRow): Json {
  const old = before === undefined ? {} : rolesOf(job, before);
  const [first] = Object.values(old);
  const base = starter(kind, text(at(job, "metadata", "namespace")));
  const wanted = kind.roles.filter(({ name }) => name in old || name in rolesOf(base, kind));
  const roles = wanted.map(({ name }) => {
    const role = old[name] ?? (first === undefined ? emptyRole(kind) : put(first, ["replicas"], 1));
    return [name, before === undefined ? role : changeMain(role, before, (one) => put(one, ["name"], kind.container))] as const;
  });
  const spec = before === undefined ? at(job, "spec") : at(put(job, ["spec", before.replicasField], undefined), "spec");
  const named = put(put(job, ["apiVersion"], kind.apiVersion), ["kind"], kind.kind);
  return { ...named, spec: { ...(isObject(spec) ? spec : {}), [kind.replicasField]: Object.fromEntries(roles) } };
}

function changeMain(role: Json, kind: KindRow, change: (container: Json) => Json): Json {
  const containers = containersOf(role);
  const place = mainOf(role, kind);
  const all = containers.length === 0 ? [{ name: kind.container }] : containers;
  return put(role, ["template", "spec", "containers"], all.map((one, index) => (index === place ? change(one) : one)));
}

const changeRoles = (job: Json, kind: KindRow, change: (container: Json) => Json): Json =>
  put(job, ["spec", kind.replicasField], Object.fromEntries(Object.entries(rolesOf(job, kind)).map(([name, role]) => [name, changeMain(role, kind, change)])));

/** The job with another value in a field; null if the text cannot be one. */
export function withField(job: Json, kind: KindRow, field: Field, value: string): Json | null {
  const given = value === "" ? undefined : value;
  switch (field) {
    case "name":
    case "namespace":
      return put(job, ["metadata", field], value);
    case "queue":
      return put(job, ["spec", "schedulingPolicy", "queue"], given);
    case "image":
      return changeRoles(job, kind, (one) => put(one, ["image"], value));
    case "command": {
      const words = wordsOf(value);
      return words === null ? null : changeRoles(job, kind, (one) => put(one, ["command"], words.length === 0 ? undefined : words));
    }
  }
}

/** A role as it is in the job, with all that the form does not show. */
export const roleIn = (job: Json, kind: KindRow, role: string): Json | undefined => rolesOf(job, kind)[role];

/** What was typed, as long as the job has it: a value that something else has changed since is not shown any more. */
export function stillTyped(job: Json, draft: string | undefined, set: (text: string) => Json | null): draft is string {
  if (draft === undefined) return false;
  const next = set(draft);
  return next === null || JSON.stringify(next) === JSON.stringify(job);
}

/** The job with another value for a role; null if the text cannot be one. `before` is what the role was until its replicas were emptied. */
export function withRole(job: Json, kind: KindRow, role: string, field: RoleField, value: string, before?: Json): Json | null {
  const roles = rolesOf(job, kind);
  const place = ["spec", kind.replicasField, role];
  if (field === "replicas") {
    if (value === "") return put(job, place, undefined);
    if (!/^\d{1,5}$/.test(value)) return null;
    const [first] = Object.values(roles);
    return put(job, place, put(roles[role] ?? before ?? first ?? emptyRole(kind), ["replicas"], Number(value)));
  }
  const present = roles[role];
  if (present === undefined) return null;
  if (field === "gpus" && !/^\d{0,4}$/.test(value)) return null;
  const given = value === "" ? undefined : value;
  const change = (one: Json): Json =>
    field === "gpus"
      ? put(one, ["resources", "limits", GPU], value === "0" ? undefined : given)
      : put(put(one, ["resources", "requests", field], given), ["resources", "limits", field], given);
  return put(job, place, changeMain(present, kind, change));
}

/** The field of the form that a field of the object is shown in; null if it is in none. */
export function placeOf(path: string, kind: KindRow): string | null {
  if (path === "kind" || path === "apiVersion") return "kind";
  if (path === "metadata.name" || path === "metadata.namespace") return path.slice("metadata.".length);
  if (path.startsWith("spec.schedulingPolicy.queue")) return "queue";
  const parts = path.replaceAll(/\[(\w+)\]/g, ".$1").split(".");
  const role = kind.roles.find(({ name }) => parts[0] === "spec" && parts[1] === kind.replicasField && parts[2] === name)?.name;
  if (role === undefined) return null;
  if (parts[3] === "replicas") return `${role}.replicas`;
  if (parts.includes("image")) return "image";
  if (parts.includes("command")) return "command";
  const amount = parts.includes("resources") ? (["cpu", "memory"].find((one) => parts.includes(one)) ?? (parts.includes("gpu") ? "gpus" : "")) : "";
  return amount === "" || amount === undefined ? null : `${role}.${amount}`;
}
