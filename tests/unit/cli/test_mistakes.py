"""Wrong uses and refusals: what happened, why, what to do next, the exit code, and never a traceback."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kubedl.entrypoints import command
from kubedl.kube import sync_client
from tests.unit.client.api_server import GROUP, ApiServer, ended

JOBS = f"{GROUP}/namespaces/team/pytorchjobs"
SUBMIT = ("submit", "pytorch", "--name", "bert", "--image", "i")
FLOWERS = "/apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences/flowers"
NOBODY = 'pytorchjobs is forbidden: User "eve" cannot list resource "pytorchjobs" in the namespace "team"'
DENIED = 'admission webhook "policy.example" denied the request: no label "cost-center"'
FIELD = {"field": "spec.backoffLimit", "message": "should be greater than or equal to 0"}
BROKEN = {"state": "Failed", "message": "worker 1 failed", "conditions": [{"type": "Failed", "status": "True"}]}


def refused(what: str, code: int, reason: str, message: str, **details: Any) -> Callable[[ApiServer], None]:  # noqa: ANN401
    """Let the server refuse a request."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return lambda api: api.refusals.update({what: (code, body)})


def failed(api: ApiServer) -> None:
    api.job("bert", status=BROKEN)
    api.pod("bert", "worker", 1, **ended(7))


def twins(api: ApiServer) -> None:
    api.job("bert")
    api.job("bert", "tfjobs")


def service(api: ApiServer) -> None:
    api.put(FLOWERS, {"spec": {"predictors": [{"name": "main"}]}, "status": {"predictorStatuses": [{"name": "main"}]}})
    refused(f"PATCH {FLOWERS}", 409, "Conflict", "the object has been modified")(api)


def nothing(_: ApiServer) -> None:
    """The server is as it is."""


@dataclass(frozen=True)
class Case:
    """What is typed, the exit code, the first line, and what the server is like."""

    words: tuple[str, ...]
    code: int
    what: str
    prepare: Callable[[ApiServer], object] = nothing
    where: tuple[str, ...] = field(default=("--server", "{url}"))


