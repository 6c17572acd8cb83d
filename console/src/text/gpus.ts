// The GPUs of a node as cells. Kubernetes does not say which device a pod has, so cells are in the order of pods. Pure.
import type { NodeRow } from "../api/wire";

export interface Cell {
  readonly tone: "busy" | "others" | "free" | "closed" | "unknown";
  readonly words: string;
}

const MOST = 64; // cells; more are a figure alone

export function cells(node: NodeRow): Cell[] {
  const { total, free } = node.gpus;
  if (total > MOST) return [];
  const held: Cell[] = node.holders.flatMap(({ namespace, pod, job, gpus }) =>
    repeat(gpus, { tone: "busy", words: `${namespace}/${job || pod}` }),
  );
  const hidden = repeat(node.hiddenGpus, { tone: "others", words: "held by a pod that you may not see" });
  const known = [...held, ...hidden].slice(0, total);
  const rest = total - known.length;
  if (free === null) return [...known, ...repeat(rest, { tone: "unknown", words: "not known" })];
  const state: Cell = node.ready && !node.cordoned ? { tone: "free", words: "free" } : { tone: "closed", words: closedWords(node) };
  return [...known, ...repeat(rest, state)];
}

/** Why a node takes no pods; empty if it does. */
export function closedWords(node: { readonly ready: boolean; readonly cordoned: boolean }): string {
  return !node.ready ? "not ready" : node.cordoned ? "cordoned" : "";
}

const repeat = (times: number, cell: Cell): Cell[] => Array.from({ length: Math.max(0, times) }, () => cell);
