import { expect, test } from "vitest";
import type { KindRow } from "../api/wire";
import { formOf, placeOf, roleIn, starter, stillTyped, withField, withKind, withRole } from "./job-form";
import { lineOf, wordsOf } from "./words";
import type { Json } from "./yaml";

const role = (name: string, required = false) => ({ name, required, atMost: null });
const TORCH: KindRow = {
  kind: "PyTorchJob",
  apiVersion: "training.kubedl.io/v1alpha1",
  replicasField: "pytorchReplicaSpecs",
  container: "pytorch",
  roles: [role("Master"), role("Worker")],
};
const FLOW: KindRow = { ...TORCH, kind: "TFJob", replicasField: "tfReplicaSpecs", container: "tensorflow", roles: [role("PS"), role("Worker")] };
const filled = (): Json => {
  let job: Json = starter(TORCH, "nlp");
  for (const [field, value] of [["name", "bert"], ["image", "hub/torch:2"], ["command", "python train.py"], ["queue", "gpus"]] as const)
    job = withField(job, TORCH, field, value) ?? job;
  for (const [one, field, value] of [["Worker", "replicas", "3"], ["Worker", "gpus", "8"], ["Master", "cpu", "4"]] as const)
    job = withRole(job, TORCH, one, field, value) ?? job;
  return job;
};

test("what was typed into the form is read from the object again", () => {
  const form = formOf(filled(), TORCH);
  expect(form).toMatchObject({ kind: "PyTorchJob", name: "bert", namespace: "nlp", image: "hub/torch:2", command: "python train.py", queue: "gpus" });
  expect(form.roles).toEqual([
    { name: "Master", replicas: "1", cpu: "4", memory: "", gpus: "" },
    { name: "Worker", replicas: "3", cpu: "", memory: "", gpus: "8" },
  ]);
});

test("what the form does not know stays as it is", () => {
  const sidecar = { name: "side", image: "hub/side:1" };
  const container = { name: "pytorch", image: "old", env: [{ name: "A", value: "1" }] };
  const job: Json = {
    kind: "PyTorchJob",
    metadata: { name: "a", labels: { team: "x" } },
    spec: { backoffLimit: 3, pytorchReplicaSpecs: { Worker: { replicas: 2, template: { spec: { containers: [sidecar, container] } } } } },
  };
  expect(withField(job, TORCH, "image", "new")).toEqual({
    ...job,
    spec: { backoffLimit: 3, pytorchReplicaSpecs: { Worker: { replicas: 2, template: { spec: { containers: [sidecar, { ...container, image: "new" }] } } } } },
  });
});

test("an empty field takes its part away, and nothing is left of it", () => {
  const job = filled();
  const without = withField(withRole(job, TORCH, "Master", "cpu", "") ?? job, TORCH, "queue", "");
  expect(JSON.stringify(without)).not.toContain("schedulingPolicy");
  expect(JSON.stringify((without as { spec: { pytorchReplicaSpecs: { Master: Json } } }).spec.pytorchReplicaSpecs.Master)).not.toContain("resources");
  expect(formOf(withRole(job, TORCH, "Worker", "replicas", "") ?? job, TORCH).roles[1]?.replicas).toBe("");
});

test("a new role has the template of the first", () => {
  const job = withRole(withField(starter(TORCH, "nlp"), TORCH, "image", "i") ?? null, TORCH, "Worker", "replicas", "2");
  expect(JSON.stringify(job)).toBe(JSON.stringify(job).replaceAll('"image":""', '"image":"i"'));
  expect(formOf(job ?? null, TORCH).roles[1]?.replicas).toBe("2");
});