CASES = {
    "no kubeconfig": Case(("list",), 1, "no cluster to talk to", where=()),
    "no such context": Case(
        ("list", "--context", "nope"), 1, "no cluster to talk to", where=("--kubeconfig", "{file}")
    ),
    "expired token": Case(
        ("list",), 1, "cannot list pytorchjobs", refused(f"GET {JOBS}", 401, "Unauthorized", "the token has expired")
    ),
    "not allowed": Case(("list",), 1, "cannot list pytorchjobs", refused(f"GET {JOBS}", 403, "Forbidden", NOBODY)),
    "quota": Case(
        SUBMIT,
        1,
        "cannot create pytorchjob/bert",
        refused(f"POST {JOBS}", 403, "Forbidden", "exceeded quota: jobs, used: count/pytorchjobs=5"),
    ),
    "policy": Case(SUBMIT, 1, "cannot create pytorchjob/bert", refused(f"POST {JOBS}", 400, "BadRequest", DENIED)),
    "no such job": Case(("get", "bert"), 1, "there is no job called bert in team"),
    "no such kind": Case(("list", "-T", "ray"), 1, "there is no kind of jobs called ray"),
    "no such service": Case(("serve", "get", "x"), 1, "there is no service called x in team"),
    "no CRD": Case(("list",), 1, "this cluster has no KubeDL", refused(f"GET {GROUP}", 404, "NotFound", "not found")),
    "conflict": Case(("serve", "traffic", "flowers", "main=7"), 1, "cannot change service flowers", service),
    "name taken": Case(SUBMIT, 1, "bert is taken: PyTorchJob in team", lambda api: api.job("bert")),
    "invalid": Case(
        SUBMIT,
        1,
        "cannot create pytorchjob/bert",
        refused(f"POST {JOBS}", 422, "Invalid", "is invalid", causes=[FIELD]),
    ),
    "invalid and waited for": Case(
        (*SUBMIT, "--wait"),
        126,
        "cannot create pytorchjob/bert",
        refused(f"POST {JOBS}", 422, "Invalid", "is invalid", causes=[FIELD]),
    ),
    "busy": Case(
        ("list",), 1, "cannot list pytorchjobs", refused(f"GET {JOBS}", 429, "TooManyRequests", "too many requests")
    ),
    "server failed": Case(
        ("list",),
        1,
        "cannot list pytorchjobs: the API server failed",
        refused(f"GET {JOBS}", 500, "InternalError", "etcdserver: no leader"),
    ),
    "server gone": Case(
        ("list",),
        1,
        "cannot ask for the kinds of jobs: no answer from http://127.0.0.1:1",
        where=("--server", "http://127.0.0.1:1"),
    ),
    "no API server": Case(
        ("list",),
        1,
        "{url} does not answer like an API server",
        lambda api: api.refusals.update({f"GET {GROUP}": (200, {"resources": 5})}),
    ),
    "two of a name": Case(("get", "bert"), 1, "2 jobs in team are called bert", twins),
    "no pods yet": Case(("logs", "bert"), 1, "bert has no pods yet", lambda api: api.job("bert")),
    "no such replica": Case(("logs", "bert", "-i", "ps"), 1, "bert has no pods called ps", failed),
    "job failed": Case(("wait", "bert"), 7, "bert failed: worker 1 failed", failed),
    "time is over": Case(
        ("wait", "bert", "--timeout", "0"),
        124,
        "bert is not complete after 0 s: no state yet",
        lambda api: api.job("bert"),
    ),
    "waits for nothing": Case(("wait", "bert"), 125, "there is no job called bert in team"),
    "nothing to promote": Case(("serve", "promote", "flowers"), 1, "nothing to promote", service),
    "no history": Case(("list", "--history"), 1, "no history is known here"),
    "unknown flag": Case((*SUBMIT, "--gpu", "8"), 2, "no such option: --gpu"),
    "unknown command": Case(("lst",), 2, "no such command: lst"),
    "no image": Case(SUBMIT[:4], 2, "no --image"),
    "no job named": Case(("get",), 2, "missing argument 'JOB'"),
    "no duration": Case(("list", "--since", "5x"), 2, "invalid value for '--since': '5x' is no duration"),
    "no such format": Case(("list", "-o", "xml"), 2, "invalid value for '-o' / '--output': 'xml' is not one of"),
    "no such file": Case(("submit", "-f", "nope.yaml"), 2, "cannot read nope.yaml: No such file or directory"),
    "cannot be watched": Case(("list", "-w", "--limit", "3"), 2, "--limit cannot be watched"),
    "command as a queue": Case(
        (*SUBMIT, "--queue", "python train.py"), 2, "--queue python train.py: this is a command"
    ),
}
KUBECONFIG = """\
contexts: [{name: main, context: {cluster: main}}]
clusters: [{name: main, cluster: {server: "http://127.0.0.1:1"}}]
"""


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_has_its_parts_and_its_exit_code(
    case: str, api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = CASES[case]
    chosen.prepare(api)
    monkeypatch.setattr(sync_client, "BUSY_PAUSE", 0.0)
    monkeypatch.delenv("KUBEDL_HISTORY_DATABASE", raising=False)
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    where = [word.format(url=api.url, file=file) for word in chosen.where]
    code = command.main([*chosen.words, "-n", "team", *where])
    printed = capsys.readouterr()
    first, *rest = printed.err.splitlines()
    assert first.startswith(f"error: {chosen.what.format(url=api.url)}"), printed.err
    assert (code, printed.out) == (chosen.code, "")
    labels = [line[2:6].strip() for line in rest]
    assert labels[-1] == "next", printed.err
    if chosen.code != 2 and "failed: worker" not in first and "after 0 s" not in first:
        assert labels[0] == "why", printed.err  # of a wrong use, the first line says it
    assert "Traceback" not in printed.err


def test_there_are_as_many_as_are_claimed(record_property: Callable[[str, object], None]) -> None:
    record_property("cases", len(CASES))
    assert len(CASES) >= 25
