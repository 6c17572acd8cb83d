"""What the client asks of a server, and what it makes of the answers."""

import threading

import pytest

from kubedl.client import (
    AlreadyExists,
    Ambiguous,
    Forbidden,
    Invalid,
    JobFailed,
    NotFound,
    TrainingClient,
    Unreachable,
    WaitTimeout,
)
from kubedl.client.kinds import PATH
from kubedl.kube.sync_credentials import Overrides
from tests.unit.client.api_server import GROUP, ApiServer, ended, running, until

MANIFEST = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "metadata": {"name": "bert"}, "spec": {}}


class TestList:
    """Tables of all kinds."""

    def test_jobs_of_all_kinds_are_listed_newest_first(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("old", status={"state": "Running", "ready": "4/4", "restarts": 2})
        labels = {"kueue.x-k8s.io/queue-name": "team-a"}
        meta = {"creationTimestamp": "2026-01-02T00:00:00Z", "labels": labels}
        api.job("new", "tfjobs", metadata=meta, status={"state": "Queuing", "message": "3rd in line"})
        found = client.list_jobs()
        assert [(job.name, job.word, job.state) for job in found] == [
            ("new", "tf", "Queuing"),
            ("old", "pytorch", "Running"),
        ]
        assert (found[0].queue, found[0].message, found[1].ready, found[1].restarts) == (
            "team-a",
            "3rd in line",
            "4/4",
            2,
        )

    def test_only_tables_are_asked_for(self, api: ApiServer, client: TrainingClient) -> None:
        """Pod templates of ten thousand jobs are not sent."""
        client.list_jobs()
        lists = [call for call in api.calls if call.path != PATH]
        assert len(lists) == 2
        assert all("as=Table" in call.headers["Accept"] for call in lists)

    def test_kinds_are_asked_for_once_in_ten_minutes(self, api: ApiServer, client: TrainingClient) -> None:
        client.list_jobs()
        with TrainingClient(namespace="team", overrides=Overrides(server=api.url)) as another:
            another.list_jobs()
        assert [call.path for call in api.calls].count(PATH) == 1

    def test_many_jobs_come_in_pages(self, api: ApiServer, client: TrainingClient) -> None:
        for number in range(1203):
            api.job(f"j{number}")
        assert len(client.list_jobs(job_kind="pytorch")) == 1203
        assert [call.query.get("continue") for call in api.calls if call.path != PATH] == [None, "500", "1000"]

    def test_filters(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("a", status={"state": "Running"})
        api.job("b", status={"state": "Failed"})
        api.job("c", namespace="other", status={"state": "Failed"})
        assert [job.name for job in client.list_jobs(states=["failed"])] == ["b"]
        assert {job.name for job in client.list_jobs(all_namespaces=True)} == {"a", "b", "c"}
        assert [job.name for job in client.list_jobs(limit=1)] == ["a"]


class TestLookup:
    """A name is enough."""

    def test_all_kinds_are_looked_through(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("bert", "tfjobs")
        assert client.get_job("bert").kind == "TFJob"

    def test_two_of_one_name_ask_for_the_kind(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("bert")
        api.job("bert", "tfjobs")
        with pytest.raises(Ambiguous) as error:
            client.get_job("bert")
        assert error.value.next == ("pytorch/bert", "tf/bert")
        assert client.get_job("tf/bert").kind == "TFJob"
        assert client.get_job("PyTorchJob/bert").kind == "PyTorchJob"

    def test_a_pod_means_its_job(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("bert")
        api.pod("bert", "worker", 3, **running())
        assert client.get_job("bert-worker-3").name == "bert"

    def test_a_job_that_is_not_there(self, client: TrainingClient) -> None:
        with pytest.raises(NotFound, match="no job called bert in team"):
            client.get_job("bert")
        with pytest.raises(NotFound, match="no kind of jobs called ray"):
            client.get_job("ray/bert")

    def test_a_cluster_without_kubedl(self, api: ApiServer, client: TrainingClient) -> None:
        api.refusals[f"GET {GROUP}"] = (404, {"reason": "NotFound", "code": 404})
        with pytest.raises(NotFound, match="this cluster has no KubeDL"):
            client.list_jobs()


class TestCreateAndDelete:
    """Writes."""

    def test_a_job_is_created_in_the_namespace(self, api: ApiServer, client: TrainingClient) -> None:
        job = client.create_job(MANIFEST)
        assert (str(job), job.namespace) == ("pytorchjob/bert", "team")
        assert next(call for call in api.calls if call.method == "POST").headers["User-Agent"] == "kubedl-cli"

    def test_a_name_that_is_taken(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("bert", status={"state": "Running"})
        with pytest.raises(AlreadyExists, match="bert is taken: PyTorchJob in team, Running") as error:
            client.create_job(MANIFEST)
        assert error.value.next == ("--name bert-2", "kubedl get bert", "kubedl delete bert")

    @pytest.mark.parametrize(("code", "reason", "kind"), [(422, "Invalid", Invalid), (403, "Forbidden", Forbidden)])
    def test_a_refusal_is_quoted(
        self, api: ApiServer, client: TrainingClient, code: int, reason: str, kind: type[Exception]
    ) -> None:
        body = {"kind": "Status", "code": code, "reason": reason, "message": "exceeded quota: gpus"}
        api.refusals[f"POST {GROUP}/namespaces/team/pytorchjobs"] = (code, body)
        with pytest.raises(kind) as error:
            client.create_job(MANIFEST)
        assert error.value.why == "exceeded quota: gpus"  # type: ignore[attr-defined]

    def test_only_the_job_that_was_found_is_deleted(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("bert")
        client.delete_job("bert")
        sent = next(call for call in api.calls if call.method == "DELETE")
        assert sent.body == {"propagationPolicy": "Background", "preconditions": {"uid": "uid-bert"}}
        assert not api.objects


class TestWait:
    """Waiting by a watch."""

    def test_until_it_is_complete(self, api: ApiServer, client: TrainingClient) -> None:
        path = api.job("bert", status={"state": "Running"})
        seen: list[str] = []

        def change(job: object) -> None:
            seen.append(job.state)  # type: ignore[attr-defined]
            if len(seen) == 1:
                done = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}
                threading.Timer(0.05, lambda: api.put(path, {**api.objects[path], "status": done})).start()

        assert client.wait_for_job_status("bert", callbacks=[change]).is_succeeded
        assert seen == ["Running", "Succeeded"]

    def test_the_exit_code_is_that_of_the_first_death(self, api: ApiServer, client: TrainingClient) -> None:
        """A kill explains what others say when their peer is gone."""
        failed = {"state": "Failed", "message": "no", "conditions": [{"type": "Failed", "status": "True"}]}
        api.job("bert", status=failed)
        api.pod("bert", "worker", 0, **ended(1, "2026-01-01T00:09:00Z"))
        api.pod("bert", "worker", 1, **ended(137, reason="OOMKilled"))
        api.pod("bert", "master", 0, **ended(0))
        with pytest.raises(JobFailed, match="bert failed: no") as error:
            client.wait_for_job_status("bert")
        assert error.value.exit_code == 137
        assert error.value.next == ("kubedl get bert", "kubedl logs bert -i worker-1")
        assert client.wait_for_job_status("bert", ("failed",)).is_failed

    def test_the_time_is_over(self, api: ApiServer, client: TrainingClient) -> None:
        api.job("bert", status={"state": "Queuing"})
        with pytest.raises(WaitTimeout, match=r"bert is not complete after 0\.1 s: Queuing") as error:
            client.wait_for_job_status("bert", timeout=0.1)
        assert error.value.job is not None

    def test_a_job_that_is_deleted_meanwhile(self, api: ApiServer, client: TrainingClient) -> None:
        path = api.job("bert")
        threading.Thread(target=_delete_when_watched, args=(api, path)).start()
        with pytest.raises(NotFound, match="was deleted"):
            client.wait_for_job_status("bert")

    def test_until_it_is_deleted(self, api: ApiServer, client: TrainingClient) -> None:
        path = api.job("bert")
        waiter = threading.Thread(target=client.wait_for_job_status, args=("bert", ("deleted",)))
        waiter.start()
        until("watch", lambda: any(call.query.get("watch") for call in api.calls))
        api.delete(path)
        waiter.join(10)
        assert not waiter.is_alive()


def test_a_server_that_does_not_answer_is_named(api: ApiServer) -> None:
    with (
        TrainingClient(namespace="team", overrides=Overrides(server="http://127.0.0.1:1")) as client,
        pytest.raises(Unreachable, match=r"no answer from http://127\.0\.0\.1:1"),
    ):
        client.list_jobs()


def test_something_else_at_the_address(api: ApiServer, client: TrainingClient) -> None:
    """A portal that asks for a password answers with 200 and a page."""
    api.refusals[f"GET {GROUP}"] = (200, {"resources": "log in"})
    with pytest.raises(Unreachable, match="does not answer like an API server"):
        client.list_jobs()


def test_a_missing_right_is_told_from_a_quota(api: ApiServer, client: TrainingClient) -> None:
    body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": 'User "alice" cannot list'}
    api.refusals[f"GET {GROUP}/namespaces/team/tfjobs"] = (403, body)
    with pytest.raises(Forbidden) as error:
        client.list_jobs()
    assert error.value.next[0] == "kubectl auth can-i --list"


def test_a_kind_that_may_not_be_read_hides_no_job_of_another(api: ApiServer, client: TrainingClient) -> None:
    """A Role may be about one kind."""
    api.job("bert")
    body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": 'User "alice" cannot get'}
    for name in ("bert", "bert-master-0", "none"):
        api.refusals[f"GET {GROUP}/namespaces/team/tfjobs/{name}"] = (403, body)
    api.pod("bert", "master", 0)
    assert client.get_job("bert").kind == "PyTorchJob"
    assert client.get_job("bert-master-0").name == "bert"
    with pytest.raises(Forbidden, match="cannot get tf/none"):
        client.get_job("none")


def _delete_when_watched(api: ApiServer, path: str) -> None:
    until("watch", lambda: any(call.query.get("watch") for call in api.calls))
    api.delete(path)
