// What can be done with an object, and what a person loses by it. Pure.
import type { ActionRow, JobPage, Missing } from "../api/wire";
import { figure } from "./format";

export type JobWord = "suspend" | "resume" | "delete";

/** A right as people read it: "patch pytorchjobs.training.kubedl.io in nlp". */
export const rightWords = ({ verb, resource, namespace }: Missing): string =>
  `${verb} ${resource}${namespace === "" ? "" : ` in ${namespace}`}`;

/** What makes sense with a job as it is now. */
export function jobWords({ job, suspended }: JobPage): readonly JobWord[] {
  if (job.finished !== null) return ["delete"];
  return suspended ? ["resume", "delete"] : ["suspend", "delete"];
}

/** What is lost, sentence by sentence; what is not known is not counted. */
export function losses(word: JobWord, page: JobPage): readonly string[] {
  const hidden = page.missing.some(({ resource }) => resource === "pods");
  const count = page.pods.length;
  const pods = hidden ? "Its pods are" : count === 0 ? "" : count === 1 ? "Its pod is" : `Its ${figure(count)} pods are`;
  const active = page.job.finished === null;
  if (word === "suspend")
    return [
      pods === "" ? "No pods are created until somebody resumes it." : `${pods} deleted, and none are created until somebody resumes it.`,
      "What they did since the last checkpoint is lost.",
    ];
  if (word === "delete")
    return [
      pods === "" ? "The job is deleted." : `${pods} deleted with it.`,
      ...(active ? ["What it did since the last checkpoint is lost."] : []),
      "Conditions, events and logs are gone with it, except for what a history or an archive of logs has kept.",
    ];
  return [];
}

/** The right that is missing for an action; null if there is none, or if nobody has asked yet. */
export const missingFor = (rows: readonly ActionRow[] | undefined, name: string): Missing | null =>
  rows?.find((row) => row.name === name)?.missing ?? null;

const SAID: Readonly<Record<string, string>> = {
  next: "go on",
  abort: "roll back",
  weights: "change weights",
  version: "change its version",
  copy: "submit it again",
};

/** Which actions of these a person may not do, and why: a sentence for each right. */
export function missingWords(rows: readonly ActionRow[] | undefined, names: readonly string[]): readonly string[] {
  const found = new Map<string, string[]>();
  for (const name of names) {
    const missing = missingFor(rows, name);
    if (missing === null) continue;
    const right = rightWords(missing);
    found.set(right, [...(found.get(right) ?? []), name]);
  }
  return [...found].map(([right, what]) => `You may not ${listed(what.map((name) => SAID[name] ?? name))}: the right to ${right} is missing.`);
}

/** The parts of the traffic that weights give, in percent; null if nobody would get any. */
export function shares(weights: readonly number[]): readonly number[] | null {
  const total = weights.reduce((sum, one) => sum + one, 0);
  return total > 0 ? weights.map((one) => Math.round((one / total) * 1000) / 10) : null;
}

export const MOST_WEIGHT = 1_000_000;

/** A weight as it was typed; null if it is none. */
export function weightOf(text: string): number | null {
  const value = text.trim();
  return /^\d{1,7}$/.test(value) && Number(value) <= MOST_WEIGHT ? Number(value) : null;
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;
