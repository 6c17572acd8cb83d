"""A job as its kind sees it."""

from kubedl.api.replica_spec import Dependency
from kubedl.training.job import Replica
from tests.training_builders import tf_job, torch_job


def test_roles_come_in_the_kinds_order_whatever_the_users() -> None:
    """Ranks and creation depend on it."""
    job = tf_job().workers(2).chief().ps(1)
    view = job.kind.job(job.build())
    assert list(view.roles) == ["PS", "Chief", "Worker"]
    assert [(one.role, one.index) for one in view.replicas()] == [("PS", 0), ("Chief", 0), ("Worker", 0), ("Worker", 1)]


def test_what_the_user_wrote_wins_over_the_kinds_default() -> None:
    """Where nothing is written the kind's holds; an empty list is something."""
    after = [{"upstream": "master", "phase": "Ready"}]
    job = torch_job().master(restartPolicy="Never").workers(1, dependsOn=after)
    view = job.kind.job(job.build())
    assert view.roles["Master"].restart_policy == "Never"
    assert view.roles["Worker"].restart_policy == "OnFailure"
    assert view.roles["Worker"].depends_on == (Dependency(upstream="master", phase="Ready"),)
    assert view.roles["Master"].fatal


def test_names_follow_from_the_job() -> None:
    """A replica can be told of others that do not exist yet."""
    job = tf_job("mnist").workers(2)
    view = job.kind.job(job.build())
    assert view.pod_name(Replica("Worker", 1)) == "mnist-worker-1"
    assert view.host(Replica("Worker", 1)) == "mnist-worker-1.mnist.team.svc"


def test_ranks_count_all_replicas_in_the_kinds_order() -> None:
    """From the leader on, without gaps; a role of no replicas takes no rank."""
    job = tf_job().workers(2).chief().ps(0)
    view = job.kind.job(job.build())
    assert view.leader == Replica("Chief", 0)
    assert [view.rank(one) for one in view.replicas()] == [0, 1, 2]


def test_counts() -> None:
    """A role of no replicas is there and is not there."""
    job = tf_job().ps(0).workers(3)
    view = job.kind.job(job.build())
    assert (view.size, view.count("Worker"), view.count("PS"), view.count("Chief")) == (3, 3, 0, 0)
    assert "Worker" in view
    assert "PS" not in view
    assert "Chief" not in view


def test_the_port_is_the_users_by_name_and_container() -> None:
    """A sidecar's port of that name is another's."""
    job = tf_job()
    sidecar = {"name": "proxy", "ports": [{"name": "tfjob-port", "containerPort": 1}]}
    main = {
        "name": "tensorflow",
        "ports": [{"name": "http", "containerPort": 2}, {"name": "tfjob-port", "containerPort": 3}],
    }
    job = job.workers(1, template={"spec": {"containers": [sidecar, main]}}).ps(
        1, template={"spec": {"containers": [sidecar, {"name": "tensorflow", "ports": None}]}}
    )
    view = job.kind.job(job.build())
    assert (view.port("Worker"), view.port("PS")) == (3, 2222)
