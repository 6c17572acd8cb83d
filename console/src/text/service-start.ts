// A service to begin with, for a version of a model. Pure.
import { isObject, type Json } from "./yaml";

export const SERVICE = "Inference";

export interface VersionPlace {
  readonly namespace: string;
  readonly model: string;
  readonly name: string;
}

/** The version that an address names, as namespace/model/version; null if it names none. */
export function versionOf(text: string): VersionPlace | null {
  const [namespace = "", model = "", name = "", ...more] = text.split("/");
  return namespace === "" || model === "" || name === "" || more.length > 0 ? null : { namespace, model, name };
}

/** One predictor that serves the version. What its server is only a person knows, so that is left to be typed. */
export const serviceOf = ({ namespace, model, name }: VersionPlace): Json => ({
  apiVersion: "serving.kubedl.io/v1alpha1",
  kind: SERVICE,
  metadata: { name: model, namespace },
  spec: {
    framework: "Custom",
    predictors: [{ name: "main", modelVersion: name, template: { spec: { containers: [{ name: "server", image: "" }] } } }],
  },
});

export const isService = (value: Json): boolean => isObject(value) && value["kind"] === SERVICE;
