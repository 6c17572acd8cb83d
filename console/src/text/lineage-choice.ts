// What is chosen in the graph of a model, as the address of its page has it. Pure.

const VERSION = "version:"; // ids of versions in the graph begin so

export interface Choice {
  readonly focus?: string; // the id of a part
  readonly v?: string; // a version that is in the graph beside the newest and those that serve
  readonly all?: boolean;
}

const some = (value: unknown): string => (typeof value === "string" ? value : "");

function choice(focus: string, v: string, all: boolean): Choice {
  return { ...(focus === "" ? {} : { focus }), ...(v === "" ? {} : { v }), ...(all ? { all } : {}) };
}

/** What an address says; whatever else is in it is ignored. */
export const choiceIn = (search: Record<string, unknown>): Choice => choice(some(search["focus"]), some(search["v"]), search["all"] === true);

/** The version that the graph has to have: one that was asked for before, or else the chosen one. */
export const wanted = ({ focus = "", v = "" }: Choice): string => v || (focus.startsWith(VERSION) ? focus.slice(VERSION.length) : "");

/** After a part of the graph is chosen. An old version stays in it, since the part may be its job or its commit. */
export const choosing = (before: Choice, focus: string): Choice => choice(focus, focus === "" ? "" : wanted(before), before.all === true);

/** After a version of the list is chosen, which may be any. */
export const choosingVersion = (before: Choice, version: string): Choice => choice(`${VERSION}${version}`, "", before.all === true);
