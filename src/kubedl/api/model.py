"""Model and ModelVersion: a Model groups versions; a ModelVersion is a set of model files and the image built from it.

The field `spec.modelVersion` of a job has the fields of a ModelVersion, which is created when the job succeeds.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api import model_storage
from kubedl.api.conditions import Conditions
from kubedl.api.model_storage import Storage
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, Record, Resource
from kubedl.oci import name_patterns
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.structural import Rule

GROUP = "model.kubedl.io"
VERSION = "v1alpha1"
REBUILD = f"{GROUP}/rebuild"  # annotation: a new value restarts a failed build
LONGEST_REBUILD = 63  # characters of its value that are compared
BY_MODEL = "model"  # name of the index of versions by their Model

NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
REPOSITORY = rf"^{name_patterns.REPOSITORY}$"
TAG = rf"^({name_patterns.TAG})?$"
BY_DIGEST = r"^(\S+@sha256:[0-9a-f]{64})?$"
DIGEST = r"^sha256:[0-9a-f]{64}$"
LONGEST = 1024  # of texts that are matched against these patterns

NO_NAME = "the name of the Model: lower-case letters, digits, '-' and '.'"
NO_REPOSITORY = "the repository to push the image to, for example modelhub/resnet, without a tag"
NO_TAG = "a tag: at most 128 letters, digits, '.', '_' and '-', and not sha256- with a digest"
NO_PARENT = "a model image by digest, for example modelhub/resnet@sha256:…"
NO_CHECK = "insecure disables the check of the certificate; remove insecure or authority"
NO_STORAGE = "the storage of the model files"
MADE_ONCE = "immutable: create a new ModelVersion, or rebuild a failed one with the annotation model.kubedl.io/rebuild"

Phase = Literal["ImageBuilding", "ImageBuildFailed", "ImageBuildSucceeded"]
ENDED: frozenset[Phase | None] = frozenset({"ImageBuildFailed", "ImageBuildSucceeded"})


class Credentials(Record, frozen=True):
    """Registry credentials for the push."""

    secret_name: Annotated[
        str,
        Meta(min_length=1, max_length=253, description="The name of a Secret of type kubernetes.io/dockerconfigjson."),
    ]


class Authority(Record, frozen=True):
    """The certificate authority of the registry."""

    secret_name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=253,
            description="The name of a Secret whose key ca.crt has CA certificates in PEM format.",
        ),
    ]


class Registry(Record, frozen=True):
    """How to connect to the registry."""

    insecure: Annotated[
        bool, Meta(description="Use plain HTTP, or do not verify the TLS certificate. Defaults to false.")
    ] = False
    credentials: (
        Annotated[
            Credentials, Meta(description="Credentials for the push. Defaults to the Secret regcred, if it exists.")
        ]
        | None
    ) = None
    authority: (
        Annotated[Authority, Meta(description="Additional certificate authorities to trust for the registry.")] | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("!has(self.authority) || !has(self.insecure) || !self.insecure", NO_CHECK, ".authority"),
    )


class Signing(Record, frozen=True):
    """The key that signs the image."""

    secret_name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=253,
            description="The name of a Secret with cosign.key and, if the key is encrypted, cosign.password.",
        ),
    ]


class PreWarm(Record, frozen=True):
    """Pre-pulls the image to nodes with OpenKruise, before a pod needs it."""

    node_selector: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=63)]],
        Meta(max_length=16, description="Labels of the nodes. Defaults to all nodes."),
    ] = {}
    parallelism: Annotated[int, Meta(ge=1, le=1000, description="The number of nodes that pull at the same time.")] = 5
    timeout_seconds: Annotated[
        int, Meta(ge=1, le=86400, description="Seconds in which a node must finish its pull.")
    ] = 3600
    secret_name: Annotated[
        str,
        Meta(max_length=253, description="The name of a Secret of type kubernetes.io/dockerconfigjson for the pull."),
    ] = ""


class Origin(Record, frozen=True):
    """The provenance of a model, set by the creator of the ModelVersion: the operator, for the version of a job."""

    job_kind: Annotated[str, Meta(max_length=63, description="The kind of the job.")] = ""
    job_name: Annotated[str, Meta(max_length=253, description="The name of the job.")] = ""
    job_uid: Annotated[str, Meta(max_length=63, description="The uid of the job.")] = ""
    trainer_images: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=1024)]],
        Meta(max_length=16, description="The training images as written in the pods, each with its digest."),
    ] = {}
    code_repository: Annotated[str, Meta(max_length=2048, description="The git repository of the training code.")] = ""
    code_revision: Annotated[str, Meta(max_length=255, description="The git commit of the training code.")] = ""


class ModelOutput(Record, frozen=True):
    """The ModelVersion to create when the job succeeds."""

    model_name: Annotated[str, Meta(max_length=253, description="The Model that the version belongs to.")] = ""
    created_by: Annotated[str, Meta(max_length=253, description="The author of the version. Defaults to the job.")] = ""
    image_repo: Annotated[str, Meta(max_length=253, description="The repository to push the image to.")] = ""
    image_tag: Annotated[
        str,
        Meta(
            max_length=128,
            description="The tag of the image. Defaults to the first twelve hexadecimal digits of the version's uid.",
        ),
    ] = ""
    storage: Storage | None = None
    registry: Registry | None = None
    signing: Signing | None = None
    parent: Annotated[
        str, Meta(max_length=1024, description="The model image, by digest, that the training started from.")
    ] = ""
    pre_warm: PreWarm | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(f"has(self.modelName) && self.modelName.matches(r'{NAME}')", NO_NAME, ".modelName"),
        Rule(f"has(self.imageRepo) && self.imageRepo.matches(r'{REPOSITORY}')", NO_REPOSITORY, ".imageRepo"),
        Rule(
            f"!has(self.imageTag) || "
            f"self.imageTag.matches(r'{TAG}') && !self.imageTag.matches(r'{name_patterns.REFERRERS}')",
            NO_TAG,
            ".imageTag",
        ),
        Rule(f"!has(self.parent) || self.parent.matches(r'{BY_DIGEST}')", NO_PARENT, ".parent"),
        Rule("has(self.storage)", NO_STORAGE, ".storage", reason="FieldValueRequired"),
    )


class ModelVersionSpec(ModelOutput, frozen=True):
    """The model files, and how to build the image."""

    origin: Origin | None = None


class BuildProgress(Record, frozen=True, omit_defaults=False):
    """Progress of the upload."""

    bytes_done: Annotated[int, Meta(description="Bytes that the registry has.")] = 0
    bytes_total: Annotated[int, Meta(description="Bytes of the whole model.")] = 0


class ModelVersionStatus(Record, frozen=True):
    """The observed state of a ModelVersion."""

    image: Annotated[str, Meta(description="The image by digest, once it is pushed.")] = ""
    image_tag: Annotated[str, Meta(description="The tag that was pushed.")] = ""
    image_build_phase: Annotated[Phase | None, Meta(description="The phase of the build.")] = None
    message: Annotated[str, Meta(description="A human-readable message about the build.")] = ""
    finish_time: Annotated[datetime | None, Meta(description="The time when the build ended.")] = None
    artifact: Annotated[str, Meta(description="The same files as a ModelPack artifact, by digest.")] = ""
    size: Annotated[int, Meta(description="The size of the image in bytes.")] = 0
    layers_uploaded: Annotated[int, Meta(description="Layers that were uploaded.")] = 0
    layers_reused: Annotated[int, Meta(description="Layers that the registry already had.")] = 0
    bytes_uploaded: Annotated[int, Meta(description="Bytes that were uploaded to the registry.")] = 0
    signed: Annotated[bool, Meta(description="Whether the image was signed.")] = False
    progress: BuildProgress | None = None
    attempts: Annotated[int, Meta(description="The number of build attempts.")] = 0
    failures: Annotated[int, Meta(description="The number of failed attempts that count towards the limit.")] = 0
    rebuild: Annotated[
        str, Meta(description="The value of the annotation model.kubedl.io/rebuild when the build was last restarted.")
    ] = ""
    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this status describes.")] = 0


class ModelVersion(Record, frozen=True):
    """One set of model files, and the OCI image that is built from it."""

    spec: ModelVersionSpec
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "ModelVersion"
    metadata: ObjectMeta = ObjectMeta()
    status: ModelVersionStatus = ModelVersionStatus()

    @property
    def tag(self) -> str:
        """Return the image tag: spec.imageTag, else the tag in the status, else a unique prefix of the uid."""
        return self.spec.image_tag or self.status.image_tag or self.metadata.uid.replace("-", "")[:12]

    @property
    def rebuild(self) -> str:
        """Return the value of the annotation REBUILD. A new value restarts a failed build."""
        return self.metadata.annotations.get(REBUILD, "")[:LONGEST_REBUILD]


class ModelSpec(Record, frozen=True):
    """The desired state of a Model."""

    description: Annotated[str, Meta(max_length=32768, description="A description of the model.")] = ""


class VersionInfo(Record, frozen=True):
    """A short reference to a version."""

    model_version: Annotated[str, Meta(description="The name of the ModelVersion.")] = ""
    image_name: Annotated[str, Meta(description="The image by digest. Empty until it is built.")] = ""


class ModelStatus(Record, frozen=True):
    """The observed state of a Model."""

    latest_version: Annotated[VersionInfo, Meta(description="The newest version whose image is built.")] | None = None
    versions: Annotated[tuple[VersionInfo, ...], Meta(description="The versions, newest first.")] = ()
    version_count: Annotated[int, Meta(description="The number of versions, including those that are not listed.")] = 0


class Model(Record, frozen=True):
    """A named model with its versions."""

    spec: ModelSpec = ModelSpec()
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "Model"
    metadata: ObjectMeta = ObjectMeta()
    status: ModelStatus = ModelStatus()


MODELS = Resource(Model, "Model", "models", VERSION, GROUP)
MODEL_VERSIONS = Resource(ModelVersion, "ModelVersion", "modelversions", VERSION, GROUP)


def model_key(version: ModelVersion) -> ObjectKey:
    """Return the key of the Model that a version belongs to."""
    return ObjectKey(version.metadata.namespace, version.spec.model_name)


def validate(output: ModelOutput) -> str | None:
    """Return the first invalid field of a version that was stored before the CEL rules existed, and what it must be."""
    for field, value, pattern, message in (
        ("modelName", output.model_name, NAME, NO_NAME),
        ("imageRepo", output.image_repo, REPOSITORY, NO_REPOSITORY),
        ("imageTag", output.image_tag, TAG, NO_TAG),
        ("parent", output.parent, BY_DIGEST, NO_PARENT),
    ):
        if not BoundedPattern(pattern, LONGEST).fullmatch(value):
            return f"{field}: {message}"
    if BoundedPattern(name_patterns.REFERRERS, LONGEST).match(output.image_tag):
        return f"imageTag: {NO_TAG}"
    return model_storage.validate(output.storage) if output.storage is not None else f"storage: {NO_STORAGE}"


CUSTOM_RESOURCES = (
    CustomResource(
        resource=MODELS,
        short_names=("mo",),
        columns=(
            Column("Latest-Version", "string", ".status.latestVersion.modelVersion"),
            Column("Latest-Image", "string", ".status.latestVersion.imageName"),
            Column("Versions", "integer", ".status.versionCount"),
            Column("Age", "date", ".metadata.creationTimestamp"),
        ),
    ),
    CustomResource(
        resource=MODEL_VERSIONS,
        short_names=("mv",),
        columns=(
            Column("Model", "string", ".spec.modelName"),
            Column("Image", "string", ".status.image"),
            Column("Created-By", "string", ".spec.createdBy"),
            Column("Finish-Time", "string", ".status.finishTime"),
            Column("Phase", "string", ".status.imageBuildPhase", priority=1),
            Column("Message", "string", ".status.message", priority=1),
        ),
        rules=(Rule("self == oldSelf", MADE_ONCE, at="spec", reason="FieldValueForbidden"),),
    ),
)
