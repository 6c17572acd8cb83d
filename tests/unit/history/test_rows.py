"""From objects to rows."""

from datetime import timedelta

import pytest

from kubedl.history import rows, sanitizing
from kubedl.history.creator import creator
from kubedl.history.event_filter import MOST_WAITING, EventFilter
from kubedl.history.observation import Observation
from kubedl.history.observed import RecordedMeta
from kubedl.history.observed_pods import EVENTS, NODES, Involved
from kubedl.history.resource_requests import is_gpu, of_pod
from kubedl.kube import codec
from kubedl.training import labels
from tests.history.builders import NOW, decoded_pod, job, job_row, moment, pod, pod_row


def test_a_job_that_is_deleted_while_it_runs_has_an_end() -> None:
    """State Deleted, and the time of the deletion; a job that had ended keeps its state."""
    later = NOW + timedelta(hours=1)
    running = job_row(job(), deleted=True, now=later)
    assert (running.values["state"], running.values["finished"], running.deleted) == ("Deleted", later, True)
    done = job_row(job(state="Failed", completionTime="2026-11-17T12:10:00Z"), deleted=True, now=later)
    assert (done.values["state"], done.values["finished"]) == ("Failed", NOW + timedelta(minutes=10))


def test_nothing_that_a_user_may_keep_secret_is_in_a_row() -> None:
    """Neither environment nor arguments, annotations, credentials in URLs, termination messages."""
    obj = job()
    found = f"{job_row(obj)} {pod_row(pod(obj, phase='Failed'), deleted=True)}"
    assert "canary" in str(obj)
    assert "canary" not in found


def test_the_end_of_a_pod_is_that_of_its_containers() -> None:
    """With the exit code of the one that failed."""
    row = pod_row(pod(job(), phase="Failed")).values
    assert (row["exit_code"], row["reason"], row["finished"]) == (1, "Error", NOW + timedelta(minutes=9))


def test_the_end_of_a_pod_that_no_container_tells_stays_where_it_is() -> None:
    """A node has refused the pod, or evicted it; it is changed and deleted days later, and costs nothing meanwhile."""
    refused = pod(job(), phase="Failed")
    refused["status"] = {"phase": "Failed", "reason": "OutOfcpu", "conditions": []}
    for kind, minute in (("PodScheduled", 1), ("Ready", 2)):
        told = {"type": kind, "status": "True", "lastTransitionTime": moment(NOW + timedelta(minutes=minute))}
        refused["status"]["conditions"].append(told)
    for later in (timedelta(minutes=3), timedelta(days=10)):
        row = pod_row(refused, deleted=True, now=NOW + later).values
        assert row["finished"] == NOW + timedelta(minutes=2)
    refused["status"]["conditions"] = []
    assert pod_row(refused, now=NOW + timedelta(days=1)).values["finished"] == NOW + timedelta(days=1)


def test_labels_are_those_of_the_engine() -> None:
    """The names are written down twice, because features do not import each other."""
    assert (rows.ROLE, rows.INDEX, rows.ATTEMPT) == (labels.REPLICA_TYPE, labels.REPLICA_INDEX, labels.ATTEMPT)


def test_requests_count_as_the_scheduler_counts_them() -> None:
    """Containers and sidecars together, or an init container beside its sidecars if that is more; and the overhead."""
    obj = pod(job())
    obj["spec"]["containers"] = [{"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}] * 2
    obj["spec"]["initContainers"] = [
        {"name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
        {"name": "init", "resources": {"limits": {"memory": "8Gi"}, "requests": {"cpu": "nonsense"}}},
        {"name": "large", "resources": {"requests": {"cpu": "2"}}},
    ]
    obj["spec"]["overhead"] = {"cpu": "250m"}
    found = of_pod(decoded_pod(obj).spec)
    assert (found.cpu_millis, found.memory_bytes, found.gpus) == (2100 + 250, 8 << 30, 0)


@pytest.mark.parametrize(
    ("resource", "gpu"),
    [("nvidia.com/gpu", True), ("amd.com/gpu", True), ("nvidia.com/mig-1g.5gb", True), ("cpu", False), ("gpu", False)],
)
def test_gpus_of_every_vendor_count(resource: str, gpu: bool) -> None:
    """By the name of the resource."""
    assert is_gpu(resource) is gpu


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://user:secret@git.example/a.git?token=secret#x", "https://git.example/a.git"),
        ("git@git.example:team/a.git", "git@git.example:team/a.git"),
        ("user:secret@git.example:team/a.git", ""),
        ("https://[broken", ""),
        ("s3://bucket/data", "s3://bucket/data"),
    ],
)
def test_urls_lose_their_credentials(url: str, kept: str) -> None:
    """User, password, query and fragment."""
    assert sanitizing.without_credentials(url) == kept


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("cannot clone 'https://user:secret@git.example/a': 403", "cannot clone 'https://git.example/a': 403"),
        ("tried https://a.example and https://user:secret@b.example", "tried https://a.example and https://b.example"),
        ("GET https://s3.example/a?X-Amz-Signature=secret failed", "GET https://s3.example/a failed"),
        ("https://user:se cret@git.example/a", "https://git.example/a"),
        ("no address: a@b", "no address: a@b"),
    ],
)
def test_messages_lose_the_credentials_of_the_urls_that_they_quote(written: str, kept: str) -> None:
    """In bodies and in events."""
    assert sanitizing.body({"status": {"message": written}}) == {"status": {"message": kept}}
    event = {"metadata": {"uid": "e", "resourceVersion": "1"}, "message": written}
    assert rows.event_row(EVENTS.decoder.decode(codec.encode(event)), now=NOW).values["message"] == kept


