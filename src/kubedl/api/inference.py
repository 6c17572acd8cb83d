"""Inference: models that answer requests. Each predictor serves one model version, and gets its share of the requests.

What is made for a predictor is called `{inference}-{predictor}`; a version that is being tried beside it has `-next`
behind that.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api.conditions import Conditions
from kubedl.api.inference_rollout import Rollout, RolloutStatus, Strategy
from kubedl.api.inference_scaling import MAX_REPLICAS, AutoScale, Batching
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.pods import POD_TEMPLATE
from kubedl.schema.structural import Rule, list_map
from kubedl.wire.codec import Opaque
from kubedl.wire.meta import ObjectMeta, Record, Resource

GROUP = "serving.kubedl.io"
VERSION = "v1alpha1"
MODEL_PATH = "/kubedl-model"
FULL_WEIGHT = 100
LONGEST_TIMEOUT = 86_400  # seconds; a duration of Gateway API has five digits
MOST_PREDICTORS = 8  # a route has 16 backends, and every predictor may be trying its next version
NEXT = "-next"
LONGEST_NAME = 63 - len(NEXT)

_LABEL = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
_PATH = r"^(/[A-Za-z0-9._-]+)+/?$"
NO_NAME = (
    "the name of an Inference is a part of its address: lower-case letters, digits and '-', beginning with a letter "
    "and ending with a letter or digit"
)
NO_PREDICTOR_NAME = "lower-case letters, digits and '-', ending with a letter or digit"

Framework = Literal["TFServing", "Triton", "MLServer", "vLLM", "Custom"]
Loader = Literal["Auto", "ImageVolume", "InitCopy"]


class Predictor(Record, frozen=True):
    """One model version and the servers that answer with it."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="Its name within the Inference.")]
    template: Annotated[
        Opaque, Meta(description="The pod of each replica (a PodTemplateSpec).", extra_json_schema=POD_TEMPLATE)
    ]
    model_version: Annotated[
        str, Meta(max_length=253, description="The ModelVersion that it serves; none if its image has the model.")
    ] = ""
    model_path: Annotated[
        str, Meta(min_length=2, max_length=4096, description="The directory in which its containers find the model.")
    ] = MODEL_PATH
    replicas: Annotated[
        int, Meta(ge=0, le=MAX_REPLICAS, description="How many servers there are, unless autoScale decides.")
    ] = 1
    traffic_weight: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=FULL_WEIGHT,
                description="Its share of the requests, in proportion to those of the other predictors; 100 if left "
                "out. A predictor that is not ready gets none.",
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
            description="How the model gets into the pod. ImageVolume mounts its image; InitCopy copies it from the "
            "registry; Auto takes the first if the cluster lets it be, and the second otherwise."
        ),
    ] = "Auto"

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(r"self.name.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", NO_PREDICTOR_NAME, ".name"),
        Rule(f"!self.name.endsWith('{NEXT}')", f"names with {NEXT} are those of versions that are tried", ".name"),
        Rule(
            f"self.modelPath.matches(r'{_PATH}') && !self.modelPath.matches(r'(^|/)[.][.]?(/|$)')",
            "an absolute path of letters, digits, '.', '_' and '-', and not the root",
            ".modelPath",
        ),
    )

    @property
    def weight(self) -> int:
        """Its share, as wanted."""
        return FULL_WEIGHT if self.traffic_weight is None else self.traffic_weight


class Gateway(Record, frozen=True):
    """A Gateway (Gateway API) that requests come through."""

    name: Annotated[str, Meta(min_length=1, max_length=253, description="Its name.")]
    namespace: Annotated[str, Meta(max_length=63, description="Its namespace; by default the Inference's.")] = ""
    section_name: Annotated[
        str, Meta(max_length=253, description="One of its listeners; by default all that let the address in.")
    ] = ""


