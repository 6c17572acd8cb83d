"""What is decided about a CacheBackend: made, followed, repaired, ended."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import find
from kubedl.datasets import fluid_objects
from kubedl.datasets.host_paths import MEMORY, HostPaths
from kubedl.datasets.plan import LONGEST_SLEEP, MOST_NAMED, Observed, plan, plan_missing, uses
from kubedl.kube import codec
from kubedl.kube.types.meta import ObjectKey
from tests.training_builders import NAMESPACE, NOW, after
from tests.unit.datasets.backends import ALLUXIO, NAME, SPEC, backend, claim, dataset, job, runtime

READY = Observed(
    backend=backend(), users=(), dataset=dataset(), runtime=runtime(), claim=claim(), installed=True, now=NOW
)
NOTHING = replace(READY, dataset=None, runtime=None, claim=None)
JUICEFS = {"fluid": {"juiceFSRuntime": {"replicas": 1, "tieredStorage": [{"mediumType": "SSD"}]}}}


def progress(observed: Observed) -> tuple[str | None, str]:
    """How far the cache is said to be, and why."""
    status = plan(observed).status
    ready = find(status.conditions, "Ready")
    assert ready is not None
    assert (ready.status == "True") == (status.cache_status == "PVCCreated")
    return status.cache_status, ready.reason


def made(observed: Observed) -> list[str]:
    """The kinds of what is made."""
    return [resource.kind for resource, _ in plan(observed).creations]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"dataset": None, "runtime": None, "claim": None}, ("CacheCreating", "Creating")),
        ({"runtime": None}, ("CacheCreating", "Creating")),
        ({"dataset": dataset("")}, ("CacheCreating", "DatasetNotBound")),
        ({"dataset": dataset("NotBound")}, ("CacheCreating", "DatasetNotBound")),
        ({"dataset": dataset("DataMigrating")}, ("CacheCreating", "DatasetNotBound")),
        ({"dataset": dataset("Updating")}, ("PVCCreated", "ClaimCreated")),
        ({"dataset": dataset(deletion_timestamp=NOW)}, ("CacheCreating", "DatasetNotBound")),
        ({"runtime": runtime(deletion_timestamp=NOW)}, ("CacheCreating", "DatasetNotBound")),
        ({"dataset": dataset("Failed")}, ("CacheFailed", "DatasetFailed")),
        ({"claim": None}, ("PVCCreating", "ClaimMissing")),
        ({"claim": claim("somebody")}, ("CacheFailed", "NameTaken")),
        ({"dataset": dataset(owner="another")}, ("CacheFailed", "NameTaken")),
        ({"runtime": runtime(owner="another")}, ("CacheFailed", "NameTaken")),
        ({"installed": False, "dataset": None, "runtime": None}, ("CacheFailed", "FluidNotInstalled")),
        ({"backend": backend(cacheEngine={"fluid": {}})}, ("CacheFailed", "SpecInvalid")),
        ({"backend": backend(cacheEngine={"fluid": ALLUXIO | JUICEFS["fluid"]})}, ("CacheFailed", "SpecInvalid")),
        ({}, ("PVCCreated", "ClaimCreated")),
    ],
)
def test_how_far_it_is_follows_from_fluids_objects(changes: dict[str, Any], expected: tuple[str, str]) -> None:
    """From them alone, whatever was said before."""
    observed = replace(READY, **changes)
    assert progress(observed) == expected
    before = replace(observed, backend=replace_status(observed, cacheStatus="PVCCreated"))
    assert progress(before) == expected


def replace_status(observed: Observed, **status: object) -> Any:  # noqa: ANN401 - a backend
    """The backend with another status."""
    spec = codec.plain(observed.backend.spec)
    return backend(status=status, **spec)


def test_what_fluid_lacks_is_made_and_made_again() -> None:
    """Each by itself; what is going is waited for, so that its name is free."""
    assert made(NOTHING) == ["Dataset", "AlluxioRuntime"]
    assert made(replace(READY, dataset=None)) == ["Dataset"]
    assert made(replace(READY, runtime=None)) == ["AlluxioRuntime"]
    assert made(replace(READY, dataset=dataset(deletion_timestamp=NOW))) == []
    assert made(READY) == []
    assert made(replace(NOTHING, backend=backend(cacheEngine=JUICEFS))) == ["Dataset", "JuiceFSRuntime"]


@pytest.mark.parametrize(
    "changes", [{"installed": False}, {"backend": backend(cacheEngine={"fluid": {}})}, {"runtime": runtime(owner="x")}]
)
def test_nothing_is_made_that_cannot_be_used(changes: dict[str, Any]) -> None:
    """Without Fluid, by a spec that is none, or beside what belongs to others."""
    assert made(replace(NOTHING, **changes)) == []


def test_fluid_gets_what_the_backend_asks_for() -> None:
    """By Fluid's own names, and belonging to the backend."""
    (_, data), (_, engine) = plan(NOTHING).creations
    assert data["spec"] == {"mounts": [{"mountPoint": "s3://bucket/mnist", "name": "mnist"}]}
    levels = [{"mediumtype": "MEM", "path": f"{MEMORY}/x", "quota": "1Gi"}]
    assert engine["spec"] == {"replicas": 2, "tieredstore": {"levels": levels}}
    for body in (data, engine):
        assert (body["apiVersion"], body["metadata"]["name"]) == ("data.fluid.io/v1alpha1", NAME)
        [owner] = body["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == ("uid-data", True)


def test_fluids_own_words_are_passed_on() -> None:
    """They say what is wrong with the data."""
    ready = find(plan(replace(READY, dataset=dataset("Failed", "no such bucket"))).status.conditions, "Ready")
    assert ready is not None
    assert ready.message == "no such bucket"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (job(), True),
        (job().said("Running"), True),
        (job().suspended(), False),
        (job().said("Succeeded"), False),
        (job().said("Failed"), False),
        (job().with_metadata(deletionTimestamp="2026-01-01T12:00:00Z"), False),
    ],
)
def test_who_uses_it(user: Any, expected: bool) -> None:  # noqa: ANN401 - a job in the making
    """Whoever has pods, or is about to."""
    assert uses(user.build()) == expected


