"""`kubedl doctor` on clusters that lack a part: it names that part and the fix, and no other."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubedl.client.checks import RIGHTS
from tests.unit.cli.conftest import Answer, Run, ago
from tests.unit.client.api_server import GROUP, ApiServer

GONE = (404, {"kind": "Status", "reason": "NotFound", "code": 404, "message": "the server could not find it"})
DENIED = (403, {"kind": "Status", "reason": "Forbidden", "code": 403, "message": 'User "alice" cannot list it'})
ACCESS = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
LEASES = "GET /apis/coordination.k8s.io/v1/leases"
NODES = "GET /api/v1/nodes"
QUEUES = "GET /apis/kueue.x-k8s.io/v1beta2/namespaces/team/localqueues"
DATABASE = "KUBEDL_HISTORY_DATABASE"


def _lease(renewed: str, name: str = "kubedl-operator") -> tuple[int, dict[str, Any]]:
    metadata = {"name": name, "namespace": "kubedl-system"}
    return 200, {"items": [{"metadata": metadata, "spec": {"renewTime": renewed}}]}


def _items(*names: str) -> tuple[int, dict[str, Any]]:
    return 200, {"items": [{"metadata": {"name": name, "namespace": "team"}} for name in names]}


@pytest.fixture
def whole(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> ApiServer:
    """A cluster that has everything."""
    team = "namespaces/team"
    api.refusals |= {
        "POST /apis/authentication.k8s.io/v1/selfsubjectreviews": (
            201,
            {"status": {"userInfo": {"username": "alice"}}},
        ),
        "GET /version": (200, {"gitVersion": "v1.36.0"}),
        ACCESS: (201, {"status": {"allowed": True}}),
        LEASES: _lease(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"),
        f"GET /apis/model.kubedl.io/v1alpha1/{team}/models": _items("digits"),
        f"GET /apis/serving.kubedl.io/v1alpha1/{team}/inferences": _items(),
        f"GET /apis/apps.kubedl.io/v1alpha1/{team}/crons": _items(),
        QUEUES: _items("team-a"),
        "GET /apis/gateway.networking.k8s.io": (200, {}),
        "GET /apis/metrics.k8s.io": (200, {}),
        NODES: _items("gpu-01"),
    }
    monkeypatch.setenv(DATABASE, "sqlite:///history.db")
    return api


def _states(answer: Answer) -> dict[str, str]:
    lines = [line.split() for line in answer.out.splitlines() if not line.startswith(" ")]
    return {part: state for state, part, *_ in lines}


def _fixes(answer: Answer) -> dict[str, str]:
    """Return what to do, by part."""
    found: dict[str, str] = {}
    part = ""
    for line in answer.out.splitlines():
        if not line.startswith(" "):
            part = line.split()[1]
        else:
            found[part] = line.split("next", 1)[1].strip()
    return found


PARTS = (
    *("cluster", "kinds", "operator", "rights", "models", "serving", "schedules", "queues", "gateway", "metrics"),
    *("nodes", "history"),
)


@pytest.mark.usefixtures("whole")
def test_a_cluster_that_has_everything(run: Run) -> None:
    answer = run("doctor")
    assert _states(answer) == dict.fromkeys(PARTS, "ok")
    assert (answer.code, _fixes(answer)) == (0, {})


def _without(path: str, answer: tuple[int, dict[str, Any]] = GONE) -> Callable[[ApiServer, pytest.MonkeyPatch], None]:
    return lambda api, _: api.refusals.update({path: answer})


INSTALL, QUEUE_PAGE = "docs/operations/install.md", "docs/how-to/queue-jobs.md"
# Part, what is missing, its state, and words of the fix.
MISSING: list[tuple[str, Callable[[ApiServer, pytest.MonkeyPatch], None], str, str]] = [
    (
        "cluster",
        _without("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", (401, {"kind": "Status", "code": 401})),
        "BROKEN",
        "log in again",
    ),
    ("kinds", _without(f"GET {GROUP}"), "BROKEN", INSTALL),
    ("operator", _without(LEASES, (200, {"items": []})), "BROKEN", INSTALL),
    ("operator", lambda api, _: api.refusals.update({LEASES: _lease(ago(minutes=9))}), "BROKEN", "get pods"),
    ("operator", _without(LEASES, _lease("2999-01-01T00:00:00Z", "kubedl-operator-other")), "BROKEN", INSTALL),
    ("rights", _without(ACCESS, (201, {"status": {"allowed": False}})), "BROKEN", "the ClusterRole edit in team"),
    ("models", _without("GET /apis/model.kubedl.io/v1alpha1/namespaces/team/models"), "off", INSTALL),
    ("serving", _without("GET /apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences"), "off", INSTALL),
    ("schedules", _without("GET /apis/apps.kubedl.io/v1alpha1/namespaces/team/crons"), "off", INSTALL),
    ("queues", _without(QUEUES), "off", QUEUE_PAGE),
    ("queues", _without(QUEUES, _items()), "off", QUEUE_PAGE),
    ("gateway", _without("GET /apis/gateway.networking.k8s.io"), "off", "docs/how-to/share-traffic.md"),
    ("gateway", _without("GET /apis/gateway.networking.k8s.io", DENIED), "BROKEN", "kubectl auth can-i --list"),
    ("metrics", _without("GET /apis/metrics.k8s.io"), "off", "install metrics-server"),
    ("nodes", _without(NODES, _items()), "BROKEN", "add one"),
    ("nodes", _without(NODES, DENIED), "off", "ask for list nodes"),
    ("history", lambda _, patch: patch.delenv(DATABASE), "off", "docs/how-to/keep-history.md"),
]


def test_each_part_has_a_case() -> None:
    assert list(dict.fromkeys(part for part, *_ in MISSING)) == list(PARTS)


@pytest.mark.parametrize(("part", "remove", "state", "fix"), MISSING, ids=[f"{one[0]}-{one[2]}" for one in MISSING])
def test_a_missing_part_is_named_with_its_fix(
    run: Run,
    whole: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    remove: Callable[[ApiServer, pytest.MonkeyPatch], None],
    state: str,
    fix: str,
) -> None:
    remove(whole, monkeypatch)
    answer = run("doctor")
    wrong = {name: found for name, found in _states(answer).items() if found != "ok"}
    assert wrong == {part: state}
    assert list(_fixes(answer)) == [part]
    assert fix in _fixes(answer)[part]
    assert answer.code == (1 if state == "BROKEN" else 3)
    assert answer.err == ""


def test_the_operator_is_where_its_newest_lease_is(run: Run, whole: ApiServer) -> None:
    """One that was removed has left its Lease."""
    _, fresh = whole.refusals[LEASES]
    old = {"metadata": {"name": "kubedl-operator", "namespace": "old"}, "spec": {"renewTime": ago(days=9)}}
    whole.refusals[LEASES] = (200, {"items": [old, *fresh["items"]]})
    (line,) = [line for line in run("doctor").out.splitlines() if line.split()[1] == "operator"]
    assert line.endswith(" in kubedl-system")


def test_a_history_of_the_settings_is_known(
    run: Run, whole: ApiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(DATABASE)
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE_FILE", str(tmp_path / "address"))
    assert _states(run("doctor"))["history"] == "ok"
    assert whole.calls


def test_rights_are_asked_for_and_never_tried(run: Run, whole: ApiServer) -> None:
    """By SelfSubjectAccessReview: nothing but reviews is created, and nothing is changed."""
    run("doctor")
    asked = [call.body["spec"]["resourceAttributes"] for call in whole.calls if call.path.endswith("accessreviews")]
    assert [(one["verb"], one["group"], one["resource"], one["subresource"]) for one in asked] == [
        (verb, group, *resource.partition("/")[::2]) for verb, group, resource, _ in RIGHTS
    ]
    assert {call.path.rpartition("/")[2] for call in whole.calls if call.method != "GET"} == {
        "selfsubjectreviews",
        "selfsubjectaccessreviews",
    }
