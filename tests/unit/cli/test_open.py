"""`kubedl open` hands ports over to kubectl, for jobs and for services."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubedl.cli import configuration, kubectl
from kubedl.cli.settings import Settings
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer, running

INFERENCES = "/apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences"


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What kubectl was asked for."""
    found: list[list[str]] = []
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("os.execv", lambda _, words: found.append(words))
    return found


@pytest.mark.parametrize(
    ("flags", "ports"), [((), "8080:80"), (("--local-port", "9000"), "9000:80"), (("--port", "8081"), "8081:8081")]
)
def test_a_service(run: Run, api: ApiServer, handed_over: list[list[str]], flags: tuple[str, ...], ports: str) -> None:
    api.put(f"{INFERENCES}/line", {"spec": {}})
    owner = {"ownerReferences": [{"kind": "Inference"}]}
    ports_of = {"ports": [{"name": "http", "port": 80}]}
    api.put("/api/v1/namespaces/team/services/line", {"metadata": owner, "spec": ports_of})
    run("open", "serve/line", *flags)
    (words,) = handed_over
    assert words[0] == "/bin/kubectl"
    assert words[-3:] == ["port-forward", "service/line", ports]


def test_the_service_of_a_job_of_the_same_name_is_not_taken(
    run: Run, api: ApiServer, handed_over: list[list[str]]
) -> None:
    api.put(f"{INFERENCES}/line", {"spec": {"predictors": [{"name": "main"}]}})
    for name in ("line", "line-main"):
        api.put(f"/api/v1/namespaces/team/services/{name}", {"spec": {"ports": [{"port": 8080}]}})
    run("open", "serve/line")
    assert handed_over[0][-3:] == ["port-forward", "service/line-main", "8080:8080"]


def test_a_service_that_does_not_exist(run: Run, handed_over: list[list[str]]) -> None:
    answer = run("open", "serve/line")
    assert answer.err.startswith("error: there is no service called line in team\n")
    assert answer.err.endswith("  next  kubedl serve list\n")
    assert not handed_over


def test_a_replica(run: Run, api: ApiServer, handed_over: list[list[str]]) -> None:
    api.job("bert")
    api.pod("bert", "worker", 0, **running())
    run("open", "bert", "--port", "6006")
    assert handed_over[0][-3:] == ["port-forward", "pod/bert-worker-0", "6006:6006"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What kubectl was asked for; somebody ends it."""
    found: list[list[str]] = []

    def run(words: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":  # noqa: ANN401
        found.append(words)
        if "sleep" in words:
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(words, -9)

    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("kubedl.cli.kubectl.subprocess.run", run)
    return found


def test_settings_say_which_cluster_it_is(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What finds the pod must be what runs the command: kubectl does not read them."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    keys = ("namespace", "context", "kubeconfig", "cluster", "user", "as", "server")
    for key in keys:
        monkeypatch.setenv(configuration.variable(key), f"of-{key}")
    assert kubectl.run_in(Settings(context="mine"), "bert-worker-0", "", ("true",), tty=False) == 137
    wanted = {f"--{key}=of-{key}" for key in keys if key != "context"} | {"--context=mine"}
    assert {word for word in asked[0] if word.startswith("--") and "=" in word} == wanted


def test_ctrl_c_ends_a_command_in_all_replicas(run: Run, api: ApiServer, asked: list[list[str]]) -> None:
    api.job("bert")
    for index in (0, 1):
        api.pod("bert", "worker", index, **running())
    assert run("exec", "bert", "--all", "--", "sleep", "60").code == 130
    assert len(asked) == 1
