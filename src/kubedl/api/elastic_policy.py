"""`elasticPolicy`: a PyTorchJob that is resized while it runs, with the fields of Kubeflow's training-operator."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api.elastic import Elastic
from kubedl.api.replica_spec import MAX_REPLICAS
from kubedl.api.validation.elastic_policy import setting_rules
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.structural import MAX_INT32, Rule, list_map


class RendezvousSetting(Record, frozen=True):
    """A setting of the rendezvous."""

    # The API server checks the patterns: what does not decode would hide the whole job from the operator.
    key: Annotated[
        str,
        Meta(max_length=253, description="The name of the setting.", extra_json_schema={"pattern": r"^[^,=\s]+$"}),
    ]
    value: Annotated[
        str,
        Meta(max_length=1024, description="The value of the setting.", extra_json_schema={"pattern": r"^[^,\s]+$"}),
    ]


class ElasticPolicy(Record, frozen=True):
    """The sizes that a job may have while it runs, and how torchrun meets."""

    min_replicas: (
        Annotated[
            int,
            Meta(ge=1, le=MAX_REPLICAS, description="The smallest number of Workers. By default the largest one."),
        ]
        | None
    ) = None
    max_replicas: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_REPLICAS,
                description="The largest number of Workers. By default the smallest one; without either, the number "
                "of Workers, which is fixed then.",
            ),
        ]
        | None
    ) = None
    rdzv_backend: Annotated[
        Literal["c10d", "etcd", "etcd-v2"] | None,
        Meta(description="The backend of the rendezvous: c10d. A job with etcd or etcd-v2 is rejected."),
    ] = None
    rdzv_port: (
        Annotated[
            int, Meta(ge=1, le=65535, description="The port of the rendezvous. By default that of the container.")
        ]
        | None
    ) = None
    rdzv_host: Annotated[
        str,
        Meta(
            max_length=253,
            description="The host of the rendezvous: the name of the pod of the first replica, which is the default. "
            "A job with another host is rejected.",
        ),
    ] = ""
    rdzv_id: Annotated[
        str,
        Meta(
            max_length=253,
            description="The id of the rendezvous. By default each attempt of the job has another one.",
        ),
    ] = ""
    rdzv_conf: Annotated[
        tuple[RendezvousSetting, ...],
        Meta(max_length=32, description="Settings of the rendezvous.", extra_json_schema=list_map("key")),
    ] = ()
    standalone: Annotated[
        bool, Meta(description="Whether torchrun meets nobody but itself: for jobs of one replica.")
    ] = False
    n_proc_per_node: (
        Annotated[
            int,
            Meta(ge=1, le=1024, description="The number of processes that torchrun starts in each pod: nprocPerNode."),
        ]
        | None
    ) = None
    max_restarts: (
        Annotated[
            int,
            Meta(ge=0, le=MAX_INT32, description="How often torchrun starts its processes again by itself."),
        ]
        | None
    ) = None
    metrics: Annotated[
        tuple[RawObject, ...],
        Meta(
            max_length=100,
            description="Not supported: create a HorizontalPodAutoscaler. A job with metrics is rejected.",
        ),
    ] = ()

    __rules__: ClassVar[tuple[Rule, ...]] = setting_rules()


def bounds(policy: ElasticPolicy, workers: int) -> Elastic:
    """Return the sizes of a job with so many Workers: who gives one bound gives both, and without any it is fixed."""
    given = [size for size in (policy.min_replicas, policy.max_replicas) if size is not None]
    return Elastic(min_replicas=min(given, default=workers), max_replicas=max(given, default=workers))
