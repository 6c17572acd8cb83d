"""What YuniKorn is told of a gang: an application with a task group for each role, as large as its pods."""

import json
from typing import Any

import pytest

from kubedl.podspec.template import TemplateError
from kubedl.training import pods
from kubedl.training.gang.assignment import NOT_FOUND
from kubedl.training.gang.pod_resources import requested
from kubedl.training.observed import Settings
from kubedl.training.policies.failure_policy import NOT_PLACED
from tests.training_builders import JobBuilder, pod, tf_job
from tests.unit.training.gang.gang_builders import INSTALLED, asking, planned

DOMAIN = "yunikorn.apache.org"


def container(**requests: str) -> dict[str, Any]:
    return {"name": "tensorflow", "image": "none", "resources": {"requests": requests}}


def role(cpu: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"template": {"spec": {"containers": [container(cpu=cpu)], **fields}}}


JOB = asking(
    tf_job().ps(1, **role("1")).workers(3, **role("2500m", nodeSelector={"pool": "gpu"})), gangScheduler="yunikorn"
)


def joined(job: JobBuilder, place: int = 0) -> dict[str, Any]:
    """A pod as it is created."""
    made = planned(job).creations[place]
    assert made.gang is not None
    whole = job.kind.job(job.build())
    body = pods.render(job.kind, whole, made.replica, made.attempt, scope="Job", settings=Settings())
    made.gang.join(body)
    return body


def annotation(body: dict[str, Any], name: str) -> str:
    return str(body["metadata"]["annotations"][f"{DOMAIN}/{name}"])


def test_every_pod_declares_all_roles_with_their_size_and_place() -> None:
    for place, name in enumerate(("ps", "worker", "worker", "worker")):
        body = joined(JOB, place)
        assert json.loads(annotation(body, "task-groups")) == [
            {"name": "ps", "minMember": 1, "minResource": {"cpu": "1"}},
            {"name": "worker", "minMember": 3, "minResource": {"cpu": "2500m"}, "nodeSelector": {"pool": "gpu"}},
        ]
        assert annotation(body, "task-group-name") == name
        assert body["spec"]["schedulerName"] == "yunikorn"


def test_it_never_falls_back_to_pods_one_by_one() -> None:
    assert annotation(joined(JOB), "schedulingPolicyParameters") == "gangSchedulingStyle=Hard"


def test_fewer_than_all_are_counted_in_the_order_of_roles() -> None:
    policy = {"gangScheduler": "yunikorn", "minAvailable": 2}
    groups = json.loads(annotation(joined(JOB.with_spec(schedulingPolicy=policy)), "task-groups"))
    assert {group["name"]: group["minMember"] for group in groups} == {"ps": 1, "worker": 1}


def test_a_role_that_is_not_needed_at_once_has_no_placeholders() -> None:
    policy = {"gangScheduler": "yunikorn", "minAvailable": 1}
    body = joined(JOB.with_spec(schedulingPolicy=policy), 1)
    assert [group["name"] for group in json.loads(annotation(body, "task-groups"))] == ["ps"]
    assert f"{DOMAIN}/task-group-name" not in body["metadata"]["annotations"]


def test_every_attempt_is_an_application_of_its_own() -> None:
    """One that has run gets no placeholders again, so its pods would be placed one by one."""
    first, second = joined(JOB), joined(JOB.with_status(attempt=1))
    assert first["metadata"]["labels"]["applicationId"] != second["metadata"]["labels"]["applicationId"]


def test_its_name_is_a_label_value() -> None:
    name = "a" * 54
    job = asking(tf_job(name).workers(4), gangScheduler="yunikorn").with_metadata(uid="01234567-0000")
    assert len(joined(job.with_status(attempt=99_999))["metadata"]["labels"]["applicationId"]) <= 63


def test_its_queue_is_that_of_the_job() -> None:
    policy = {"gangScheduler": "yunikorn", "queue": "root.team"}
    assert annotation(joined(JOB.with_spec(schedulingPolicy=policy)), "queue") == "root.team"
    assert f"{DOMAIN}/queue" not in joined(JOB)["metadata"]["annotations"]


def test_auto_never_takes_it() -> None:
    """It cannot be found."""
    job = tf_job().workers(2).with_spec(schedulingPolicy={"minAvailable": 2})
    decided = planned(job, installed={"yunikorn": INSTALLED["yunikorn"]})
    assert (decided.creations, decided.status.reason) == ((), NOT_FOUND)


def test_a_gang_that_it_gave_up_is_tried_again_without_a_retry() -> None:
    found = [pod(JOB, "PS").refused(NOT_PLACED), *(pod(JOB, "Worker", n).refused(NOT_PLACED) for n in range(3))]
    decided = planned(JOB.scope("Job"), *found, now=1)
    assert (decided.status.attempt, decided.status.retries, decided.status.state) == (1, 0, "Restarting")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container(cpu="500m"), container(cpu="250m", memory="1Gi")]}, ("750m", "1073741824")),
        ({"containers": [container(cpu="1")], "initContainers": [container(cpu="3", memory="5")]}, ("3", "5")),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [{**container(cpu="1"), "restartPolicy": "Always"}, container(cpu="1500m")],
            },
            ("2500m", None),
        ),
        ({"containers": [container(cpu="1")], "overhead": {"cpu": "100m"}}, ("1100m", None)),
        ({"containers": [{"name": "a", "resources": {"limits": {"cpu": 2}}}]}, ("2", None)),
        ({"containers": [{"name": "a"}]}, (None, None)),
    ],
)
def test_requests_are_counted_as_kubernetes_does(spec: dict[str, Any], expected: tuple[str | None, str | None]) -> None:
    found = requested(spec)
    assert (found.get("cpu"), found.get("memory")) == expected


@pytest.mark.parametrize("resources", [{"requests": {"cpu": "many"}}, {"requests": ["cpu"]}, "cpu"])
def test_what_is_no_quantity_is_an_error_of_the_template(resources: object) -> None:
    with pytest.raises(TemplateError):
        requested({"containers": [{"name": "a", "resources": resources}]})
