import { expect, test } from "vitest";
import { pastQuestion } from "./past";

test("fields and one text are asked for", () => {
  expect(pastQuestion("ns:nlp  state:failed kind:pytorch user:ada queue:gpus bert")).toEqual({
    parameters: { ns: "nlp", state: "failed", kind: "pytorch", user: "ada", queue: "gpus", q: "bert" },
  });
  expect(pastQuestion("")).toEqual({ parameters: {} });
});

test("a field that is not typed to its end does not filter", () => {
  expect(pastQuestion("ns: state:failed,")).toEqual({ parameters: { state: "failed" } });
});

test("an unknown field is text", () => {
  expect(pastQuestion("colour:red")).toEqual({ parameters: { q: "colour:red" } });
});

test("what cannot be asked is said", () => {
  expect(pastQuestion("state:failed,lost")).toEqual({ problem: "The history is searched for one value of state: at a time." });
  expect(pastQuestion("ns:a ns:b")).toEqual({ problem: "The history is searched for one value of ns: at a time." });
  expect(pastQuestion("two words")).toEqual({ problem: "The history is searched for one text at a time." });
});
