"""The pod of one replica."""

from typing import Any

import pytest

from kubedl.api.training import RestartScope
from kubedl.podspec.template import TemplateError
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels, pods, services
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests.training_builders import JobBuilder, pod, tf_job, torch_job

Body = dict[str, Any]


def render(
    job: JobBuilder, role: str = "Worker", index: int = 0, attempt: int = 0, scope: RestartScope = "Replica"
) -> Body:
    """The body that would be sent."""
    view = job.kind.job(job.build())
    return pods.render(job.kind, view, Replica(role, index), attempt, scope=scope, settings=Settings())


def templated(spec: Body | None = None, metadata: Body | None = None, **container: Any) -> JobBuilder:  # noqa: ANN401
    """Two workers (so that there is a TF_CONFIG) with this template."""
    main = {"name": "tensorflow", **container}
    template: Body = {"spec": {"containers": [main], **(spec or {})}}
    if metadata is not None:
        template["metadata"] = metadata
    return tf_job("mnist").workers(2, template=template)


def variables(body: Body, container: int = 0) -> dict[str, str]:
    """The environment of a container."""
    return {entry["name"]: entry.get("value") for entry in body["spec"]["containers"][container]["env"]}


def test_identity() -> None:
    """Name, labels of ours and of the first KubeDL, and the owner that takes it along."""
    body = render(tf_job("mnist").chief().workers(2), "Worker", 1, attempt=3)
    assert body["metadata"]["name"] == "mnist-worker-1"
    assert body["metadata"]["namespace"] == "team"
    assert body["metadata"]["labels"] == {
        "training.kubedl.io/job-name": "mnist",
        "training.kubedl.io/job-uid": "uid-mnist",
        "training.kubedl.io/replica-type": "worker",
        "training.kubedl.io/replica-index": "1",
        "training.kubedl.io/attempt": "3",
        "group-name": "training.kubedl.io",
        "job-name": "mnist",
        "replica-type": "worker",
        "replica-index": "1",
    }
    assert body["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "training.kubedl.io/v1alpha1",
            "kind": "TFJob",
            "name": "mnist",
            "uid": "uid-mnist",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


@pytest.mark.parametrize(("role", "expected"), [("Chief", "master"), ("Worker", None), ("PS", None)])
def test_the_leader_has_its_role_in_a_label(role: str, expected: str | None) -> None:
    """For people's selectors."""
    body = render(tf_job().ps(1).chief().workers(1), role)
    assert body["metadata"]["labels"].get("job-role") == expected


def test_it_is_found_by_its_bare_name_and_by_its_full_one() -> None:
    """Host name, subdomain, and a search domain beside those of the user."""
    spec = render(templated({"dnsConfig": {"searches": ["corp"], "nameservers": ["1.1.1.1"]}}))["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("mnist-worker-0", "mnist")
    assert spec["dnsConfig"] == {"searches": ["corp", "mnist.team.svc.cluster.local"], "nameservers": ["1.1.1.1"]}
    assert render(templated({"dnsConfig": None}))["spec"]["dnsConfig"] == {"searches": ["mnist.team.svc.cluster.local"]}


@pytest.mark.parametrize(
    ("policy", "scope", "expected"),
    [
        ("ExitCode", "Replica", "Never"),
        ("ExitCode", "Job", "Never"),
        ("OnFailure", "Replica", "OnFailure"),
        ("OnFailure", "Job", "Never"),
        ("Always", "Replica", "Always"),
        ("Never", "Replica", "Never"),
    ],
)
def test_the_kubelet_restarts_only_where_peers_do_not_care(policy: str, scope: RestartScope, expected: str) -> None:
    """Else the engine decides; what the template says does not count."""
    job = tf_job().workers(1, restartPolicy=policy)
    assert render(job, scope=scope)["spec"]["restartPolicy"] == expected


def test_the_users_environment_wins_and_may_refer_to_ours() -> None:
    """Ours comes first, so that $(NAME) is known."""
    body = render(templated(env=[{"name": "TF_CONFIG", "value": "mine"}]))
    assert body["spec"]["containers"][0]["env"] == [{"name": "TF_CONFIG", "value": "mine"}]
    body = render(templated(env=[{"name": "COPY", "value": "$(TF_CONFIG)"}]))
    assert [entry["name"] for entry in body["spec"]["containers"][0]["env"]] == ["TF_CONFIG", "COPY"]


def test_every_container_gets_the_environment_and_the_main_one_the_port() -> None:
    """Sidecars may report for the replica."""
    job = tf_job().workers(2, template={"spec": {"containers": [{"name": "log"}, {"name": "tensorflow"}]}})
    body = render(job)
    assert "TF_CONFIG" in variables(body, 0)
    assert "TF_CONFIG" in variables(body, 1)
    assert [container.get("ports") for container in body["spec"]["containers"]] == [
        None,
        [{"name": "tfjob-port", "containerPort": 2222, "protocol": "TCP"}],
    ]


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([{"name": "tfjob-port", "containerPort": 9}], False),
        ([{"name": "other", "containerPort": 2222}], False),
        ([{"name": "http", "containerPort": 80}], True),
        (None, True),
    ],
)
def test_a_port_that_is_there_is_not_added(given: list[Body] | None, added: bool) -> None:
    """By name or by number: the API server refuses both twice."""
    ports = render(templated(ports=given))["spec"]["containers"][0]["ports"]
    assert len(ports) == len(given or []) + added