def test_texts_fit_every_database() -> None:
    """No NUL, no half characters, no depth without end."""
    assert sanitizing.text("a\0b\ud800c" + "x" * 99, 6) == "ab?cx"
    deep: object = "end"
    for _ in range(40):
        deep = {"a": deep}
    assert "end" not in str(sanitizing.body(deep))


@pytest.mark.parametrize(
    ("annotations", "user", "source"),
    [
        ({}, "", ""),
        ({"kubedl.io/user": "ada"}, "ada", "User"),
        ({"kubedl.io/tenancy": '{"tenant": "t", "user": "bob"}'}, "bob", "Tenancy"),
        ({"kubedl.io/tenancy": "not JSON"}, "", ""),
        ({"kubedl.io/user": "ada", "kubedl.io/tenancy": '{"user": "bob"}'}, "ada", "User"),
    ],
)
def test_who_made_an_object_is_what_it_says(annotations: dict[str, str], user: str, source: str) -> None:
    """The annotation of today before that of KubeDL 0.5."""
    found = creator(RecordedMeta(annotations=annotations))
    assert (found.user, found.source) == (user, source)


def test_an_object_is_recorded_whatever_a_client_wrote_into_its_managed_fields() -> None:
    """Nobody hides a job, or what it costs, behind a year that Python does not have."""
    obj = job()
    obj["metadata"]["managedFields"].append({"manager": "first", "time": "0000-12-31T10:00:00Z"})
    assert job_row(obj).values["client"] == "first"


def test_events_that_quote_containers_lose_their_message() -> None:
    """A failed probe or hook prints what the program answered."""
    event = {"metadata": {"uid": "e", "resourceVersion": "1"}, "reason": "Unhealthy", "message": "canary", "count": 3}
    row = rows.event_row(EVENTS.decoder.decode(codec.encode(event)), now=NOW)
    assert (row.values["message"], row.values["count"]) == ("", 3)


def test_a_node_has_its_pool_and_whether_it_is_spot() -> None:
    """By the labels of the large clouds, and by our own."""
    labelled = {"eks.amazonaws.com/nodegroup": "gpu", "karpenter.sh/capacity-type": "spot"}
    node = {
        "metadata": {"uid": "n", "labels": labelled},
        "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "96"}},
    }
    row = rows.node_row(NODES.decoder.decode(codec.encode(node)), deleted=False, now=NOW).values
    assert (row["pool"], row["spot"], row["gpus"], row["cpu_millis"]) == ("gpu", True, 8, 96_000)


@pytest.mark.parametrize(
    ("version", "recorded"), [("training.kubedl.io/v1alpha1", True), ("", True), ("kubeflow.org/v1", False)]
)
def test_events_about_kinds_of_others_are_not_recorded(version: str, recorded: bool) -> None:
    """Kubeflow has a PyTorchJob too."""
    found: list[Observation] = []
    events = EventFilter({"PyTorchJob": "training.kubedl.io"}, found.append)
    events.offer(Involved(api_version=version, kind="PyTorchJob", uid="j"), Observation("events", "e", NOW, 1, {}))
    assert bool(found) is recorded


def test_events_wait_for_their_pods_in_bounded_number() -> None:
    """Those of other users' pods are never recorded."""
    recorded: list[Observation] = []
    events = EventFilter({"PyTorchJob": "training.kubedl.io"}, recorded.append)

    def offer(number: int, kind: str, about: str) -> None:
        event = Observation("events", f"event-{number}", NOW, number, {})
        events.offer(Involved(kind=kind, uid=about), event)

    offer(0, "PyTorchJob", "job")
    offer(1, "Pod", "ours")
    for number in range(2, MOST_WAITING):
        offer(number, "Pod", f"other-{number}")
    events.pod_seen("ours")
    offer(9999, "Pod", "ours")
    assert [event.uid for event in recorded] == ["event-0", "event-1", "event-9999"]
    for number in range(10_000, 10_000 + 2 * MOST_WAITING):
        offer(number, "Pod", f"other-{number}")
    events.pod_seen(f"other-{10_000 + 2 * MOST_WAITING - 1}")
    events.pod_seen("other-10000")
    assert len(recorded) == 4
