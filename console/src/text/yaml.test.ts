import { expect, test } from "vitest";
import { toYaml } from "./yaml";

test("an object is written as people write it", () => {
  const job = {
    apiVersion: "training.kubedl.io/v1alpha1",
    metadata: { name: "bert", labels: {} },
    spec: { roles: [{ name: "a", args: ["x", "--lr=0.1"] }, { name: "b" }], replicas: 2, suspend: false, none: null, empty: [] },
  };
  expect(toYaml(job)).toBe(`apiVersion: training.kubedl.io/v1alpha1
metadata:
  name: bert
  labels: {}
spec:
  roles:
    - name: a
      args:
        - x
        - "--lr=0.1"
    - name: b
  replicas: 2
  suspend: false
  none: null
  empty: []
`);
});

test("text that YAML would take for something else is quoted", () => {
  for (const text of ["", "yes", "No", "null", "1", "1e3", "0x10", "2026-11-18", "a: b", "a #b", "*a", "&a", "- a", "~", "a:", " a", "on", "{}", "|"])
    expect(toYaml({ a: text })).toBe(`a: ${JSON.stringify(text)}\n`);
  for (const text of ["hub.example/torch:2.5", "a@sha256:ab", "/data", "python", "NCCL_DEBUG"]) expect(toYaml({ a: text })).toBe(`a: ${text}\n`);
  expect(toYaml({ yes: 1, "1": 2 })).toBe(`"1": 2\n"yes": 1\n`);
});

test("a script of several lines is a block, unless a block would change it", () => {
  expect(toYaml({ a: "set -e\n\n  echo 1" })).toBe("a: |-\n  set -e\n\n    echo 1\n");
  for (const text of ["a\n", "a \nb", " a\nb", "a\nb\t", "a\n\u0007b"]) expect(toYaml({ a: text })).toBe(`a: ${JSON.stringify(text)}\n`);
});

test("lists in lists and signs of other scripts stay what they are", () => {
  expect(toYaml([[1, 2], []])).toBe("- - 1\n  - 2\n- []\n");
  expect(toYaml({ a: "\u2028\u0085" })).toBe('a: "\\u2028\\u0085"\n');
});
