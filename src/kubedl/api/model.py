"""Model and ModelVersion: a name for models that belong together, and one model as it lies in storage and as an image.

A job has a version's fields as `spec.modelVersion`, from which the version is made when the job has succeeded.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api import image_names, model_storage
from kubedl.api.conditions import Conditions
from kubedl.api.model_storage import Storage
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.structural import Rule
from kubedl.wire.meta import Key, ObjectMeta, Record, Resource
from kubedl.wire.pattern import Pattern

GROUP = "model.kubedl.io"
VERSION = "v1alpha1"
REBUILD = f"{GROUP}/rebuild"  # an annotation: a new value begins a failed build anew
LONGEST_REBUILD = 63  # characters of its value that are compared
BY_MODEL = "model"  # the index of versions by the Model that they belong to

NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
REPOSITORY = rf"^{image_names.REPOSITORY}$"
TAG = rf"^({image_names.TAG})?$"
BY_DIGEST = r"^(\S+@sha256:[0-9a-f]{64})?$"
DIGEST = r"^sha256:[0-9a-f]{64}$"
LONGEST = 1024  # of the texts that these are held against

NO_NAME = "the Model that gets a new version: lower-case letters, digits, '-' and '.'"
NO_REPOSITORY = "the repository that the image is pushed to, as in modelhub/resnet, without a tag"
NO_TAG = "a tag: letters, digits, '.', '_' and '-', at most 128, and not sha256- with a digest"
NO_PARENT = "a model image by its digest, as in modelhub/resnet@sha256:…"
NO_CHECK = "an insecure registry's certificate is not checked; remove insecure, or the authority"
NO_STORAGE = "where the model lies"
MADE_ONCE = (
    "a version is made once and never changes; make a new ModelVersion, "
    "or build this one again after a failure with the annotation model.kubedl.io/rebuild"
)

Phase = Literal["ImageBuilding", "ImageBuildFailed", "ImageBuildSucceeded"]
ENDED: frozenset[Phase | None] = frozenset({"ImageBuildFailed", "ImageBuildSucceeded"})


class Credentials(Record, frozen=True):
    """Who may push."""

    secret_name: Annotated[
        str,
        Meta(min_length=1, max_length=253, description="A Secret of the type kubernetes.io/dockerconfigjson."),
    ]


class Authority(Record, frozen=True):
    """Who vouches for the registry."""

    secret_name: Annotated[
        str,
        Meta(min_length=1, max_length=253, description="A Secret with ca.crt: certificates of authorities, as PEM."),
    ]


class Registry(Record, frozen=True):
    """How the registry is spoken to."""

    insecure: Annotated[bool, Meta(description="Over plain HTTP, or with a certificate that nobody has signed.")] = (
        False
    )
    credentials: (
        Annotated[Credentials, Meta(description="Who may push; by default the Secret regcred, if there is one.")] | None
    ) = None
    authority: (
        Annotated[
            Authority, Meta(description="Who vouches for the registry, beside those that the packer's image knows.")
        ]
        | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("!has(self.authority) || !has(self.insecure) || !self.insecure", NO_CHECK, ".authority"),
    )


class Signing(Record, frozen=True):
    """The key that the image is signed with."""

    secret_name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=253,
            description="A Secret with cosign.key and, if that is encrypted, cosign.password.",
        ),
    ]


class PreWarm(Record, frozen=True):
    """Nodes that get the image before a pod asks for it; OpenKruise pulls it there."""

    node_selector: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=63)]],
        Meta(max_length=16, description="Labels of the nodes; by default all nodes."),
    ] = {}
    parallelism: Annotated[int, Meta(ge=1, le=1000, description="How many nodes pull at a time.")] = 5
    timeout_seconds: Annotated[int, Meta(ge=1, le=86400, description="How long a node may pull.")] = 3600
    secret_name: Annotated[
        str,
        Meta(max_length=253, description="A Secret of the type kubernetes.io/dockerconfigjson that lets nodes pull."),
    ] = ""


class Origin(Record, frozen=True):
    """Where a model comes from. Whoever makes the version says it; for a job's version that is the operator."""

    job_kind: Annotated[str, Meta(max_length=63, description="The kind of the job that made it.")] = ""
    job_name: Annotated[str, Meta(max_length=253, description="The job's name.")] = ""
    job_uid: Annotated[str, Meta(max_length=63, description="The job's uid.")] = ""
    trainer_images: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=1024)]],
        Meta(max_length=16, description="The images that it was trained with, as written, each with its digest."),
    ] = {}
    code_repository: Annotated[str, Meta(max_length=2048, description="The repository of its code.")] = ""
    code_revision: Annotated[str, Meta(max_length=255, description="The commit of its code.")] = ""


class ModelOutput(Record, frozen=True):
    """The model version that a successful job leaves behind."""

    model_name: Annotated[str, Meta(max_length=253, description="The Model that gets a new version.")] = ""
    created_by: Annotated[
        str, Meta(max_length=253, description="Who made the version; of a job's version by default the job.")
    ] = ""
    image_repo: Annotated[str, Meta(max_length=253, description="The repository that the image is pushed to.")] = ""
    image_tag: Annotated[
        str,
        Meta(
            max_length=128,
            description="The tag of the image; by default the first twelve hexadecimal digits of the version's uid.",
        ),
    ] = ""
    storage: Storage | None = None
    registry: Registry | None = None
    signing: Signing | None = None
    parent: Annotated[
        str, Meta(max_length=1024, description="The model image, by its digest, that the training started from.")
    ] = ""
    pre_warm: PreWarm | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(f"has(self.modelName) && self.modelName.matches(r'{NAME}')", NO_NAME, ".modelName"),
        Rule(f"has(self.imageRepo) && self.imageRepo.matches(r'{REPOSITORY}')", NO_REPOSITORY, ".imageRepo"),
        Rule(
            f"!has(self.imageTag) || "
            f"self.imageTag.matches(r'{TAG}') && !self.imageTag.matches(r'{image_names.REFERRERS}')",
            NO_TAG,
            ".imageTag",
        ),
        Rule(f"!has(self.parent) || self.parent.matches(r'{BY_DIGEST}')", NO_PARENT, ".parent"),
        Rule("has(self.storage)", NO_STORAGE, ".storage", reason="FieldValueRequired"),
    )


