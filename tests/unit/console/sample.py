"""A cluster as people have it, in the cache of a console: for tests that look at pages."""

from typing import Any

from kubedl.console.object_kinds import CRONS, INFERENCES, MODEL_VERSIONS, MODELS
from kubedl.console.queue_kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from tests.unit.console.sample_objects import HOSTILE, OBJECTS, VERSION, ago, put_objects
from tests.unit.console.world import JOBS, World


def sample_world() -> World:
    """Return it. Ada sees everything but the namespace secret, Ben jobs of vision alone, Cara versions of nlp."""
    world = World()
    world.reviewer.tokens |= {"token-of-ada": "ada", "token-of-ben": "ben", "token-of-cara": "cara"}
    world.reviewer.allow("cara", "nlp", MODELS.name, MODEL_VERSIONS.name)
    world.reviewer.allow("ada", "", "nodes")
    for namespace in ("nlp", "vision", "research", "kube-system"):
        world.reviewer.allow("ada", namespace)
    world.reviewer.allow("ben", "vision", JOBS)
    world.reviewer.allow("ada", "", CLUSTER_QUEUES.name)
    for namespace in ("nlp", "vision", "research"):
        world.reviewer.allow("ada", namespace, LOCAL_QUEUES.name, WORKLOADS.name, *OBJECTS)
    world.reviewer.let("ada", "nlp", INFERENCES.name, "get", "patch")
    world.reviewer.let("ada", "nlp", CRONS.name, "patch")
    _nodes(world)
    _jobs(world)
    _queues(world)
    put_objects(world)
    return world


def _nodes(world: World) -> None:
    for number in range(1, 7):
        world.put_node(f"a100-{number:02}", gpus=8, ready="Unknown" if number == 6 else "True", cordoned=number == 5)
    for number in range(1, 3):
        world.put_node(f"cpu-{number:02}")


def _jobs(world: World) -> None:
    """Name, user, GPUs of each pod, and nodes of the pods; without nodes it waits."""
    _run(world, "nlp", "bert-large-pretrain", "mei.lin", 8, ("a100-01", "a100-02"))
    _run(world, "nlp", "llama3-8b-dpo", "mei.lin", 4, ("a100-03",))
    _run(world, "vision", "vit-g14-finetune", "tomas.k", 2, ("a100-03", "a100-04"))
    _run(world, "secret", "of-others", "eve", 2, ("a100-04",))
    _run(world, "research", "tabular-baseline", "lucia.m", 0, ("cpu-01",))
    waits = "2 of 2 pods wait: no node has 8 free GPUs; the largest free block is 4"
    _job(world, ("nlp", "llama3-70b-lora", "mei.lin"), (8, 2), {"state": "Queuing", "message": waits}, minutes=42)
    _job(world, ("research", "hostile", HOSTILE), (1, 1), {"state": "Created", "message": HOSTILE}, minutes=3)
    failed = {"state": "Failed", "message": "worker-3 ran out of memory (64Gi)", "completionTime": ago(minutes=16)}
    _job(world, ("vision", "resnet50-ablation-14", "tomas.k"), (1, 4), failed, minutes=90)
    for number in range(12):
        done = {
            "state": "Succeeded",
            "completionTime": ago(days=number, minutes=5),
            "startTime": ago(days=number, hours=2),
        }
        _job(world, ("vision", f"sweep-{number}", "priya.n"), (1, 1), done, minutes=number * 1440 + 120)
    world.put_pod("kube-system", "dns-1", "", "cpu-01", cpu="500m", memory="1Gi")


def _queues(world: World) -> None:
    gpu, cpu, memory = "nvidia.com/gpu", "cpu", "memory"
    nominal = [
        {"name": gpu, "nominalQuota": "32"},
        {"name": cpu, "nominalQuota": "40"},
        {"name": memory, "nominalQuota": "400Gi"},
    ]
    used = [
        {"name": gpu, "total": "28", "borrowed": "4"},
        {"name": cpu, "total": "15"},
        {"name": memory, "total": "120Gi"},
    ]
    shared = {"cohortName": "company", "resourceGroups": [{"flavors": [{"name": "a100", "resources": nominal}]}]}
    status = {"flavorsUsage": [{"name": "a100", "resources": used}], "pendingWorkloads": 3, "admittedWorkloads": 3}
    world.put(CLUSTER_QUEUES, "", "research-and-nlp", spec=shared, status=status)
    stopped = {"stopPolicy": "Hold", "resourceGroups": [{"flavors": [{"name": "cpus", "resources": nominal[1:]}]}]}
    world.put(CLUSTER_QUEUES, "", "vision", spec=stopped)
    for namespace, name in (("nlp", "research-and-nlp"), ("research", "research-and-nlp"), ("vision", "vision")):
        world.put(LOCAL_QUEUES, namespace, "gpus", spec={"clusterQueue": name}, status={"pendingWorkloads": 1})
    world.put(LOCAL_QUEUES, "secret", "gpus", spec={"clusterQueue": "research-and-nlp"})
    message = "couldn't assign flavors: insufficient unused quota for nvidia.com/gpu in flavor a100, 12 more needed"
    for namespace, name, minutes in (
        ("nlp", "llama3-70b-lora", 42),
        ("secret", "of-others", 30),
        ("research", "hostile", 3),
    ):
        owner = {"apiVersion": VERSION, "kind": "PyTorchJob", "name": name, "uid": f"uid-{name}", "controller": True}
        requests = {"cpu": "3", "memory": "24Gi", "nvidia.com/gpu": "8"}
        template = {"spec": {"containers": [{"resources": {"requests": requests}}]}}
        world.put(
            WORKLOADS,
            namespace,
            f"pytorchjob-{name}",
            metadata={"creationTimestamp": ago(minutes=minutes), "ownerReferences": [owner]},
            spec={"queueName": "gpus", "priority": 10, "podSets": [{"count": 2, "template": template}]},
            status={"conditions": [{"type": "QuotaReserved", "status": "False", "message": message}]},
        )


def _run(world: World, namespace: str, name: str, user: str, gpus: int, nodes: tuple[str, ...]) -> None:
    status = {"state": "Running", "startTime": ago(hours=7, minutes=36), "ready": f"{len(nodes)}/{len(nodes)}"}
    uid = _job(world, (namespace, name, user), (gpus, len(nodes)), status, minutes=460)
    for index, node in enumerate(nodes):
        requests = {"cpu": "3", "memory": "24Gi", **({"gpu": str(gpus)} if gpus else {})}
        world.put_pod(namespace, f"{name}-worker-{index}", uid, node, **requests)


def _job(
    world: World, whose: tuple[str, str, str], size: tuple[int, int], status: dict[str, Any], *, minutes: float
) -> str:
    """`whose` is namespace, name and user; `size` is the GPUs of each pod, and the number of pods."""
    (namespace, name, user), (gpus, replicas) = whose, size
    requests = {"cpu": "3", "memory": "24Gi", **({"nvidia.com/gpu": gpus} if gpus else {})}
    template = {"spec": {"containers": [{"name": "pytorch", "resources": {"requests": requests}}]}}
    spec: dict[str, Any] = {"pytorchReplicaSpecs": {"Worker": {"replicas": replicas, "template": template}}}
    if name == "llama3-8b-dpo":
        spec["cacheBackend"] = {"name": "mix", "dataset": {"dataSources": [{"location": "s3://data/preferences/v3"}]}}
    metadata = {"creationTimestamp": ago(minutes=minutes), "annotations": {"kubedl.io/user": user}}
    return world.put_whole_job(namespace, name, metadata, spec, status)
