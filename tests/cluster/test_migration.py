"""Whoever comes from the Go KubeDL finds every field that they know, and every job that they have runs.

Held against its last release for every kind that is installed here: a kind that is added is judged without being named.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache as cached

import pytest

from harness.drivers.operator_process import install_custom_resources
from kubedl.api import cachebackend, cron, inference, model
from kubedl.kube import codec
from kubedl.schema.crd import CustomResource
from kubedl.training import pods
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from kubedl.training.observed import Observed, Settings
from kubedl.training.planner import plan
from kubedl.training.restarts import scope
from testbed.cluster import Cluster
from tests import howto_page, legacy_kubedl
from tests.legacy_kubedl import Object

Record = Callable[[str, object], None]

KINDS = {kind.kind: kind for kind in all_kinds()}
TRY = "dryRun=All&fieldValidation=Strict"  # as kubectl asks for it
ROLES = "<roles>"  # stands for the field that holds them, whatever a kind calls it
GONE = "Fields that are gone"
EVERY = "Field by field"
OTHERS = (cachebackend.CUSTOM_RESOURCE, cron.CUSTOM_RESOURCE, *model.CUSTOM_RESOURCES, inference.CUSTOM_RESOURCE)

# The pods of each example, and what each must be: its restart policy and the variables that it is given. Written down
# from the documentation and the code of that release, not from what we make of it.
ONE_ALONE = ("Never", set[str]())
IN_A_CLUSTER = ("Never", {"TF_CONFIG"})
RENDEZVOUS = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "PYTHONUNBUFFERED"}
XDL = ("Never", {"XDL_CONFIG", "TASK_NAME", "TASK_INDEX", "ZK_ADDR"})
THREE_WORKERS = {f"tf-distributed-worker-{index}": IN_A_CLUSTER for index in range(3)}
EXPECTED: dict[str, dict[str, tuple[str, set[str]]]] = {
    "tf/tf_job_mnist.yaml": {"mnist-worker-0": ONE_ALONE},
    "tf/tf_job_mnist_cache.yaml": {"tf-cache-worker-0": ("Never", {"KUBEDL_CACHE_NAME"})},
    "tf/tf_job_mnist_distributed_simple.yaml": {
        f"tf-distributed-simple-worker-{index}": IN_A_CLUSTER for index in range(3)
    },
    "tf/tf_job_mnist_modelversion.yaml": THREE_WORKERS,
    "tf/tf_job_mnist_volume.yaml": THREE_WORKERS,
    "xgboost/xgboostjob_v1alpha1_iris_train.yaml": {
        f"xgboost-dist-test-{name}": ("Never", RENDEZVOUS) for name in ("master-0", "worker-0", "worker-1")
    },
    "elasticdl/elasticdl_job_mnist.yaml": {"elasticdl-test-mnist-master": ONE_ALONE},
    "xdl/xdl_job_mnist.yaml": {
        f"xdl-mnist-example-{name}": XDL for name in ("scheduler-0", "ps-0", "worker-0", "worker-1")
    },
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_field_is_there_or_on_the_list(kind: Kind, record_property: Record) -> None:
    """With a type that takes what the old one took; and the list names nothing that is there after all."""
    theirs = legacy_kubedl.definition(kind.plural) or {}  # of a kind that it did not have nothing can be missed
    [version] = kind.custom_resource.definition()["spec"]["versions"]
    ours = version["schema"]["openAPIV3Schema"]
    paths = {path for path, _ in _fields(theirs, kind)}
    listed = {path for kinds, path in _gone() if path in paths and (kinds == "all" or kind.kind in kinds.split(", "))}
    gone = sorted(_outermost(_missing(theirs, ours, kind)))
    print(f"{kind.kind}: {len(paths)} fields, gone: {gone}")
    record_property("fields", len(paths))
    record_property("listed as gone", len(gone))
    assert sorted(listed) == gone


@pytest.mark.parametrize("custom", OTHERS, ids=lambda custom: custom.resource.kind)
def test_every_field_of_caches_models_and_inferences_is_there(custom: CustomResource) -> None:
    """They have no roles, so any kind of job will do to read them."""
    theirs = legacy_kubedl.definition(custom.resource.plural, custom.resource.group)
    assert theirs is not None
    [version] = custom.definition()["spec"]["versions"]
    kind = next(iter(KINDS.values()))
    gone = sorted(path for kinds, path in _gone() if kinds == custom.resource.kind)
    assert sorted(_missing(theirs, version["schema"]["openAPIV3Schema"], kind)) == gone


def test_the_page_goes_through_every_field_of_every_spec() -> None:
    """And through none that there never was."""
    listed = set(_listed())
    there = {(group, path) for group, path in _specs()}
    below = {(group, path.removesuffix(".*")) for group, path in listed if path.endswith(".*")}
    covered = {
        (group, path)
        for group, path in there
        if (group, path) in listed
        or any(group == other and f"{path}.".startswith((f"{outer}.", f"{outer}[")) for other, outer in below)
    }
    assert sorted(there - covered) == []
    assert sorted({(group, path.removesuffix(".*")) for group, path in listed} - there) == []


def test_the_judge_of_fields_is_awake() -> None:
    """A field that is taken away, or has another type, is found."""
    kind = next(iter(KINDS.values()))
    [version] = kind.custom_resource.definition()["spec"]["versions"]
    ours = version["schema"]["openAPIV3Schema"]
    more = codec.plain(ours)
    more["properties"]["spec"]["properties"]["old"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    more["properties"]["spec"]["properties"]["suspend"] = {"type": "string"}
    board = more["properties"]["spec"]["properties"]["tensorBoard"]["properties"]
    board["resources"] = {"type": "object", "properties": {"b": {}}}  # of which ours keeps whatever there is
    assert set(_outermost(_missing(more, ours, kind))) == {"spec.old", "spec.suspend"}


def _examples() -> list[tuple[str, Object]]:
    return [(name, job) for name, job in legacy_kubedl.examples() if job["kind"] in KINDS]


def test_every_example_is_expected() -> None:
    """Else its pods would be judged by nobody."""
    assert {name for name, _ in legacy_kubedl.examples()} == EXPECTED.keys()


def test_every_example_is_accepted_unchanged_and_gives_its_pods(
    cluster: Cluster, namespace: str, record_property: Record
) -> None:
    """By the API server: the job, and each of the pods that are made of it."""
    install_custom_resources(cluster)
    record_property("examples", len(_examples()))
    for name, job in _examples():
        kind = KINDS[job["kind"]]
        made = cluster.api.create(f"{kind.resource.path(namespace)}?{TRY}", _in(namespace, job))
        assert _contains(made["spec"], job["spec"]), name
        rendered = _pods(kind, made)
        found = {body["metadata"]["name"]: (body["spec"]["restartPolicy"], _added(body, job)) for body in rendered}
        assert found.keys() == EXPECTED[name].keys(), name
        for pod, (policy, variables) in EXPECTED[name].items():
            assert found[pod][0] == policy, f"{name}: {pod}"
            assert variables <= found[pod][1], f"{name}: {pod}"
        for body in rendered:
            cluster.api.create(f"/api/v1/namespaces/{namespace}/pods?{TRY}", body)


def _fields(schema: Object, kind: Kind, path: str = "") -> Iterator[tuple[str, Object]]:
    """Every field of a schema by its path; a template is Kubernetes' own, so nothing inside it is listed."""
    for name, inner in schema.get("properties", {}).items():
        if path or name in ("spec", "status"):
            step = ROLES if name == kind.replicas_field else name
            yield from _field(inner, kind, f"{path}.{step}" if path else step)