def test_users_are_named_and_counted() -> None:
    """While there are any, it is in use."""
    before = backend(status={"lastUsedTime": "2026-01-01T00:00:00Z"})
    status = plan(replace(READY, backend=before, users=(job("b").build(), job("a").build()))).status
    assert (status.used_by, status.used_num, status.last_used_time) == (("a", "b"), 2, None)


def test_a_status_stays_small() -> None:
    """All are counted, not all are named."""
    users = tuple(job(f"job-{number}").build() for number in range(MOST_NAMED + 1))
    status = plan(replace(READY, users=users)).status
    assert (len(status.used_by), status.used_num) == (MOST_NAMED, MOST_NAMED + 1)


IDLE = backend(idle=60, status={"cacheStatus": "PVCCreated", "lastUsedTime": "2026-01-01T12:00:00Z"})


def test_an_idle_one_goes_when_its_time_is_over() -> None:
    """Counted from when the last job ended, or from when it was ready if there was none."""
    fresh = plan(replace(READY, backend=backend(idle=60)))
    assert (fresh.status.last_used_time, fresh.delete, fresh.again) == (NOW, False, timedelta(seconds=60))
    early = plan(replace(READY, backend=IDLE, now=after(59)))
    assert (early.delete, early.again) == (False, timedelta(seconds=1))
    over = plan(replace(READY, backend=IDLE, now=after(60)))
    assert (over.delete, over.creations, over.again) == (True, (), None)


