"""CacheBackend: a dataset that is kept near the pods that read it, shared by the jobs of a namespace.

A job has the same struct as its field `spec.cacheBackend`, where `name` says which backend it uses; the rest of it, if
it is there, says how to make that backend when there is none.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from kubedl.api.conditions import Conditions
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.structural import Rule
from kubedl.wire.meta import ObjectMeta, Record, Resource

GROUP = "cache.kubedl.io"
VERSION = "v1alpha1"
MOST_SECONDS = 2**31 - 1
# Fluid takes the name for the claim, and for pods that have a host name.
NAME = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
NO_NAME = (
    "the name of a CacheBackend is that of Fluid's objects too: at most 63 lower-case letters, digits and '-', "
    "beginning with a letter and ending with a letter or digit"
)
NAME_OF_JOB = "a name other than the job's: Fluid's pods have names like {cache}-worker-0, which are those of the job"
ABSOLUTE = r"^/[^:]*$"  # as the API server wants it of every mount
LONGEST_NAME, LONGEST_PATH = 63, 4096
NO_PATH = "the directory in which containers find the data: an absolute path without ':'"

MediumType = Literal["MEM", "SSD", "HDD"]
CacheStatus = Literal["CacheCreating", "PVCCreating", "PVCCreated", "CacheFailed"]


class DataSource(Record, frozen=True):
    """Where a part of the data is."""

    location: Annotated[
        str,
        Meta(
            min_length=5,
            max_length=4096,
            description="An address that the engine can read: s3://…, hdfs://…, pvc://…, local://…, juicefs:///…",
        ),
    ]
    sub_dir_name: Annotated[
        str, Meta(max_length=253, description="The directory below mountPath that it is found in.")
    ] = ""


class Dataset(Record, frozen=True):
    """The data."""

    data_sources: Annotated[
        tuple[DataSource, ...], Meta(min_length=1, max_length=32, description="What it is made of.")
    ]


class Level(Record, frozen=True):
    """One tier of a cache, on the nodes that hold it."""

    medium_type: Annotated[MediumType, Meta(description="What it is kept in.")]
    cache_path: Annotated[
        str, Meta(max_length=4096, description="The directory on the node. The engine has a default.")
    ] = ""
    quota: Annotated[str, Meta(max_length=32, description="How much may be kept there, as in 10Gi.")] = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.quota) || self.quota == '' || "
            "isQuantity(self.quota) && quantity(self.quota).isGreaterThan(quantity('0'))",
            "an amount of data such as 500Mi or 10Gi",
            ".quota",
        ),
    )


class CacheRuntime(Record, frozen=True):
    """How one engine caches."""

    replicas: Annotated[int, Meta(ge=0, le=10_000, description="How many workers hold the data.")] = 1
    tiered_storage: Annotated[
        tuple[Level, ...], Meta(max_length=8, description="Where each worker keeps it, the fastest first.")
    ] = ()


class Fluid(Record, frozen=True):
    """Fluid, with exactly one of the engines that it drives."""

    alluxio_runtime: Annotated[CacheRuntime, Meta(description="Alluxio.")] | None = None
    juice_fs_runtime: Annotated[CacheRuntime, Meta(description="JuiceFS.")] | None = msgspec.field(
        name="juiceFSRuntime", default=None
    )

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.alluxioRuntime) != has(self.juiceFSRuntime)", "exactly one of alluxioRuntime and juiceFSRuntime"
        ),
    )


class CacheEngine(Record, frozen=True):
    """What caches."""

    fluid: Annotated[Fluid, Meta(description="Fluid, which must be installed in the cluster.")] | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.fluid)", "fluid, which is the only engine that there is", ".fluid", reason="FieldValueRequired"),
    )


class Options(Record, frozen=True):
    """How long it lives."""

    idle_time: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_SECONDS,
            description="Seconds after which a backend that no job uses is deleted; 0 keeps it until somebody does.",
        ),
    ] = 0


class CacheBackendSpec(Record, frozen=True):
    """What is cached, and how."""

    name: Annotated[str, Meta(max_length=LONGEST_NAME, description="The name of the backend.")] = ""
    mount_path: Annotated[
        str,
        Meta(max_length=LONGEST_PATH, description="Where a job's containers find the data; of meaning in a job only."),
    ] = ""
    dataset: Annotated[Dataset, Meta(description="The data.")] | None = None
    cache_engine: Annotated[CacheEngine, Meta(description="What caches it.")] | None = None
    options: Annotated[Options, Meta(description="How long it lives.")] | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.dataset) == has(self.cacheEngine)",
            "dataset and cacheEngine belong together: a new cache needs both, a reference to one by name needs neither",
        ),
    )


class CacheBackendStatus(Record, frozen=True):
    """What the operator knows about a backend."""

    cache_engine: Annotated[str, Meta(description="What caches.")] = ""
    cache_status: Annotated[CacheStatus | None, Meta(description="How far the cache has come.")] = None
    used_by: Annotated[tuple[str, ...], Meta(description="The jobs that use it now.")] = ()
    used_num: Annotated[int, Meta(description="How many jobs use it now.")] = 0
    last_used_time: Annotated[datetime | None, Meta(description="Since when no job uses it.")] = None
    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this is about.")] = 0


class CacheBackend(Record, frozen=True):
    """A dataset that is kept near the pods that read it."""

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
        "a cache is made once; make a new CacheBackend",
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
            "the name of the backend itself; leave it out",
            ".spec.name",
        ),
        Rule("has(self.dataset)", "what is cached", ".dataset", at="spec", reason="FieldValueRequired"),
        Rule("has(self.cacheEngine)", "what caches it", ".cacheEngine", at="spec", reason="FieldValueRequired"),
        _made_once("dataset"),
        _made_once("cacheEngine"),
    ),
)