def _field(schema: Object, kind: Kind, path: str) -> Iterator[tuple[str, Object]]:
    yield path, schema
    if path.endswith(".template"):
        return
    yield from _fields(schema, kind, path)
    for below, step in (("items", "[]"), ("additionalProperties", "")):
        if isinstance(schema.get(below), dict):
            yield from _fields(schema[below], kind, path + step)


def _missing(theirs: Object, ours: Object, kind: Kind) -> Iterator[str]:
    known = dict(_fields(ours, kind))
    open_ended = tuple(f"{path}." for path, schema in known.items() if "x-kubernetes-preserve-unknown-fields" in schema)
    for path, schema in _fields(theirs, kind):
        if path.startswith(open_ended):
            continue
        if path not in known or known[path].get("type") != schema.get("type"):
            yield path


def _outermost(paths: Iterator[str]) -> Iterator[str]:
    """Without those that lie inside another."""
    found = sorted(paths)
    for path in found:
        if not any(path.startswith((f"{outer}.", f"{outer}[")) for outer in found):
            yield path


@cached
def _gone() -> list[tuple[str, str]]:
    """The list of the page: kinds, or all, and a field."""
    text = (howto_page.HOW_TO / "migrate.md").read_text()
    [section] = re.findall(rf"^## {GONE}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| ([\w ,]+) \| `([^`]+)` \|", section, re.MULTILINE)