test("a number of replicas that was emptied to type another one leaves the role as it was", () => {
  const job = withRole(filled(), TORCH, "Worker", "replicas", "") ?? null; // one role is left, with other resources
  const worker = roleIn(filled(), TORCH, "Worker");
  expect(formOf(withRole(job, TORCH, "Worker", "replicas", "2", worker) ?? null, TORCH).roles[1]).toMatchObject({ replicas: "2", cpu: "", gpus: "8" });
  const alone = withField(starter(TORCH, "nlp"), TORCH, "image", "i");
  const emptied = withRole(alone, TORCH, "Master", "replicas", "") ?? null;
  expect(formOf(withRole(emptied, TORCH, "Master", "replicas", "4", roleIn(alone ?? null, TORCH, "Master")) ?? null, TORCH).image).toBe("i");
});

test("what was typed is shown as long as the job has it, or while it is no value yet", () => {
  const set = (job: Json) => (text: string) => withField(job, TORCH, "image", text);
  const job = withField(starter(TORCH, "nlp"), TORCH, "image", "i") ?? null;
  expect([stillTyped(job, "i", set(job)), stillTyped(job, "old", set(job)), stillTyped(job, undefined, set(job))]).toEqual([true, false, false]);
  expect(stillTyped(job, "python 'train", (text) => withField(job, TORCH, "command", text))).toBe(true);
  const spaced = withField(job, TORCH, "command", "python  train.py ") ?? null;
  expect(stillTyped(spaced, "python  train.py ", (text) => withField(spaced, TORCH, "command", text))).toBe(true);
});

test("another kind keeps what was typed", () => {
  const form = formOf(withKind(filled(), TORCH, FLOW), FLOW);
  expect(form).toMatchObject({ kind: "TFJob", name: "bert", image: "hub/torch:2", command: "python train.py", queue: "gpus" });
  expect(form.roles.map(({ replicas }) => replicas)).toEqual(["1", "3"]);
  const text = JSON.stringify(withKind(filled(), TORCH, FLOW));
  expect(text).not.toContain("pytorch");
  expect(text).toContain('"name":"tensorflow"');
});

test("objects of any form do no harm", () => {
  for (const job of [null, 1, "x", [], {}, { metadata: [] }, { spec: { pytorchReplicaSpecs: "x" } }, { spec: { pytorchReplicaSpecs: { Worker: 1 } } }] as readonly Json[]) {
    expect(formOf(job, TORCH).kind).toBe("PyTorchJob");
    withField(job, TORCH, "image", "i");
    withRole(job, TORCH, "Worker", "replicas", "1");
    withKind(job, TORCH, FLOW);
  }
});

test("what is no number or no command is refused", () => {
  for (const text of ["-1", "x", "1.5", "100000"]) expect(withRole(filled(), TORCH, "Worker", "replicas", text)).toBeNull();
  expect(withRole(filled(), TORCH, "Worker", "gpus", "half")).toBeNull();
  expect(withField(filled(), TORCH, "command", "python 'train")).toBeNull();
});

test("a command is words, as a shell reads them", () => {
  expect(wordsOf(`sh -c "echo \\"a\\" 'b'" it\\'s ''`)).toEqual(["sh", "-c", `echo "a" 'b'`, "it's", ""]);
  for (const words of [["python", "a b.py", "--x=1"], ["sh", "-c", "echo 'a' \"b\" \\n $HOME"], [""], []]) expect(wordsOf(lineOf(words))).toEqual(words);
});

test("the API server's fields are found in the form", () => {
  const worker = "spec.pytorchReplicaSpecs.Worker";
  expect(placeOf("metadata.name", TORCH)).toBe("name");
  expect(placeOf(`${worker}.replicas`, TORCH)).toBe("Worker.replicas");
  expect(placeOf("spec.pytorchReplicaSpecs[Worker].replicas", TORCH)).toBe("Worker.replicas");
  expect(placeOf(`${worker}.template.spec.containers[0].image`, TORCH)).toBe("image");
  expect(placeOf(`${worker}.template.spec.containers[0].resources.requests.cpu`, TORCH)).toBe("Worker.cpu");
  expect(placeOf("spec.backoffLimit", TORCH)).toBeNull();
});