@pytest.mark.parametrize(
    "changes",
    [
        {"users": (job().build(),)},
        {"backend": backend(status={"lastUsedTime": "2026-01-01T12:00:00Z"})},
        {"claim": None},
        {"installed": False},
    ],
)
def test_one_that_is_used_or_broken_or_has_no_limit_stays(changes: dict[str, Any]) -> None:
    """Somebody may want to see what is wrong with it."""
    decided = plan(replace(READY, **{"backend": IDLE, "now": after(3600), **changes}))
    assert (decided.delete, decided.again) == (False, None)


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_a_moment_that_somebody_made_up_stops_nothing(moment: str) -> None:
    """It is a status; anybody may have edited it."""
    spoiled = backend(idle=2**31 - 1, status={"cacheStatus": "PVCCreated", "lastUsedTime": moment})
    decided = plan(replace(READY, backend=spoiled))
    assert decided.delete == moment.startswith("0001")
    assert decided.again in (None, LONGEST_SLEEP)


def test_one_that_is_deleted_is_left_to_the_garbage_collector() -> None:
    """Nothing is made for it again."""
    decided = plan(replace(NOTHING, backend=with_metadata(backend(), deletion_timestamp=NOW)))
    assert (decided.creations, decided.delete, decided.status) == ((), False, backend().status)


def test_an_equal_sight_changes_nothing() -> None:
    """Deciding twice gives the status that is there."""
    first = plan(READY).status
    again = plan(replace(READY, backend=replace_status(READY, **codec.plain(first)), now=after(9)))
    assert again.status == first


def test_the_engine_of_a_backend_is_one() -> None:
    """Both, or none, is no choice."""
    assert fluid_objects.engine(backend()) is not None
    assert fluid_objects.engine(backend(cacheEngine={})) is None
    assert fluid_objects.engine(backend(cacheEngine=None)) is None


def _reading(location: str) -> dict[str, Any]:
    return {"dataset": {"dataSources": [{"location": location}]}}


def _keeping(path: str) -> dict[str, Any]:
    levels = [{"mediumType": "SSD", "cachePath": path}]
    return {"cacheEngine": {"fluid": {"alluxioRuntime": {"tieredStorage": levels}}}}


@pytest.mark.parametrize(
    ("spec", "fine"),
    [
        (_reading("s3://bucket"), True),
        (_reading("local:///etc"), False),
        (_reading("LOCAL:///etc"), False),
        (_reading("local:///dev/shm/other-team"), False),
        (_reading("local:///mnt/data"), True),
        (_reading("local:///mnt/data/mnist"), True),
        (_reading("local:///mnt/database"), False),
        (_reading("local:///mnt/data/../../etc"), False),
        (_keeping(MEMORY), True),
        (_keeping(f"{MEMORY},/mnt/data"), True),
        (_keeping(f"{MEMORY},/etc"), False),
        (_keeping("/var/lib/kubelet"), False),
    ],
)
def test_directories_of_nodes_are_used_only_where_an_administrator_allows_it(spec: dict[str, Any], fine: bool) -> None:
    """Fluid's pods mount what its objects say, and the operator makes those for people who may not."""
    observed = replace(NOTHING, backend=backend(**spec), host_paths=HostPaths.parse("/mnt/data/"))
    assert (progress(observed) == ("CacheFailed", "HostPathNotAllowed")) == (not fine)
    assert bool(made(observed)) == fine
    there = replace(READY, backend=observed.backend)
    assert progress(there) == ("PVCCreated", "ClaimCreated")  # what was made before is left alone


@pytest.mark.parametrize("text", ["data", "/", "/mnt,/"])
def test_a_list_of_directories_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        HostPaths.parse(text)


def test_a_backend_that_is_missing_is_as_its_oldest_user_describes_it() -> None:
    """A job that only names it does not know what it is."""
    key, resource = ObjectKey(NAMESPACE, NAME), job().kind.resource
    names, late, early = (
        with_metadata(one.build(), creation_timestamp=after(seconds))
        for one, seconds in ((job("names"), 0), (job("late", **SPEC), 20), (job("early", **SPEC), 10))
    )
    assert plan_missing(key, []) is None
    assert plan_missing(key, [(resource, names)]) is None
    decided = plan_missing(key, [(resource, names), (resource, late), (resource, early)])
    assert decided is not None
    assert (decided.user, decided.body["metadata"]["name"]) == ((resource, early), NAME)