def test_what_the_user_wrote_wins() -> None:
    """Except for names, labels of ours and the restart policy."""
    meta = {"labels": {"team": "a", labels.ATTEMPT: "99", "job-name": "other"}, "annotations": {"note": "x"}}
    spec = {
        "hostname": "mine",
        "restartPolicy": "Always",
        "priorityClassName": "low",
        "automountServiceAccountToken": True,
    }
    job = templated(spec, meta, terminationMessagePolicy="File").with_spec(
        schedulingPolicy={"priorityClassName": "high"}
    )
    body = render(job, attempt=1)
    assert body["metadata"]["labels"]["team"] == "a"
    assert body["metadata"]["labels"][labels.ATTEMPT] == "1"
    assert body["metadata"]["labels"]["job-name"] == "mnist"
    assert body["metadata"]["annotations"] == {"note": "x"}
    assert body["spec"]["hostname"] == "mnist-worker-0"
    assert body["spec"]["restartPolicy"] == "Never"
    assert body["spec"]["priorityClassName"] == "low"
    assert body["spec"]["automountServiceAccountToken"] is True
    assert body["spec"]["containers"][0]["terminationMessagePolicy"] == "File"


NULLS = {"priorityClassName": None, "automountServiceAccountToken": None}


@pytest.mark.parametrize(
    ("spec", "container"), [({}, {}), (NULLS, {"terminationMessagePolicy": None}), ({"priorityClassName": ""}, {})]
)
def test_what_the_user_left_out_is_filled_in(spec: Body, container: Body) -> None:
    """Priority by the job, the end of the log as last words, and no token for training code."""
    body = render(templated(spec, **container).with_spec(schedulingPolicy={"priorityClassName": "high"}))
    assert body["spec"]["priorityClassName"] == "high"
    assert body["spec"]["automountServiceAccountToken"] is False
    assert body["spec"]["containers"][0]["terminationMessagePolicy"] == "FallbackToLogsOnError"


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
def test_whoever_names_an_account_wants_its_token(field: str) -> None:
    """So the account's own setting holds."""
    assert "automountServiceAccountToken" not in render(templated({field: "trainer"}))["spec"]


def test_two_renderings_share_nothing() -> None:
    """Each may be changed on its way without spoiling the other."""
    job = templated({"dnsConfig": {"searches": ["corp"]}}, {"labels": {"a": "b"}})
    first = render(job)
    first["spec"]["dnsConfig"]["searches"].append("spoiled")
    first["metadata"]["labels"]["a"] = "spoiled"
    second = render(job)
    assert "spoiled" not in second["spec"]["dnsConfig"]["searches"]
    assert second["metadata"]["labels"]["a"] == "b"