class ModelVersionSpec(ModelOutput, frozen=True):
    """What a version is made of."""

    origin: Origin | None = None


class BuildProgress(Record, frozen=True, omit_defaults=False):
    """How much of the model the registry has."""

    bytes_done: Annotated[int, Meta(description="Bytes that the registry has.")] = 0
    bytes_total: Annotated[int, Meta(description="Bytes of the whole model.")] = 0


class ModelVersionStatus(Record, frozen=True):
    """What the operator knows about a version."""

    image: Annotated[str, Meta(description="The image, by its digest, as soon as the registry has it.")] = ""
    image_tag: Annotated[str, Meta(description="The tag under which it was pushed.")] = ""
    image_build_phase: Annotated[Phase | None, Meta(description="How far the build has come.")] = None
    message: Annotated[str, Meta(description="What there is to say about it, for people.")] = ""
    finish_time: Annotated[datetime | None, Meta(description="When the build ended.")] = None
    artifact: Annotated[str, Meta(description="The same files as a ModelPack artifact, by its digest.")] = ""
    size: Annotated[int, Meta(description="Bytes of the image.")] = 0
    layers_uploaded: Annotated[int, Meta(description="Layers that the registry did not have.")] = 0
    layers_reused: Annotated[int, Meta(description="Layers that it had already.")] = 0
    bytes_uploaded: Annotated[int, Meta(description="Bytes that were sent to the registry.")] = 0
    signed: Annotated[bool, Meta(description="Whether the image was signed.")] = False
    progress: BuildProgress | None = None
    attempts: Annotated[int, Meta(description="How often the build was begun.")] = 0
    failures: Annotated[int, Meta(description="How often it failed, and that counts: it is not borne for ever.")] = 0
    rebuild: Annotated[
        str, Meta(description="The value of the annotation model.kubedl.io/rebuild when the build was last begun anew.")
    ] = ""
    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this is about.")] = 0


class ModelVersion(Record, frozen=True):
    """One model, as it lies in storage, and as the image that is built of it."""

    spec: ModelVersionSpec
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "ModelVersion"
    metadata: ObjectMeta = ObjectMeta()
    status: ModelVersionStatus = ModelVersionStatus()

    @property
    def tag(self) -> str:
        """The tag of its image: as asked for, else as it was once chosen, else enough of the uid to be unique."""
        return self.spec.image_tag or self.status.image_tag or self.metadata.uid.replace("-", "")[:12]

    @property
    def rebuild(self) -> str:
        """What the annotation REBUILD says: another value than before asks for another build after a failure."""
        return self.metadata.annotations.get(REBUILD, "")[:LONGEST_REBUILD]


class ModelSpec(Record, frozen=True):
    """What there is to say about a model."""

    description: Annotated[str, Meta(max_length=32768, description="What the model is for.")] = ""


class VersionInfo(Record, frozen=True):
    """A version in a word."""

    model_version: Annotated[str, Meta(description="The version's name.")] = ""
    image_name: Annotated[str, Meta(description="Its image, by digest; empty until it is built.")] = ""


class ModelStatus(Record, frozen=True):
    """The versions of a model."""

    latest_version: Annotated[VersionInfo, Meta(description="The newest version whose image is built.")] | None = None
    versions: Annotated[tuple[VersionInfo, ...], Meta(description="Its versions, the newest first.")] = ()
    version_count: Annotated[int, Meta(description="How many versions there are; not all of many are listed.")] = 0


class Model(Record, frozen=True):
    """A name for models that belong together: the versions of one."""

    spec: ModelSpec = ModelSpec()
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "Model"
    metadata: ObjectMeta = ObjectMeta()
    status: ModelStatus = ModelStatus()


MODELS = Resource(Model, "Model", "models", VERSION, GROUP)
MODEL_VERSIONS = Resource(ModelVersion, "ModelVersion", "modelversions", VERSION, GROUP)


def model_key(version: ModelVersion) -> Key:
    """The Model that a version belongs to."""
    return Key(version.metadata.namespace, version.spec.model_name)


def complaint(wish: ModelOutput) -> str | None:
    """What is wrong with a version that no rule has seen: the field, and what it must be."""
    for field, value, pattern, words in (
        ("modelName", wish.model_name, NAME, NO_NAME),
        ("imageRepo", wish.image_repo, REPOSITORY, NO_REPOSITORY),
        ("imageTag", wish.image_tag, TAG, NO_TAG),
        ("parent", wish.parent, BY_DIGEST, NO_PARENT),
    ):
        if not Pattern(pattern, LONGEST).fullmatch(value):
            return f"{field}: {words}"
    if Pattern(image_names.REFERRERS, LONGEST).match(wish.image_tag):
        return f"imageTag: {NO_TAG}"
    return model_storage.complaint(wish.storage) if wish.storage is not None else f"storage: {NO_STORAGE}"


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
