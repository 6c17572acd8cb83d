"""Inference: serves models over HTTP. Each predictor serves one model version and gets a weighted share of the traffic.

The objects of a predictor are named `{inference}-{predictor}`; those of its canary have the suffix `-next`.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api.conditions import Conditions
from kubedl.api.inference_rollout import Rollout, RolloutStatus, Strategy
from kubedl.api.inference_scaling import MAX_REPLICAS, AutoScale, Batching
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.pod_template import POD_TEMPLATE
from kubedl.schema.structural import Rule, list_map

GROUP = "serving.kubedl.io"
VERSION = "v1alpha1"
MODEL_PATH = "/kubedl-model"
FULL_WEIGHT = 100
LONGEST_TIMEOUT = 86_400  # seconds; durations of the Gateway API have at most five digits
MOST_PREDICTORS = 8  # an HTTPRoute rule has at most 16 backends, and every predictor may have a canary
NEXT = "-next"
LONGEST_NAME = 63 - len(NEXT)

_LABEL = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
_PATH = r"^(/[A-Za-z0-9._-]+)+/?$"
NO_NAME = (
    "the name of an Inference is part of its URL: lower-case letters, digits and '-', beginning with a letter and "
    "ending with a letter or digit"
)
NO_PREDICTOR_NAME = "lower-case letters, digits and '-', ending with a letter or digit"

Framework = Literal["TFServing", "Triton", "MLServer", "vLLM", "Custom"]
Loader = Literal["Auto", "ImageVolume", "InitCopy"]


class Predictor(Record, frozen=True):
    """One model version and the model servers that serve it."""

    name: Annotated[
        str,
        Meta(
            min_length=1, max_length=LONGEST_NAME, description="The name of the predictor, unique within the Inference."
        ),
    ]
    template: Annotated[
        RawObject,
        Meta(description="The pod template of each replica (a PodTemplateSpec).", extra_json_schema=POD_TEMPLATE),
    ]
    model_version: Annotated[
        str,
        Meta(
            max_length=253,
            description="The ModelVersion to serve. Leave it out if the container image includes the model.",
        ),
    ] = ""
    model_path: Annotated[
        str,
        Meta(
            min_length=2,
            max_length=4096,
            description="The directory where the containers find the model. Defaults to /kubedl-model.",
        ),
    ] = MODEL_PATH
    replicas: Annotated[
        int, Meta(ge=0, le=MAX_REPLICAS, description="The number of replicas, unless autoScale is set. Defaults to 1.")
    ] = 1
    traffic_weight: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=FULL_WEIGHT,
                description="The traffic weight, relative to the weights of the other predictors. Defaults to 100. A "
                "predictor that is not ready gets no traffic.",
            ),
        ]
        | None
    ) = None
    auto_scale: AutoScale | None = None
    batching: Batching | None = None
    strategy: Strategy | None = None
    loader: Annotated[
        Loader,
        Meta(
            description="How the model gets into the pod. ImageVolume mounts the model image; InitCopy copies the "
            "model from the registry in an init container; Auto, the default, uses ImageVolume if the cluster "
            "supports it and InitCopy otherwise."
        ),
    ] = "Auto"

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(r"self.name.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", NO_PREDICTOR_NAME, ".name"),
        Rule(f"!self.name.endsWith('{NEXT}')", f"the suffix {NEXT} is reserved for canaries", ".name"),
        Rule(
            f"self.modelPath.matches(r'{_PATH}') && !self.modelPath.matches(r'(^|/)[.][.]?(/|$)')",
            "an absolute path of letters, digits, '.', '_' and '-', other than /",
            ".modelPath",
        ),
    )

    @property
    def weight(self) -> int:
        """The desired traffic weight."""
        return FULL_WEIGHT if self.traffic_weight is None else self.traffic_weight


class Gateway(Record, frozen=True):
    """The Gateway (Gateway API) that receives the traffic."""

    name: Annotated[str, Meta(min_length=1, max_length=253, description="The name of the Gateway.")]
    namespace: Annotated[
        str,
        Meta(max_length=63, description="The namespace of the Gateway. Defaults to the namespace of the Inference."),
    ] = ""
    section_name: Annotated[
        str,
        Meta(
            max_length=253,
            description="The listener of the Gateway. Defaults to every listener that accepts the host name.",
        ),
    ] = ""


class Timeouts(Record, frozen=True):
    """Timeouts of the gateway. An unset timeout keeps the default of the gateway."""

    request_seconds: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=LONGEST_TIMEOUT,
                description="Seconds until the whole response is sent to the client. 0 disables the timeout, which "
                "long responses of language models need.",
            ),
        ]
        | None
    ) = None
    backend_request_seconds: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=LONGEST_TIMEOUT,
                description="Seconds until one backend has responded, if the gateway retries another backend. 0 "
                "disables the timeout.",
            ),
        ]
        | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.requestSeconds) || self.requestSeconds == 0 || !has(self.backendRequestSeconds) || "
            "self.backendRequestSeconds > 0 && self.backendRequestSeconds <= self.requestSeconds",
            "must not exceed requestSeconds, which includes it",
            ".backendRequestSeconds",
        ),
    )


class InferenceSpec(Record, frozen=True):
    """The desired state of an Inference."""

    framework: Annotated[Framework, Meta(description="The model server that the predictors run.")]
    predictors: Annotated[
        tuple[Predictor, ...],
        Meta(
            min_length=1,
            max_length=MOST_PREDICTORS,
            description="The predictors, which share the traffic by weight.",
            extra_json_schema=list_map("name"),
        ),
    ]
    gateway: (
        Annotated[
            Gateway,
            Meta(description="The Gateway that receives the traffic. Defaults to the operator's flag --gateway."),
        ]
        | None
    ) = None
    timeouts: (
        Annotated[
            Timeouts,
            Meta(
                description="Timeouts of the HTTPRoute. Some gateways reject a route with timeouts, others ignore "
                "them. By default the route has none."
            ),
        ]
        | None
    ) = None
    rollout: Rollout | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.predictors.exists(p, !has(p.trafficWeight) || p.trafficWeight > 0)",
            "at least one predictor needs a trafficWeight above 0",
            ".predictors",
        ),
        Rule(
            "self.framework != 'Custom' || self.predictors.all(p, !has(p.batching))",
            "batching is not supported for framework Custom: configure the server in the template",
            ".predictors",
            reason="FieldValueForbidden",
        ),
        Rule(
            "self.framework != 'vLLM' || self.predictors.all(p, !has(p.batching) || "
            "!has(p.batching.timeoutSeconds) && !has(p.batching.timeoutMilliseconds))",
            "vLLM batches continuously: batching has no timeout there",
            ".predictors",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!(self.framework in ['Triton', 'MLServer']) || "
            "self.predictors.all(p, !has(p.batching) || has(p.modelVersion) && p.modelVersion != '')",
            "batching is configured in a file next to the model, so it needs a modelVersion",
            ".predictors",
        ),
    )


class PredictorStatus(Record, frozen=True, omit_defaults=False):
    """The observed state of a predictor."""

    name: Annotated[str, Meta(description="The name of the predictor.")]
    replicas: Annotated[int, Meta(description="The number of pods.")] = 0
    ready_replicas: Annotated[int, Meta(description="The number of ready pods.")] = 0
    updated_replicas: Annotated[
        int, Meta(description="The number of pods that run the current template and model version.")
    ] = 0
    traffic_weight: Annotated[int, Meta(description="The desired traffic weight.")] = 0
    traffic_percent: Annotated[int, Meta(description="The current share of the traffic, in percent.")] = 0
    endpoint: Annotated[str, Meta(description="The URL of this predictor inside the cluster.")] = ""
    model_version: Annotated[str, Meta(description="The ModelVersion that the pods run or are updated to.")] = ""
    image: Annotated[str, Meta(description="The model image, by digest.")] = ""
    loader: Annotated[str, Meta(description="How the model gets into the pods: ImageVolume or InitCopy.")] = ""
    reason: Annotated[str, Meta(description="Why the predictor is not ready, in CamelCase, for programs.")] = ""
    message: Annotated[str, Meta(description="Why the predictor is not ready, as a human-readable message.")] = ""
    rollout: RolloutStatus | None = None


class InferenceStatus(Record, frozen=True):
    """The observed state of an Inference."""

    inference_endpoint: Annotated[str, Meta(description="The URL of the Inference.")] = ""
    predictor_statuses: Annotated[
        tuple[PredictorStatus, ...],
        Meta(max_length=32, description="The state of each predictor.", extra_json_schema=list_map("name")),
    ] = ()
    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this status describes.")] = 0


class Inference(Record, frozen=True):
    """Serves models over HTTP."""

    spec: InferenceSpec
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "Inference"
    metadata: ObjectMeta = ObjectMeta()
    status: InferenceStatus = InferenceStatus()


INFERENCES = Resource(Inference, "Inference", "inferences", VERSION, GROUP)

CUSTOM_RESOURCE = CustomResource(
    resource=INFERENCES,
    short_names=("inf",),
    columns=(
        Column("Framework", "string", ".spec.framework"),
        Column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
        Column("Endpoint", "string", ".status.inferenceEndpoint"),
        Column("Age", "date", ".metadata.creationTimestamp"),
        Column("Reason", "string", ".status.conditions[?(@.type=='Ready')].reason", priority=1),
    ),
    rules=(
        Rule(f"self.metadata.name.matches(r'{_LABEL}')", NO_NAME, ".metadata.name"),
        Rule(
            f"self.spec.predictors.all(p, size(self.metadata.name) + 1 + size(p.name) <= {LONGEST_NAME})",
            f"{{inference}}-{{predictor}} is the name of a Service: at most {LONGEST_NAME} characters together, as "
            f"{len(NEXT)} of the 63 are reserved for {NEXT}",
            ".metadata.name",
        ),
    ),
)
