"""A job with a cache: it waits for it, and every pod that it ever has mounts it."""

import asyncio
from typing import Any

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.cachebackend import CACHE_BACKENDS
from kubedl.api.conditions import find, is_true
from kubedl.training import pods
from kubedl.training.addons.registry import refusal
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests.training_builders import NOW, JobBuilder, decide, pod, tf_job
from tests.unit.datasets.backends import NAME, SPEC, backend, job
from tests.unit.training.api_model import ApiModel
from tests.unit.training.operator_model import OperatorModel
from tests.unit.training.world_model import World

JOB = job("train").workers(2).scope("Replica")
READY = backend(status={"cacheStatus": "PVCCreated"})
Body = dict[str, Any]


def render(builder: JobBuilder, attempt: int = 0) -> Body:
    """The first worker's pod."""
    view = builder.kind.job(builder.build())
    made = pods.render(builder.kind, view, Replica("Worker", 0), attempt, scope="Replica", settings=Settings())
    spec: Body = made["spec"]
    return spec


@pytest.mark.parametrize(
    ("cache", "reason", "message"),
    [
        (None, "CacheNotFound", f"there is no CacheBackend {NAME}"),
        (backend(), "CacheCreating", f"CacheBackend {NAME} is not ready"),
        (backend(status={"cacheStatus": "PVCCreating"}), "PVCCreating", "not ready"),
        (
            backend(
                status={
                    "cacheStatus": "CacheFailed",
                    "conditions": [{"type": "Ready", "status": "False", "message": "install Fluid"}],
                }
            ),
            "CacheFailed",
            "not ready: install Fluid",
        ),
        (with_metadata(READY, deletion_timestamp=NOW), "CacheLeaving", "is being deleted"),
    ],
)
def test_no_pod_is_made_before_the_cache_is_there(cache: Any, reason: str, message: str) -> None:  # noqa: ANN401
    """The job says what it waits for; its Service is made."""
    decided = decide(JOB, cache=cache, has_service=False)
    assert (decided.creations, decided.create_service, decided.wake_at) == ((), True, None)
    waiting = find(decided.status.conditions, "WaitingForCache")
    assert waiting is not None
    assert (waiting.status, waiting.reason) == ("True", reason)
    assert message in waiting.message
    assert (decided.status.state, decided.status.reason) == ("Created", "WaitingForCache")
    assert decided.status.replica_statuses["Worker"].active == 0
    assert decided.status.cache_backend_name == ""


def test_a_cache_that_the_job_describes_is_on_its_way() -> None:
    """Somebody else makes it."""
    waiting = find(decide(job(**SPEC)).status.conditions, "WaitingForCache")
    assert waiting is not None
    assert (waiting.reason, waiting.message) == ("CacheCreating", f"CacheBackend {NAME} is being made")


def test_pods_are_made_when_it_is_there() -> None:
    """And the job says which cache they mount."""
    decided = decide(JOB.said("WaitingForCache"), cache=READY)
    assert len(decided.creations) == 2
    assert not is_true(decided.status.conditions, "WaitingForCache")
    assert (decided.status.cache_backend_name, decided.status.reason) == (NAME, "WaitingForPods")


def test_pods_of_an_operator_that_died_before_it_said_so() -> None:
    """The next one says it."""
    decided = decide(JOB.said("WaitingForCache"), pod(JOB, "Worker", 0), pod(JOB, "Worker", 1), cache=READY)
    assert decided.creations == ()
    assert not is_true(decided.status.conditions, "WaitingForCache")
    assert decided.status.cache_backend_name == NAME


def test_a_job_that_runs_is_not_stopped_but_replacements_wait() -> None:
    """They could not start."""
    workers = [pod(JOB, "Worker", index).running() for index in range(2)]
    running = decide(JOB, *workers)
    assert (running.deletions, running.creations) == ((), ())
    assert find(running.status.conditions, "WaitingForCache") is None
    counted = JOB.counted("Worker", active=1, attempts={"1": 1})
    replaced = decide(counted, workers[0])
    assert replaced.creations == ()
    assert is_true(replaced.status.conditions, "WaitingForCache")
    assert len(decide(counted, workers[0], cache=READY).creations) == 1


