// The parts of a model's lineage in words, and the one sentence that says where it came from and who serves it. Pure.
import type { LineageEdge, LineageNode, LineagePage } from "../api/wire";
import { day, duration, figure, gpuWords } from "./format";
import { imageName, repositoryName, shortDigest } from "./images";

const REVISION = 8; // characters of a commit or a digest

/** "a", "a and b", "a, b and c". */
export const together = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? "") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1) ?? ""}`;

const counted = (count: number, one: string): string => (count === 1 ? `one ${one}` : `${figure(count)} ${one}s`);

/** A version without the name of its model, which the page has above it. */
export const shortVersion = (name: string, model: string): string => (name.startsWith(`${model}-`) && name.length > model.length + 1 ? name.slice(model.length + 1) : name);

const place = (location: string): string => location.replace(/^\w+:\/\//, "").split("/").filter((part) => part !== "").slice(-2).join("/") || location;

const NO_NAME: Readonly<Record<string, string>> = { hidden: "A job that you may not see", none: "No job is stated" };

/** What a part is called. */
export function title(node: LineageNode, model: string): string {
  switch (node.kind) {
    case "code":
      return `${repositoryName(node.name) || "code"} @ ${node.revision.slice(0, REVISION) || "?"}`;
    case "data":
      return place(node.name);
    case "image":
      return imageName(node.name);
    case "parent":
      return node.model === "" ? imageName(node.name) : node.model === model ? shortVersion(node.name, model) : node.name;
    case "job":
      return node.name || (NO_NAME[node.sight] ?? "A job");
    case "version":
      return shortVersion(node.name, model);
    case "more":
      return `${figure(node.count)} more`;
    default:
      return node.name;
  }
}

/** The second line of a part. */
export function detail(node: LineageNode, page: LineagePage, model: string): string {
  switch (node.kind) {
    case "code":
      return "code";
    case "data":
      return "data";
    case "image":
      return `training image ${digest(node.name)}`;
    case "parent":
      return node.model === "" || node.model === model ? `base model ${digest(node.revision)}` : `base model, of ${node.model}`;
    case "job":
      return jobDetail(node);
    case "version":
      return node.state === "Built" ? `${digest(node.revision)}, ${node.signed ? "signed" : "not signed"}` : (BUILDS[node.state] ?? "not built");
    case "service":
      return together(page.edges.filter(({ target }) => target === node.id).map((edge) => serves({ ...edge, percent: null }, page, model))); // shares stand at the lines
    default:
      return "not shown";
  }
}

const digest = (image: string): string => shortDigest(image).slice(0, REVISION);

const BUILDS: Readonly<Record<string, string>> = { Failed: "its build failed", Building: "is being built" };

function jobDetail({ sight, state, user, gpus, started, finished }: LineageNode): string {
  if (sight === "hidden") return "the right to list it is missing";
  if (sight === "none") return "what trained it is not known";
  const took = started === null || finished === null ? "" : duration(Date.parse(finished) - Date.parse(started));
  const gone = sight === "there" ? (state === "Succeeded" ? "" : state) : "deleted";
  return [gone, gpus > 0 ? gpuWords(gpus) : "", took, user].filter((part) => part !== "").join(", ") || "job";
}

/** "v6 (75 %)", "v7 (25 %, canary)". */
function serves(edge: LineageEdge, page: LineagePage, model: string): string {
  const version = page.nodes.find(({ id }) => id === edge.source);
  const marks = [edge.percent === null ? "" : `${figure(edge.percent)} %`, edge.canary ? "canary" : ""].filter((part) => part !== "");
  return `${version === undefined ? "" : title(version, model)}${marks.length === 0 ? "" : ` (${marks.join(", ")})`}`;
}

/** What a part came from, for those who do not see lines. */
export function sources(node: LineageNode, page: LineagePage, model: string): string {
  const names = page.edges
    .filter(({ target }) => target === node.id)
    .map((edge) => (node.kind === "service" ? serves(edge, page, model) : named(edge.source, page, model)));
  return names.length === 0 ? "" : `from ${together(names)}`;
}

const named = (id: string, page: LineagePage, model: string): string => {
  const found = page.nodes.find((node) => node.id === id);
  return found === undefined ? "" : title(found, model);
};

export interface Answer {
  readonly who: string; // a service, to be read first; empty if there is none
  readonly rest: string;
}

/** The answer to "where did this come from, and who serves it". */
export function answer(page: LineagePage, model: string): Answer {
  const versions = page.nodes.filter(({ kind }) => kind === "version");
  const services = page.nodes.filter(({ kind }) => kind === "service");
  const traffic = page.edges.filter(({ target, percent }) => percent !== 0 && services.some(({ id }) => id === target));
  if (traffic.length === 0) {
    const newest = versions[0];
    const hidden = page.missing.some(({ resource }) => resource.startsWith("inferences."));
    const nobody = hidden ? "Who serves it is hidden from you." : services.length > 0 ? `${together(services.map(({ name }) => name))} names it and sends it no traffic.` : "Nobody that you may see serves it.";
    return { who: "", rest: newest === undefined ? nobody : `${nobody} Its newest version, ${title(newest, model)}, was ${origin([newest.id], page)}.` };
  }
  const serving = services.filter(({ id }) => traffic.some(({ target }) => target === id));
  const [first, ...others] = serving;
  const of = (service: LineageNode | undefined): readonly LineageEdge[] => traffic.filter(({ target }) => target === service?.id);
  const withWhat = (service: LineageNode | undefined): string => together(of(service).map((edge) => serves(edge, page, model)));
  const [other] = others; // it may run other versions, made by other people
  const too = other === undefined ? "" : others.length === 1 ? `; ${other.name} answers with ${withWhat(other)}` : `; ${figure(others.length)} other services answer with versions of it too`;
  return { who: first?.name ?? "", rest: ` answers with ${withWhat(first)}, ${origin([...new Set(of(first).map(({ source }) => source))], page)}${too}.` };
}

/** Who trained some versions, when, and from what. */
function origin(versions: readonly string[], { nodes, edges }: LineagePage): string {
  const before = (ids: readonly string[]): readonly string[] => edges.filter(({ target }) => ids.includes(target)).map(({ source }) => source);
  const jobIds = before(versions);
  const jobs = nodes.filter(({ id, kind }) => kind === "job" && jobIds.includes(id));
  const users = [...new Set(jobs.map(({ user }) => user).filter((user) => user !== ""))];
  const names = jobs.map(({ name }) => name).filter((name) => name !== "");
  const by = users.length > 0 ? together(users) : names.length > 0 ? together(names) : jobs.some(({ sight }) => sight === "hidden") ? "a job that you may not see" : "a job that is not stated";
  const ends = jobs.flatMap(({ finished }) => finished ?? []).sort();
  const days = [...new Set(ends.map(day))];
  const parts = new Set(before(jobIds));
  const count = (kind: string): number => nodes.filter((node) => parts.has(node.id) && node.kind === kind).length;
  const from = [
    [count("code"), "commit"],
    [count("data"), "data set"],
    [count("parent") + count("version"), "base model"],
  ] as const;
  const made = from.filter(([many]) => many > 0).map(([many, word]) => counted(many, word));
  return `trained by ${by}${days.length === 0 ? "" : ` on ${together(days)}`}${made.length === 0 ? "" : `, from ${together(made)}`}`;
}
