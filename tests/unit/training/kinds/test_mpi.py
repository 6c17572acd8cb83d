"""MPIJob: what the launcher knows, how workers are reached, and when it is done."""

from typing import Any

import pytest

from kubedl.podspec.template import TemplateError
from kubedl.training import pods
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests.training_builders import JobBuilder, decide, mpi_job

Body = dict[str, Any]

JOB = mpi_job("pi").workers(2).launcher()
ANNOTATION = "training.kubedl.io/ssh-"


def environment(job: JobBuilder, role: str) -> dict[str, str]:
    """Of one replica."""
    return dict(job.kind.environment(job.kind.job(job.build()), Replica(role, 0)))


def render(job: JobBuilder, role: str) -> Body:
    """The pod of the first replica."""
    view = job.kind.job(job.build())
    return pods.render(job.kind, view, Replica(role, 0), 0, scope="Job", settings=Settings())


def main(body: Body) -> Body:
    """The container that does the work."""
    container: Body = body["spec"]["containers"][0]
    return container


def files(body: Body) -> dict[str, tuple[str, int]]:
    """What the pod is given in its annotations, by the path at which it finds it, and with what mode."""
    volume = next(one for one in body["spec"]["volumes"] if one["name"] == "kubedl-ssh")
    found = {}
    for item in volume["projected"]["sources"][1]["downwardAPI"]["items"]:
        annotation = item["fieldRef"]["fieldPath"].removeprefix("metadata.annotations['").removesuffix("']")
        found[item["path"]] = body["metadata"]["annotations"][annotation], item["mode"]
    return found


def workers(**container: object) -> JobBuilder:
    """Two workers with this container."""
    template = {"spec": {"containers": [{"name": "mpi", "image": "mpi:1", **container}]}}
    return mpi_job("pi").workers(2, template=template).launcher()


def test_the_launcher_of_open_mpi_knows_its_hosts_and_how_to_reach_them() -> None:
    """By the names of version 4 and of version 5. No worker starts others: it has no key."""
    agent, hosts = "/etc/kubedl/ssh/agent", "/etc/kubedl/ssh/hostfile"
    assert environment(JOB, "Launcher") == {
        "OMPI_MCA_orte_default_hostfile": hosts,
        "OMPI_MCA_plm_rsh_agent": agent,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "PRTE_MCA_prte_default_hostfile": hosts,
        "PRTE_MCA_plm_ssh_agent": agent,
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    assert environment(JOB, "Worker") == {}


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (
            "IntelMPI",
            {
                "I_MPI_HYDRA_HOST_FILE": "/etc/kubedl/ssh/hostfile",
                "I_MPI_HYDRA_BOOTSTRAP": "ssh",
                "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/kubedl/ssh/agent",
                "I_MPI_HYDRA_BRANCH_COUNT": "0",
                "I_MPI_PERHOST": "2",
            },
        ),
        (
            "MPICH",
            {
                "HYDRA_HOST_FILE": "/etc/kubedl/ssh/hostfile",
                "HYDRA_LAUNCHER": "ssh",
                "HYDRA_LAUNCHER_EXEC": "/etc/kubedl/ssh/agent",
            },
        ),
    ],
)
def test_other_distributions_have_other_names(distribution: str, expected: dict[str, str]) -> None:
    """And another form of the hostfile."""
    job = JOB.with_spec(mpiDistribution=distribution, slotsPerWorker=2)
    assert environment(job, "Launcher") == expected
    assert files(render(job, "Launcher"))["hostfile"] == ("pi-worker-0:2\npi-worker-1:2\n", 0o444)


def test_the_hostfile_of_open_mpi() -> None:
    """Bare names; one slot unless the user says more."""
    assert files(render(JOB, "Launcher"))["hostfile"][0] == "pi-worker-0 slots=1\npi-worker-1 slots=1\n"
    more = JOB.with_spec(slotsPerWorker=4)
    assert files(render(more, "Launcher"))["hostfile"][0] == "pi-worker-0 slots=4\npi-worker-1 slots=4\n"


