"""CacheBackend: a dataset cached close to the pods that read it, shared by the jobs of a namespace.

The field `spec.cacheBackend` of a job has the same struct. `name` selects the CacheBackend; the other fields, if set,
describe how to create it when it does not exist.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from kubedl.api.conditions import Conditions
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.structural import MAX_INT32, Rule

GROUP = "cache.kubedl.io"
VERSION = "v1alpha1"
# Fluid uses the name for the PersistentVolumeClaim and for pods with a host name.
NAME = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
NO_NAME = (
    "Fluid's objects have the same name as the CacheBackend: at most 63 lower-case letters, digits and '-', "
    "beginning with a letter and ending with a letter or digit"
)
NAME_OF_JOB = (
    "must differ from the name of the job: Fluid names its pods {cache}-worker-0, which would collide with those of "
    "the job"
)
ABSOLUTE = r"^/[^:]*$"  # the API server requires this of every mount path
LONGEST_NAME, LONGEST_PATH = 63, 4096
NO_PATH = "the mount path of the data in containers: an absolute path without ':'"

MediumType = Literal["MEM", "SSD", "HDD"]
CacheStatus = Literal["CacheCreating", "PVCCreating", "PVCCreated", "CacheFailed"]


class DataSource(Record, frozen=True):
    """One source of the dataset."""

    location: Annotated[
        str,
        Meta(
            min_length=5,
            max_length=4096,
            description="The URL of the data, readable by the cache engine: s3://…, hdfs://…, pvc://…, local://…, "
            "juicefs:///…",
        ),
    ]
    sub_dir_name: Annotated[
        str,
        Meta(
            max_length=253,
            description="The subdirectory of mountPath that shows this source. Defaults to mountPath itself.",
        ),
    ] = ""


class Dataset(Record, frozen=True):
    """The dataset to cache."""

    data_sources: Annotated[
        tuple[DataSource, ...],
        Meta(min_length=1, max_length=32, description="The data sources that make up the dataset."),
    ]


class Level(Record, frozen=True):
    """One storage tier of the cache on a worker's node."""

    medium_type: Annotated[MediumType, Meta(description="The storage medium of this tier: MEM, SSD or HDD.")]
    cache_path: Annotated[
        str, Meta(max_length=4096, description="The directory on the node. Defaults to the directory of the engine.")
    ] = ""
    quota: Annotated[str, Meta(max_length=32, description="The capacity of this tier, for example 10Gi.")] = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.quota) || self.quota == '' || "
            "isQuantity(self.quota) && quantity(self.quota).isGreaterThan(quantity('0'))",
            "a quantity such as 500Mi or 10Gi",
            ".quota",
        ),
    )


class CacheRuntime(Record, frozen=True):
    """The configuration of a cache engine."""

    replicas: Annotated[int, Meta(ge=0, le=10_000, description="The number of cache workers.")] = 1
    tiered_storage: Annotated[
        tuple[Level, ...], Meta(max_length=8, description="The storage tiers of each worker, fastest first.")
    ] = ()


class Fluid(Record, frozen=True):
    """Fluid as the cache engine. Set exactly one runtime."""

    alluxio_runtime: Annotated[CacheRuntime, Meta(description="Alluxio.")] | None = None
    juice_fs_runtime: Annotated[CacheRuntime, Meta(description="JuiceFS.")] | None = msgspec.field(
        name="juiceFSRuntime", default=None
    )

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.alluxioRuntime) != has(self.juiceFSRuntime)",
            "set exactly one of alluxioRuntime and juiceFSRuntime",
        ),
    )


class CacheEngine(Record, frozen=True):
    """The engine that caches the dataset."""

    fluid: Annotated[Fluid, Meta(description="Use Fluid, which must be installed in the cluster.")] | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.fluid)", "set fluid, the only supported engine", ".fluid", reason="FieldValueRequired"),
    )


class Options(Record, frozen=True):
    """The lifetime of the cache."""

    idle_time: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_INT32,
            description="Seconds after which a CacheBackend that no job uses is deleted. 0, the default, keeps it "
            "until it is deleted by hand.",
        ),
    ] = 0


class CacheBackendSpec(Record, frozen=True):
    """The dataset to cache and the engine that caches it."""

    name: Annotated[
        str,
        Meta(
            max_length=LONGEST_NAME,
            description="The name of the CacheBackend. Required in a job; optional in a CacheBackend, where it must "
            "equal metadata.name.",
        ),
    ] = ""
    mount_path: Annotated[
        str,
        Meta(
            max_length=LONGEST_PATH,
            description="The directory where the containers of a job find the data. Used in jobs only.",
        ),
    ] = ""
    dataset: Annotated[Dataset, Meta(description="The dataset to cache.")] | None = None
    cache_engine: Annotated[CacheEngine, Meta(description="The engine that caches the dataset.")] | None = None
    options: Annotated[Options, Meta(description="The lifetime of the cache.")] | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.dataset) == has(self.cacheEngine)",
            "dataset and cacheEngine belong together: set both to create a cache, or neither to use an existing one "
            "by name",
        ),
    )


class CacheBackendStatus(Record, frozen=True):
    """The observed state of a CacheBackend."""

    cache_engine: Annotated[str, Meta(description="The engine that caches the dataset.")] = ""
    cache_status: Annotated[
        CacheStatus | None,
        Meta(description="The progress of the cache: CacheCreating, PVCCreating, PVCCreated or CacheFailed."),
    ] = None
    used_by: Annotated[tuple[str, ...], Meta(description="The names of the jobs that use the cache now.")] = ()
    used_num: Annotated[int, Meta(description="The number of jobs that use the cache now.")] = 0
    last_used_time: Annotated[
        datetime | None,
        Meta(description="The time when the last job stopped using the cache; empty while a job uses it."),
    ] = None
    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this status describes.")] = 0


class CacheBackend(Record, frozen=True):
    """A dataset cached close to the pods that read it."""

    spec: CacheBackendSpec
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "CacheBackend"
    metadata: ObjectMeta = ObjectMeta()
    status: CacheBackendStatus = CacheBackendStatus()


CACHE_BACKENDS = Resource(CacheBackend, "CacheBackend", "cachebackends", VERSION, GROUP)


def _made_once(field: str) -> Rule:
    there = f"has(self.{field}) == has(oldSelf.{field})"
    return Rule(
        f"{there} && (!has(self.{field}) || self.{field} == oldSelf.{field})",
        "immutable: create a new CacheBackend",
        f".{field}",
        at="spec",
        reason="FieldValueForbidden",
    )


CUSTOM_RESOURCE = CustomResource(
    resource=CACHE_BACKENDS,
    columns=(
        Column("Engine", "string", ".status.cacheEngine"),
        Column("Status", "string", ".status.cacheStatus"),
        Column("Used-Num", "integer", ".status.usedNum"),
        Column("Last-Used-Time", "date", ".status.lastUsedTime"),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
    rules=(
        Rule(f"self.metadata.name.matches(r'{NAME}')", NO_NAME, ".metadata.name"),
        Rule(
            "!has(self.spec.name) || self.spec.name == '' || self.spec.name == self.metadata.name",
            "must equal metadata.name; leave it out",
            ".spec.name",
        ),
        Rule("has(self.dataset)", "the dataset to cache", ".dataset", at="spec", reason="FieldValueRequired"),
        Rule(
            "has(self.cacheEngine)",
            "the engine that caches the dataset",
            ".cacheEngine",
            at="spec",
            reason="FieldValueRequired",
        ),
        _made_once("dataset"),
        _made_once("cacheEngine"),
    ),
)
