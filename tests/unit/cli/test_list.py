"""`kubedl list`, as a person and as a program sees it."""

import io
import json
from collections.abc import Callable

import pytest
import yaml

from tests.unit.cli.conftest import Run, ago
from tests.unit.client.api_server import ApiServer


@pytest.fixture
def _jobs(api: ApiServer) -> None:
    queue = {"kueue.x-k8s.io/queue-name": "team-a"}
    api.job(
        "bert-large",
        metadata={"creationTimestamp": ago(minutes=14), "labels": queue},
        status={"state": "Queuing", "ready": "0/4", "message": "3rd in line: 32 GPUs wanted, 6 free"},
    )
    api.job(
        "clip-ft",
        metadata={"creationTimestamp": ago(hours=2.5)},
        status={"state": "Running", "ready": "4/4", "gpus": 32},
    )
    api.job(
        "ctr-daily",
        "tfjobs",
        metadata={"creationTimestamp": ago(days=3), "annotations": {"kubedl.io/user": "alice"}},
        status={"state": "Failed", "ready": "0/3", "restarts": 2, "message": "worker 1 failed with exit code 1"},
    )
    # In minutes, so that an age stays the same on a slow machine.
    api.job("new", metadata={"creationTimestamp": ago(minutes=1.5)})


TABLE = """\
NAME        KIND     STATE    READY  GPUS  QUEUE   AGE  WHAT
new         pytorch  -        -         -           1m  no operator has seen the job yet
bert-large  pytorch  Queuing  0/4       -  team-a  14m  3rd in line: 32 GPUs wanted, 6 free
clip-ft     pytorch  Running  4/4      32           2h
ctr-daily   tf       Failed   0/3       -           3d  worker 1 failed with exit code 1
"""


@pytest.mark.usefixtures("_jobs")
class TestList:
    """With jobs of several kinds."""

    def test_off_a_terminal_nothing_is_cut_or_coloured(self, run: Run) -> None:
        answer = run("list")
        assert (answer.code, answer.err) == (0, "")
        assert answer.out == TABLE

    def test_a_narrow_terminal_drops_columns_from_the_right(
        self, run: Run, terminal: Callable[[int], io.StringIO]
    ) -> None:
        screen = terminal(60)
        run("list", "--color", "never")
        lines = screen.getvalue().splitlines()
        assert lines[0] == "NAME        KIND     STATE    READY  GPUS  AGE  WHAT"
        assert lines[2] == "bert-large  pytorch  Queuing  0/4       -  14m  3rd in line…"
        assert max(map(len, lines)) == 60

    def test_colours_on_a_terminal(
        self, run: Run, terminal: Callable[[int], io.StringIO], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        screen = terminal(120)
        run("list")
        assert "\x1b[1mbert-large\x1b[0m" in screen.getvalue()
        assert "\x1b[33mQueuing\x1b[0m" in screen.getvalue()
        monkeypatch.setenv("NO_COLOR", "1")
        screen.truncate(0)
        run("list")
        assert "\x1b" not in screen.getvalue()

    def test_wide_adds_columns(self, run: Run, api: ApiServer) -> None:
        for number in (1, 2):
            meta = {"labels": {"training.kubedl.io/job-uid": "uid-ctr-daily"}}
            api.put(
                f"/api/v1/namespaces/team/pods/p{number}", {"metadata": meta, "spec": {"nodeName": f"gpu-{number}"}}
            )
        head, *rows = run("list", "-o", "wide", "-T", "tf").out.splitlines()
        assert (
            head
            == "NAME       KIND  STATE   READY  GPUS  QUEUE  AGE  USER   NODES        RESTARTS  MODEL-VERSION  WHAT"
        )
        assert rows[0].startswith(
            "ctr-daily  tf    Failed  0/3       -          3d  alice  gpu-1,gpu-2         2  -              worker 1"
        )

    def test_names_alone(self, run: Run) -> None:
        assert run("list", "-o", "name", "--state", "failed,queuing").out == "pytorchjob/bert-large\ntfjob/ctr-daily\n"
        assert run("ls", "-o", "name", "--since", "1h", "--limit", "1").out == "pytorchjob/new\n"
        assert run("list", "-o", "name", "--queue", "team-a").out == "pytorchjob/bert-large\n"
        assert run("list", "-o", "name", "--finished").out == "tfjob/ctr-daily\n"
        assert run("list", "-o", "name", "--by", "alice").out == "tfjob/ctr-daily\n"
        assert run("list", "-o", "name", "--mine").out == "tfjob/ctr-daily\n"

    def test_for_programs(self, run: Run) -> None:
        found = json.loads(run("list", "-o", "json", "--queue", "team-a").out)
        assert (found["apiVersion"], found["kind"]) == ("cli.kubedl.io/v1alpha1", "JobSummaryList")
        (job,) = found["items"]
        assert (job["name"], job["state"], job["ready"], job["gpus"]) == ("bert-large", "Queuing", "0/4", None)
        assert yaml.safe_load(run("list", "-o", "yaml", "--queue", "team-a").out)["items"][0]["name"] == "bert-large"

    def test_nodes_that_may_not_be_read_are_named(self, run: Run, api: ApiServer) -> None:
        api.refusals["GET /api/v1/namespaces/team/pods"] = (403, {"reason": "Forbidden", "message": "no pods"})
        answer = run("list", "-o", "wide")
        assert (answer.code, len(answer.out.splitlines())) == (0, 5)
        assert answer.err == "pods: not allowed, so nodes are not shown (no pods)\n"

    @pytest.mark.parametrize(
        "words",
        [("-w", "--limit", "1"), ("-w", "--history"), ("-w", "-o", "yaml"), ("--history", "-l", "a=b")],
        ids=" ".join,
    )
    def test_flags_that_exclude_each_other(self, run: Run, api: ApiServer, words: tuple[str, ...]) -> None:
        answer = run("list", *words)
        assert (answer.code, answer.out, api.calls) == (2, "", [])
        assert "\n  next  " in answer.err

    def test_all_namespaces_have_a_column(self, run: Run) -> None:
        assert run("list", "-A").out.startswith("NAMESPACE  NAME")


def test_no_jobs_are_words_not_data(run: Run) -> None:
    answer = run("list")
    assert (answer.code, answer.out, answer.err) == (0, "", "no jobs in team\n")


def test_a_message_cannot_steer_the_terminal(run: Run, api: ApiServer) -> None:
    """Whoever may create a job or a pod writes what an administrator reads."""
    api.job("evil", status={"state": "Running", "message": "\x1b]0;owned\x07\x1b[2Jgone\r\nfake  row"})
    answer = run("list", "--no-headers")
    assert len(answer.out.splitlines()) == 1
    assert "\x1b" not in answer.out