def test_a_job_that_is_suspended_or_over_waits_for_nothing() -> None:
    """The condition does not outlive the wait."""
    waiting = JOB.said("WaitingForCache")
    assert not is_true(decide(waiting.suspended()).status.conditions, "WaitingForCache")
    late = waiting.with_spec(activeDeadlineSeconds=1).with_status(start_time=NOW)
    ended = decide(late, now=9)
    assert is_true(ended.status.conditions, "Failed")
    assert not is_true(ended.status.conditions, "WaitingForCache")


def test_a_replacement_waits_for_a_cache_that_comes_back_and_counts_once() -> None:
    """Through the whole loop: only a change of the cache makes the operator look again."""
    world = World(JOB.kind, JOB.build(), ApiModel(NOW))
    operator = OperatorModel(world.api, JOB.kind, JOB.build().metadata.key, lambda *_: None)

    def look() -> None:
        for _ in range(3):
            operator.deliver_all()
            if operator.has_reason():
                operator.reconcile(runner)

    with asyncio.Runner() as runner:
        look()
        assert (world.pods(), operator.has_reason(), operator.due) == ([], False, None)
        world.api.put(CACHE_BACKENDS, READY)
        look()
        assert len(world.pods()) == 2
        while world.bind(0, 0) or world.start(0):
            pass
        world.api.drop(CACHE_BACKENDS, READY.metadata.key)
        world.exit(1, 137)
        look()
        assert len(world.pods()) == 1
        assert world.job is not None
        assert is_true(world.job.status.conditions, "WaitingForCache")
        world.api.put(CACHE_BACKENDS, READY)
        look()
        assert len(world.pods()) == 2
        assert (world.job.status.retries, world.job.status.cache_backend_name) == (1, NAME)
        assert list(operator.controller.observer.jobs_using(READY)) == [world.job.metadata.key]


def test_a_job_without_a_cache_knows_nothing_of_it() -> None:
    """It costs nothing."""
    plain = tf_job().workers(1)
    decided = decide(plain, cache=None)
    assert len(decided.creations) == 1
    assert find(decided.status.conditions, "WaitingForCache") is None
    assert "volumes" not in render(plain)


@pytest.mark.parametrize("attempt", [0, 3])
def test_every_pod_mounts_it(attempt: int) -> None:
    """The first and those that replace it, in every container."""
    containers = [{"name": "tensorflow", "image": "a", "volumeMounts": [{"name": "x"}]}, {"name": "log", "image": "b"}]
    template = {"spec": {"containers": containers, "volumes": [{"name": "x", "emptyDir": {}}]}}
    spec = render(JOB.role("Worker", 2, template=template), attempt)
    assert spec["volumes"][1:] == [{"name": "cachevolume", "persistentVolumeClaim": {"claimName": NAME}}]
    for container in spec["containers"]:
        assert container["volumeMounts"][-1] == {"name": "cachevolume", "mountPath": "/data"}
        assert {"name": "KUBEDL_CACHE_NAME", "value": NAME} in container["env"]


def test_a_variable_of_the_users_stays() -> None:
    """What the user wrote wins."""
    own = {"name": "KUBEDL_CACHE_NAME", "value": "mine"}
    template = {"spec": {"containers": [{"name": "tensorflow", "env": [own]}]}}
    [container] = render(JOB.role("Worker", 1, template=template))["containers"]
    assert [entry for entry in container["env"] if entry["name"] == "KUBEDL_CACHE_NAME"] == [own]


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"mountPath": "/data"}, "name"),
        ({"name": "A", "mountPath": "/data"}, "name"),
        ({"name": "mnist", "mountPath": "/data"}, "name"),
        ({"name": NAME}, "mountPath"),
        ({"name": NAME, "mountPath": "data"}, "mountPath"),
    ],
)
def test_what_cannot_be_mounted_is_refused_before_any_pod(wish: dict[str, str], field: str) -> None:
    """With the field and what it should be."""
    found = refusal(tf_job("mnist").workers(1).with_spec(cacheBackend=wish).build())
    assert found is not None
    assert found[0] == "CacheInvalid"
    assert found[1].startswith(f"spec.cacheBackend.{field}: ")