@pytest.mark.parametrize("job", [mpi_job("pi").launcher(), mpi_job("pi").workers(0).launcher()])
def test_a_launcher_alone_runs_its_ranks_itself(job: JobBuilder) -> None:
    """An empty list of hosts would be an error."""
    assert environment(job, "Launcher") == {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert "volumes" not in render(job, "Launcher")["spec"]


@pytest.mark.parametrize(
    ("role", "key", "given"),
    [
        ("Launcher", "id_ed25519", {"agent": 0o555, "hostfile": 0o444}),
        ("Worker", "authorized_keys", {"agent": 0o555, "start": 0o444, "session": 0o555, "sshd_config": 0o444}),
    ],
)
def test_each_has_its_half_of_the_key_and_its_files(role: str, key: str, given: dict[str, int]) -> None:
    """Everybody may read them, whoever the container runs as; what a pod makes of them stays in memory."""
    body = render(JOB, role)
    projected, own = body["spec"]["volumes"]
    assert projected["projected"]["defaultMode"] == 0o444
    secret = {"name": "pi-ssh-uid-pi", "items": [{"key": key, "path": key}]}
    assert projected["projected"]["sources"][0] == {"secret": secret}
    assert {path: mode for path, (_, mode) in files(body).items()} == given
    assert own == {"name": "kubedl-ssh-own", "emptyDir": {"medium": "Memory", "sizeLimit": "4Mi"}}
    assert main(body)["volumeMounts"] == [
        {"name": "kubedl-ssh", "mountPath": "/etc/kubedl/ssh", "readOnly": True},
        {"name": "kubedl-ssh-own", "mountPath": "/run/kubedl/ssh"},
    ]


def test_a_worker_without_a_command_serves_and_is_ready_when_it_does() -> None:
    """At the port that everybody agrees on."""
    body = render(JOB, "Worker")
    assert main(body)["command"] == ["/bin/sh", "/etc/kubedl/ssh/start"]
    assert main(body)["readinessProbe"] == {"tcpSocket": {"port": 2222}, "periodSeconds": 3}
    assert files(body)["sshd_config"][0].startswith("Port 2222\n")
    assert " -p 2222 " in files(render(JOB, "Launcher"))["agent"][0]


def test_the_port_of_the_workers_is_everybodys() -> None:
    """Also the launcher's, whose own template says nothing of it."""
    job = workers(ports=[{"name": "mpi-port", "containerPort": 2022}])
    assert files(render(job, "Worker"))["sshd_config"][0].startswith("Port 2022\n")
    assert main(render(job, "Worker"))["readinessProbe"]["tcpSocket"] == {"port": 2022}
    assert " -p 2022 " in files(render(job, "Launcher"))["agent"][0]


@pytest.mark.parametrize("own", [{"command": ["/serve"]}, {"args": ["serve"]}])
def test_what_a_worker_runs_is_the_users(own: Body) -> None:
    """By command, or by arguments to that of its image."""
    container = main(render(workers(**own), "Worker"))
    assert {name: container[name] for name in ("command", "args") if name in container} == own
    assert container["readinessProbe"] == {"tcpSocket": {"port": 2222}, "periodSeconds": 3}


def test_when_a_worker_is_ready_is_the_users() -> None:
    """If they say so."""
    probe = {"exec": {"command": ["true"]}}
    assert main(render(workers(readinessProbe=probe), "Worker"))["readinessProbe"] == probe


def test_what_the_user_mounts_stays() -> None:
    """Beside ours."""
    template = {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {
            "containers": [
                {"name": "mpi", "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
                {"name": "proxy"},
            ],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    }
    body = render(mpi_job("pi").workers(1, template=template).launcher(), "Worker")
    assert [one["name"] for one in body["spec"]["volumes"]] == ["data", "kubedl-ssh", "kubedl-ssh-own"]
    assert [one["name"] for one in main(body)["volumeMounts"]] == ["data", "kubedl-ssh", "kubedl-ssh-own"]
    assert body["metadata"]["annotations"]["a"] == "b"
    assert "volumeMounts" not in body["spec"]["containers"][1]


def test_another_container_may_do_the_work() -> None:
    """It is equipped, its port counts, and its end is that of the replica."""
    containers = [{"name": "proxy"}, {"name": "ranks", "ports": [{"name": "mpi-port", "containerPort": 2022}]}]
    template = {"spec": {"containers": containers}}
    job = mpi_job("pi").workers(1, template=template).launcher(template=template).with_spec(mainContainer="ranks")
    proxy, ranks = render(job, "Worker")["spec"]["containers"]
    assert job.kind.job(job.build()).container == "ranks"
    assert "command" not in proxy
    assert ranks["command"] == ["/bin/sh", "/etc/kubedl/ssh/start"]
    assert ranks["readinessProbe"]["tcpSocket"] == {"port": 2022}


def test_mounts_that_are_none_are_refused() -> None:
    """With the place."""
    with pytest.raises(TemplateError, match=r"the template of Worker: .*\$\.spec\.containers\[0\]\.volumeMounts"):
        render(workers(volumeMounts="x"), "Worker")


@pytest.mark.parametrize(
    ("finished", "expected"), [({}, False), ({"Worker": {0, 1}}, False), ({"Launcher": {0}}, True)]
)
def test_the_launcher_decides(finished: dict[str, set[int]], expected: bool) -> None:
    """Workers serve for ever."""
    done = {role: frozenset(members) for role, members in finished.items()}
    assert expected == JOB.kind.succeeded(JOB.kind.job(JOB.build()), done)


def test_defaults() -> None:
    """A collective restarts together; the launcher waits for workers that serve, and its failure alone is the job's."""
    view = JOB.kind.job(JOB.build())
    assert JOB.kind.restart_scope(view) == "Job"
    assert JOB.kind.clean_pod_policy == "Running"
    assert [(role.name, role.restart_policy, role.fatal) for role in view.roles.values()] == [
        ("Worker", "Never", False),
        ("Launcher", "Never", True),
    ]
    assert [(one.upstream, one.phase) for one in view.roles["Launcher"].depends_on] == [("Worker", "Ready")]


def test_policies_may_stand_in_either_place() -> None:
    """The engine finds them all in the spec; what is said in one place only holds."""
    nested = {
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 9,
        "activeDeadlineSeconds": 60,
        "backoffLimit": 0,
        "schedulingPolicy": {"priorityClassName": "high"},
    }
    spec = JOB.kind.job(JOB.with_spec(runPolicy=nested).build()).spec
    assert (spec.clean_pod_policy, spec.ttl_seconds_after_finished, spec.active_deadline_seconds) == ("All", 9, 60)
    assert (spec.backoff_limit, spec.scheduling_policy.priority_class_name) == (0, "high")
    both = JOB.with_spec(runPolicy={"backoffLimit": 3}, cleanPodPolicy="None", suspend=True)
    spec = JOB.kind.job(both.build()).spec
    assert (spec.backoff_limit, spec.clean_pod_policy, spec.suspend) == (3, "None", True)


@pytest.mark.parametrize("spec", [{"activeDeadlineSeconds": 60}, {"runPolicy": {"activeDeadlineSeconds": 60}}])
def test_the_deadline_is_shown_from_either_place(spec: Body) -> None:
    """`kubectl get -o wide` has one path for it."""
    assert decide(JOB.with_spec(**spec)).status.active_deadline_seconds == 60
    shown = {column.name: column.path for column in JOB.kind.custom_resource.columns}
    assert shown["Max-Lifetime"] == ".status.activeDeadlineSeconds"