def _listed() -> Iterator[tuple[str, str]]:
    """The table of the page, row by row: a kind, or jobs, and a field."""
    text = (howto_page.HOW_TO / "migrate.md").read_text()
    [section] = re.findall(rf"^## {EVERY}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    for kinds, path in re.findall(r"^\| ([\w ,]+) \| `([^`]+)` \|", section, re.MULTILINE):
        for kind in kinds.split(", "):
            yield kind, path


def _specs() -> Iterator[tuple[str, str]]:
    """Every field of every spec that it had; what all jobs have is theirs together."""
    per_kind: dict[str, set[str]] = {}
    for kind in KINDS.values():
        if (theirs := legacy_kubedl.definition(kind.plural)) is not None:
            per_kind[kind.kind] = {path for path, _ in _fields(theirs, kind) if path.startswith("spec.")}
    shared = set.intersection(*per_kind.values())
    yield from (("jobs", path) for path in shared)
    yield from ((kind, path) for kind, paths in per_kind.items() for path in paths - shared)
    for custom in OTHERS:
        theirs = legacy_kubedl.definition(custom.resource.plural, custom.resource.group) or {}
        for path, _ in _fields(theirs, next(iter(KINDS.values()))):
            if path.startswith("spec."):
                yield custom.resource.kind, path


def _in(namespace: str, job: Object) -> Object:
    return job | {"metadata": job["metadata"] | {"namespace": namespace}}


def _pods(kind: Kind, made: Object) -> list[Object]:
    """The pods that the engine makes of a job that the API server has accepted."""
    job = kind.job(kind.resource.decoder.decode(codec.encode(made)))
    observed = Observed(
        kind=kind,
        job=job,
        pods=(),
        deleted=(),
        has_service=True,
        lost_nodes={},
        now=datetime.now(UTC),
        settings=Settings(),
    )
    decided = plan(observed)
    assert decided.status.state == "Created"
    return [
        pods.render(kind, job, replica, 0, scope=scope(observed), settings=Settings()) for replica in job.replicas()
    ]


def _added(body: Object, job: Object) -> set[str]:
    """The variables that every container has been given or had."""
    assert body["metadata"]["labels"]["job-name"] == job["metadata"]["name"]
    given = [{variable["name"] for variable in container["env"]} for container in body["spec"]["containers"]]
    return set.intersection(*given)


def _contains(whole: object, part: object) -> bool:
    """Whether everything in `part` is in `whole`."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and _contains(whole[key], value) for key, value in part.items())
    if isinstance(whole, list) and isinstance(part, list):
        return len(whole) == len(part) and all(_contains(*pair) for pair in zip(whole, part, strict=True))
    return whole == part
