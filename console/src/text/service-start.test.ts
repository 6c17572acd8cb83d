import { expect, test } from "vitest";
import { isService, serviceOf, versionOf } from "./service-start";

test("a service begins with the version that the address names", () => {
  const place = versionOf("nlp/chat/chat-v2");
  expect(place).toEqual({ namespace: "nlp", model: "chat", name: "chat-v2" });
  if (place === null) return;
  const service = serviceOf(place);
  expect(isService(service)).toBe(true);
  expect(service).toMatchObject({ metadata: { namespace: "nlp" }, spec: { predictors: [{ modelVersion: "chat-v2" }] } });
});

test("an address that names no version begins no service", () => {
  for (const text of ["", "nlp", "nlp/chat", "nlp//v2", "nlp/chat/v2/x"]) expect(versionOf(text)).toBeNull();
  expect(isService(null)).toBe(false);
  expect(isService({ kind: "PyTorchJob" })).toBe(false);
});
