import { expect, test } from "vitest";
import { amountOf } from "./amounts";

test("what Kubernetes measures in bytes is bytes, whatever else is counted", () => {
  expect(["memory", "ephemeral-storage", "hugepages-2Mi"].map((name) => amountOf(name, 2 ** 31))).toEqual(["2 GiB", "2 GiB", "2 GiB"]);
  expect([amountOf("cpu", 1.5), amountOf("nvidia.com/gpu", 8), amountOf("volcano.sh/vgpu-memory", 32_000)]).toEqual(["1.5", "8", "32,000"]);
});
