"""Granted and never used: a right that nobody used is found, and so is one that somebody wanted and did not have."""

import datetime
import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from harness.drivers.audit_log import Request
from harness.experiments.rbac_audit import (
    OPERATOR,
    SMOKE_TEST,
    Balance,
    Right,
    balance,
    granted,
    has_token,
    look,
    table,
)

if TYPE_CHECKING:
    from testbed.cluster import Cluster
ACCOUNT = "system:serviceaccount:kubedl-system:kubedl-operator"


def asked(verb: str, resource: str, group: str = "", code: int = 200, user: str = ACCOUNT) -> Request:
    return Request(user, group, resource, verb, code)


def test_rules_become_single_rights() -> None:
    rule = {"apiGroups": ["", "apps"], "resources": ["pods"], "verbs": ["get", "list"]}
    assert granted([rule]) == {Right(group, "pods", verb) for group in ("", "apps") for verb in ("get", "list")}


def test_what_was_asked_for_is_used_and_what_was_refused_is_not() -> None:
    """Whoever else asks for the same counts for nothing."""
    requests = [
        asked("create", "pods"),
        asked("list", "pods", user="admin"),
        asked("get", "secrets", code=403),
        asked("patch", "leases", "coordination.k8s.io", user="kubedl-operator"),
    ]
    found = balance(OPERATOR, requests)
    assert {Right("", "pods", "create"), Right("coordination.k8s.io", "leases", "patch")} == found.used
    assert found.refused == {Right("", "secrets", "get")}
    assert Right("", "pods", "create") not in found.unused
    assert Right("", "pods", "list") in found.unused


def test_who_applies_what_was_not_there_creates_it() -> None:
    requests = [asked("patch", "deployments", "apps", code=201), asked("patch", "services")]
    created = {right for right in balance(OPERATOR, requests).used if right.verb == "create"}
    assert created == {Right("apps", "deployments", "create")}


def test_rights_that_only_admission_asks_about_are_counted_apart() -> None:
    found = balance(OPERATOR, [])
    assert {right.verb for right in found.by_admission} == {"update"}
    assert not set(found.unused) & found.by_admission
    assert len(found.unused) + len(found.by_admission) == len(found.granted)


def test_the_table_names_what_is_too_much_and_what_is_missing() -> None:
    rights = frozenset(
        {Right("", "pods", "get"), Right("apps", "deployments", "patch"), Right("", "x/finalizers", "update")}
    )
    told = table(
        [Balance("operator", rights, frozenset({Right("", "pods", "get")}), frozenset({Right("", "n", "list")}))]
    )
    assert told.splitlines()[1:] == [
        "operator          3      1             1               1",
        "  never used: patch deployments.apps",
        "  refused: list n",
    ]


@pytest.mark.parametrize(
    ("user", "groups", "counted"),
    [
        (ACCOUNT, (), True),
        ("kubedl-operator", ("testbed:audited",), True),
        ("kubedl-operator", ("system:masters",), False),
        ("kubedl-operator-false", ("testbed:audited",), False),
        ("system:serviceaccount:team:other-operator", (), False),
    ],
)
def test_an_operator_counts_that_its_rights_bind(user: str, groups: tuple[str, ...], counted: bool) -> None:
    """Many tests run one as a user of the same name who may do everything: what that one does proves nothing."""
    request = Request(user, "", "pods", "create", 201, frozenset(groups))
    assert bool(balance(OPERATOR, [request]).used) is counted


def test_the_trial_is_told_from_the_operator() -> None:
    account = "system:serviceaccount:kubedl-system:kubedl-smoke-test"
    requests = [asked(verb, "pytorchjobs", "training.kubedl.io", user=account) for verb in ("get", "create")]
    found = balance(SMOKE_TEST, requests)
    assert found.unused == [Right("training.kubedl.io", "pytorchjobs", "delete")]
    assert balance(OPERATOR, requests).used == frozenset()


def test_a_token_is_a_volume_that_admission_adds() -> None:
    projected = {"name": "kube-api-access-x", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    other = {"name": "credentials", "projected": {"sources": [{"secret": {"name": "regcred"}}]}}
    assert has_token({"spec": {"volumes": [other, projected]}})
    assert not has_token({"spec": {"volumes": [other, {"name": "model", "emptyDir": {}}]}})
    assert not has_token({"spec": {}})


def test_who_has_no_rights_and_asks_nevertheless_is_found(tmp_path: Path) -> None:
    """By the account of pods that have none of their own; what was asked before the given moment does not count."""
    log = tmp_path / "audit.log"
    moments = {"team-a": "2026-01-01T12:00:00.000000Z", "team-b": "2026-01-01T13:00:00.000000Z"}
    log.write_text(
        "".join(
            json.dumps(
                {
                    "verb": "get",
                    "user": {"username": f"system:serviceaccount:{namespace}:default"},
                    "objectRef": {"resource": "secrets"},
                    "requestReceivedTimestamp": moment,
                }
            )
            + "\n"
            for namespace, moment in moments.items()
        )
    )
    cluster = cast("Cluster", SimpleNamespace(audit_log=log))
    assert look(cluster)[1]["asked by pods without rights"] == 2
    later = datetime.datetime(2026, 1, 1, 12, 30, tzinfo=datetime.UTC)
    assert look(cluster, later)[1]["asked by pods without rights"] == 1
