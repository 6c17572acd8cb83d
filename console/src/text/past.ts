// The filter line of jobs, as a question to the history. Pure.
import { type Field, FIELDS } from "./filter";

export type PastQuestion = { readonly parameters: Readonly<Record<string, string>> } | { readonly problem: string };

/**
 * The history is asked for one value of each field and one text: it has too many rows to look at each of them.
 * What it cannot be asked is said, never left out.
 */
export function pastQuestion(line: string): PastQuestion {
  const parameters: Record<string, string> = {};
  for (const part of line.split(/\s+/).filter((one) => one !== "")) {
    const colon = part.indexOf(":");
    const field: Field | undefined = FIELDS.find((known) => known === part.slice(0, colon).toLowerCase());
    const name = colon > 0 && field !== undefined ? field : "q";
    const value = name === "q" ? part : part.slice(colon + 1).replace(/,+$/, "");
    if (value === "") continue;
    const named = name === "q" ? "text" : `${name}:`;
    if (name !== "q" && value.includes(",")) return { problem: `The history is searched for one value of ${named} at a time.` };
    if (name in parameters) return { problem: `The history is searched for one ${name === "q" ? named : `value of ${named}`} at a time.` };
    parameters[name] = value;
  }
  return { parameters };
}