def test_the_service_gives_names_and_nothing_else() -> None:
    """It selects by the job's uid: pods of an earlier job of that name are not its own."""
    job = torch_job("bert").master()
    assert services.render(job.kind, job.kind.job(job.build())) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "bert",
            "namespace": "team",
            "labels": {"training.kubedl.io/job-name": "bert", "training.kubedl.io/job-uid": "uid-bert"},
            "ownerReferences": [owner_reference(job.kind.resource, job.build())],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"training.kubedl.io/job-uid": "uid-bert"},
            "ports": [{"name": "pytorchjob-port", "port": 23456}],
        },
    }


@pytest.mark.parametrize(
    ("text", "expected"), [("3", 3), ("", 0), ("x", 0), ("-1", 0), ("1.5", 0), ("9" * 63, 0), ("9" * 5_000, 0)]
)
def test_a_spoiled_attempt_is_the_first(text: str, expected: int) -> None:
    """And never an error."""
    assert expected == labels.attempt(pod(tf_job().workers(1), "Worker").labelled(attempt=text).build())


def test_a_variable_by_env_from_does_not_replace_ours() -> None:
    """Kubernetes ranks it below every `env`; whoever wants another value writes it there."""
    given = [{"configMapRef": {"name": "addresses"}}]
    made = render(templated(envFrom=given))
    assert "TF_CONFIG" in variables(made)
    assert made["spec"]["containers"][0]["envFrom"] == given


def test_a_variable_that_no_process_can_be_started_with_is_refused() -> None:
    """Linux takes 131,072 bytes; the kubelet would only say that the container could not be made."""
    job = tf_job("a" * 26).workers(2000)
    view = job.kind.job(job.build())
    with pytest.raises(TemplateError, match="TF_CONFIG has the address of every replica and would have"):
        pods.render(job.kind, view, Replica("Worker", 0), 0, scope="Replica", settings=Settings())


@pytest.mark.parametrize(("number", "spot"), [(0, []), (1, [2]), (2, [1, 2]), (5, [0, 1, 2])])
def test_spot_replicas_are_those_with_the_highest_indexes(number: int, spot: list[int]) -> None:
    """They have a class and labels of their own; KubeDL's labels cannot be replaced."""
    labels_of_spot = {"pool": "spot", "replica-index": "9"}
    wanted = {"spotReplicaNumber": number, "priorityClassName": "low", "labels": labels_of_spot}
    template = {
        "metadata": {"labels": {"pool": "any", "team": "a"}},
        "spec": {"containers": [{"name": "tensorflow"}], "priorityClassName": "high"},
    }
    job = tf_job().workers(3, template=template, spotReplicaSpec=wanted)
    bodies = [render(job, index=index) for index in range(3)]
    assert [index for index, body in enumerate(bodies) if body["spec"]["priorityClassName"] == "low"] == spot
    assert [index for index, body in enumerate(bodies) if body["metadata"]["labels"]["pool"] == "spot"] == spot
    assert {body["metadata"]["labels"]["team"] for body in bodies} == {"a"}
    assert [body["metadata"]["labels"]["replica-index"] for body in bodies] == ["0", "1", "2"]


def test_spot_replicas_without_a_class_keep_that_of_the_others() -> None:
    policy = {"priorityClassName": "high"}
    job = tf_job().workers(1, spotReplicaSpec={"spotReplicaNumber": 1}).with_spec(schedulingPolicy=policy)
    assert render(job)["spec"]["priorityClassName"] == "high"


def test_a_queue_that_admits_fewer_replicas_makes_no_other_one_spot() -> None:
    job = tf_job().workers(4, spotReplicaSpec={"spotReplicaNumber": 2, "priorityClassName": "low"})
    view = job.kind.job(job.build())
    view.limit("Worker", 3)
    body = pods.render(job.kind, view, Replica("Worker", 1), 0, scope="Replica", settings=Settings())
    assert "priorityClassName" not in body["spec"]
