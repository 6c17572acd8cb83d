import { expect, test } from "vitest";
import type { NodeRow, Share } from "../api/wire";
import { cells } from "./gpus";

const share = (total: number, free: number | null): Share => ({ total, requested: free === null ? null : total - free, free, closed: 0 });
const node = (more: Partial<NodeRow>): NodeRow => ({
  name: "a", ready: true, cordoned: false, gpuModel: "", cpu: share(8, 8), memory: share(8, 8), gpus: share(4, 1), pods: 1,
  holders: [{ namespace: "nlp", pod: "p", kind: "", job: "", gpus: 2 }], hiddenGpus: 1, ...more,
});
const tones = (one: NodeRow): string => cells(one).map(({ tone }) => tone).join(" ");

test("every GPU is a cell: held, held by others, free", () => {
  expect(tones(node({}))).toBe("busy busy others free");
});

test("what is left on a node that takes no pods is not free", () => {
  expect(tones(node({ cordoned: true }))).toBe("busy busy others closed");
  expect(tones(node({ ready: false }))).toBe("busy busy others closed");
});

test("what is not known is not drawn as free", () => {
  expect(tones(node({ gpus: share(4, null) }))).toBe("busy busy others unknown");
});

test("more holders than GPUs do not make more cells, and very many GPUs none", () => {
  expect(cells(node({ gpus: share(1, 0) }))).toHaveLength(1);
  expect(cells(node({ gpus: share(500, 0) }))).toHaveLength(0);
});