class Timeouts(Record, frozen=True):
    """How long the gateway waits for answers. What is left out is the gateway's own setting."""

    request_seconds: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=LONGEST_TIMEOUT,
                description="Until the whole answer has been sent to the client; 0 is without a limit, as long answers "
                "of language models need it.",
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
                description="Until one server has answered, where the gateway may ask another one after it; 0 is "
                "without a limit.",
            ),
        ]
        | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.requestSeconds) || self.requestSeconds == 0 || !has(self.backendRequestSeconds) || "
            "self.backendRequestSeconds > 0 && self.backendRequestSeconds <= self.requestSeconds",
            "not longer than requestSeconds, which includes it",
            ".backendRequestSeconds",
        ),
    )


class InferenceSpec(Record, frozen=True):
    """What is served, and how."""

    framework: Annotated[Framework, Meta(description="The server that the predictors run.")]
    predictors: Annotated[
        tuple[Predictor, ...],
        Meta(
            min_length=1,
            max_length=MOST_PREDICTORS,
            description="What requests are shared among.",
            extra_json_schema=list_map("name"),
        ),
    ]
    gateway: (
        Annotated[Gateway, Meta(description="Where requests come in; by default the operator's own setting.")] | None
    ) = None
    timeouts: (
        Annotated[
            Timeouts,
            Meta(
                description="How long the gateway waits for answers (timeouts of the HTTPRoute). Some gateways refuse "
                "a route with timeouts, and some ignore them; left out, the route has none."
            ),
        ]
        | None
    ) = None
    rollout: Rollout | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.predictors.exists(p, !has(p.trafficWeight) || p.trafficWeight > 0)",
            "somebody has to answer: one trafficWeight at least must be above 0",
            ".predictors",
        ),
        Rule(
            "self.framework != 'Custom' || self.predictors.all(p, !has(p.batching))",
            "of a server that is not known here no setting is known either: give it its own in the template",
            ".predictors",
            reason="FieldValueForbidden",
        ),
        Rule(
            "self.framework != 'vLLM' || self.predictors.all(p, !has(p.batching) || "
            "!has(p.batching.timeoutSeconds) && !has(p.batching.timeoutMilliseconds))",
            "vLLM adds requests to a batch that runs and lets none wait: batching has no timeout there",
            ".predictors",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!(self.framework in ['Triton', 'MLServer']) || "
            "self.predictors.all(p, !has(p.batching) || has(p.modelVersion) && p.modelVersion != '')",
            "the setting lies beside the model, so batching needs a modelVersion",
            ".predictors",
        ),
    )


class PredictorStatus(Record, frozen=True, omit_defaults=False):
    """How a predictor is."""

    name: Annotated[str, Meta(description="Its name.")]
    replicas: Annotated[int, Meta(description="How many pods it has.")] = 0
    ready_replicas: Annotated[int, Meta(description="How many of them answer.")] = 0
    updated_replicas: Annotated[
        int, Meta(description="How many of them are of the present template, with the model version named here.")
    ] = 0
    traffic_weight: Annotated[int, Meta(description="Its share of the requests, as wanted.")] = 0
    traffic_percent: Annotated[int, Meta(description="Its share of the requests, as it is.")] = 0
    endpoint: Annotated[str, Meta(description="Where it alone is asked, inside the cluster.")] = ""
    model_version: Annotated[str, Meta(description="The ModelVersion that its pods have, or get.")] = ""
    image: Annotated[str, Meta(description="The model's image, by its digest.")] = ""
    loader: Annotated[str, Meta(description="How the model gets into its pods.")] = ""
    reason: Annotated[str, Meta(description="Why it is not ready, in a word for programs.")] = ""
    message: Annotated[str, Meta(description="Why it is not ready, in a sentence for people.")] = ""
    rollout: RolloutStatus | None = None


class InferenceStatus(Record, frozen=True):
    """What the operator knows about an Inference."""

    inference_endpoint: Annotated[str, Meta(description="Where it is asked.")] = ""
    predictor_statuses: Annotated[
        tuple[PredictorStatus, ...],
        Meta(max_length=32, description="How each predictor is.", extra_json_schema=list_map("name")),
    ] = ()
    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this is about.")] = 0


class Inference(Record, frozen=True):
    """Models that answer requests."""

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
            f"{{inference}}-{{predictor}} is the name of a Service: at most {LONGEST_NAME} characters together, of "
            f"the 63 that a name may have {len(NEXT)} are for {NEXT}",
            ".metadata.name",
        ),
    ),
)
