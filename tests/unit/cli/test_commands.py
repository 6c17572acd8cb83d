"""`kubedl delete`, `wait` and `logs`: words, and exit codes."""

import threading

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer, ended, until

DONE = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}
FAILED = {"state": "Failed", "message": "worker 1 failed", "conditions": [{"type": "Failed", "status": "True"}]}


class TestDelete:
    """Several at once."""

    def test_each_is_named(self, run: Run, api: ApiServer) -> None:
        api.job("a")
        api.job("b", "tfjobs")
        answer = run("delete", "a", "tf/b")
        assert (answer.code, answer.out) == (0, "pytorchjob/a deleted from team\ntfjob/b deleted from team\n")
        assert not api.objects

    def test_one_that_is_not_there(self, run: Run) -> None:
        assert run("delete", "a").code == 1
        assert run("delete", "a", "--ignore-not-found").code == 0


class TestWait:
    """The exit code is the job's."""

    def test_success(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status=DONE)
        answer = run("wait", "bert")
        assert (answer.code, answer.out, answer.err) == (0, "", "pytorchjob/bert succeeded\n")

    @pytest.mark.parametrize("code", [7, 137])
    def test_the_code_of_the_replica_that_failed(self, run: Run, api: ApiServer, code: int) -> None:
        api.job("bert", status=FAILED)
        api.pod("bert", "worker", 1, **ended(code))
        answer = run("wait", "bert")
        assert answer.code == code
        assert answer.err == (
            "error: bert failed: worker 1 failed\n  next  kubedl get bert      or  kubedl logs bert -i worker-1\n"
        )

    def test_a_failure_without_a_container(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status=FAILED)
        assert run("wait", "bert").code == 1

    def test_the_time_is_over(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status={"state": "Queuing"})
        assert run("wait", "bert", "--timeout", "0").code == 124

    def test_kubedl_itself_failed(self, run: Run) -> None:
        assert run("wait", "bert").code == 125

    def test_of_several_jobs_the_highest_counts(self, run: Run, api: ApiServer) -> None:
        api.job("good", status=DONE)
        api.job("bad", status=FAILED)
        api.pod("bad", "worker", 1, **ended(9))
        assert run("wait", "good", "bad").code == 9
        api.job("slow", status={"state": "Queuing"})
        assert run("wait", "good", "slow", "--any").code == 0

    def test_a_job_that_is_no_longer_waited_for_is_not_told(
        self, run: Run, api: ApiServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The thread that waits for the other job goes on when the first has ended."""
        before = _waits()
        api.job("good", status=DONE)
        slow = api.job("slow", status={"state": "Queuing"})
        assert run("wait", "good", "slow", "--any").code == 0
        until("a watch", lambda: any(call.query.get("watch") and "slow" in str(call.query) for call in api.calls))
        api.put(slow, {**api.objects[slow], "status": FAILED})
        until("the end of the thread", lambda: not _waits() - before)
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("word", ["deleted", "Deleted"])
    def test_what_is_gone_is_deleted(self, run: Run, api: ApiServer, word: str) -> None:
        """Also before the wait begins: `kubedl delete bert && kubedl wait bert --for deleted`."""
        path = api.job("bert", status={"state": "Running"})

        def delete() -> None:
            until("a watch", lambda: any(call.query.get("watch") for call in api.calls))
            api.delete(path)

        threading.Thread(target=delete).start()
        assert run("wait", "bert", "--for", word).code == 0
        answer = run("wait", "bert", "--for", word)
        assert (answer.code, answer.err) == (0, "there is no job called bert in team\n")

    def test_ready_is_not_waited_for_when_all_is_over(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status={**DONE, "ready": "0/2"})
        assert run("wait", "bert", "--for", "ready", "--timeout", "1").code == 0

    def test_changes_are_lines_with_a_time(self, run: Run, api: ApiServer) -> None:
        path = api.job("bert", status={"state": "Queuing", "ready": "0/2", "message": "3rd in line"})

        def end() -> None:
            until("a watch", lambda: any(call.query.get("watch") for call in api.calls))
            api.put(path, {**api.objects[path], "status": DONE})

        threading.Thread(target=end).start()
        first, last = run("wait", "bert").err.splitlines()
        assert first[8:] == " bert Queuing 0/2 3rd in line"
        assert last == "pytorchjob/bert succeeded"


def _waits() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if "_wait_in_thread" in thread.name}


class TestLogs:
    """Lines to standard output, words to standard error."""

    def test_every_line_has_its_replica(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status=DONE)
        for index in (0, 1):
            api.pod("bert", "worker", index, **ended(0))
            api.logs[f"bert-worker-{index}"] = ["2026-01-01T00:00:01.5Z step 1\n2026-01-01T00:00:02Z step 2\n"]
        answer = run("logs", "bert")
        assert (answer.code, answer.err) == (0, "")
        assert answer.out == "[worker-0] step 1\n[worker-0] step 2\n[worker-1] step 1\n[worker-1] step 2\n"
        stamped = run("logs", "bert", "-i", "worker-1", "--timestamps").out.splitlines()
        assert stamped[0] == "[worker-1] 2026-01-01T00:00:01.500000Z step 1"

    def test_following_ends_with_the_exit_code_of_the_job(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status=FAILED)
        api.pod("bert", "worker", 0, **ended(3))
        api.logs["bert-worker-0"] = ["2026-01-01T00:00:01Z no\n"]
        answer = run("logs", "-f", "bert")
        assert (answer.code, answer.out) == (3, "[worker-0] no\n")
        assert answer.err.startswith("error: bert failed: worker 1 failed\n")

    def test_a_job_that_is_deleted_while_it_is_followed_is_no_success(self, run: Run, api: ApiServer) -> None:
        path = api.job("bert", status={"state": "Running"})

        def delete() -> None:
            until("a watch", lambda: any(call.query.get("watch") for call in api.calls))
            api.delete(path)

        threading.Thread(target=delete).start()
        answer = run("logs", "-f", "bert")
        assert answer.code == 125
        assert "error: bert was deleted while it was followed\n" in answer.err

    def test_what_the_server_is_asked(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status=DONE)
        api.pod("bert", "worker", 0, **ended(0))
        run("logs", "bert", "--tail", "3", "--since", "10m", "-p", "-c", "side")
        sent = next(call.query for call in api.calls if call.path.endswith("/log"))
        wanted = {
            "container": "side",
            "timestamps": "true",
            "tailLines": "3",
            "sinceSeconds": "600",
            "previous": "true",
        }
        assert sent == wanted

    def test_the_previous_container_cannot_be_followed(self, run: Run) -> None:
        assert run("logs", "bert", "-f", "-p").code == 2
