"""`kubedl open` hands ports over to kubectl, for jobs and for services."""

import pytest

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
