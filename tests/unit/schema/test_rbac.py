"""Grants become roles: merged, sorted, explained, and never more than was asked for."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.crd import CustomResource, Scale
from kubedl.schema.grants import VERBS, Grant, outside, own, served
from kubedl.schema.rbac import role, rules, user_roles
from kubedl.schema.yaml_documents import NOTICE

PODS = Grant("", ("pods",), ("create", "delete", "watch"), "Replicas are pods.")
SERVICES = Grant("", ("services",), ("patch",), "Replicas find each other.")
NODES = Grant("", ("nodes",), ("watch",), "A lost node's pods are replaced.", cluster_scoped=True)


class Gadget(Record, frozen=True):
    """A gadget."""

    metadata: ObjectMeta = ObjectMeta()


def test_the_file_explains_every_right() -> None:
    """Whoever installs it reads why."""
    text = role("ClusterRole", "op", [SERVICES, PODS, Grant("", ("pods",), ("get",), "Logs.")])
    assert text == (
        f"{NOTICE}---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\n"
        "kind: ClusterRole\n"
        "metadata:\n"
        "  name: op\n"
        "rules:\n"
        "# Logs.\n"
        "# Replicas are pods.\n"
        "- apiGroups:\n"
        "  - ''\n"
        "  resources:\n"
        "  - pods\n"
        "  verbs:\n"
        "  - get\n"
        "  - watch\n"
        "  - create\n"
        "  - delete\n"
        "# Replicas find each other.\n"
        "- apiGroups:\n"
        "  - ''\n"
        "  resources:\n"
        "  - services\n"
        "  verbs:\n"
        "  - patch\n"
    )


grants = st.builds(
    Grant,
    group=st.sampled_from(["", "apps"]),
    resources=st.lists(st.sampled_from(["pods", "services", "jobs"]), min_size=1, max_size=3).map(tuple),
    verbs=st.lists(st.sampled_from(VERBS), min_size=1, max_size=4).map(tuple),
    reason=st.sampled_from(["One.", "Other."]),
    names=st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True).map(tuple),
)


@given(asked=st.lists(grants, max_size=6))
def test_exactly_what_was_asked_for_is_granted(asked: list[Grant]) -> None:
    """Merging neither loses a right nor invents one, and a name stays a limit."""
    granted = {
        (group, resource, verb, tuple(rule.get("resourceNames", ())))
        for document in yaml.safe_load_all(role("ClusterRole", "op", asked))
        for rule in document["rules"] or []
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    wanted = {
        (grant.group, resource, verb, tuple(sorted(grant.names)))
        for grant in asked
        for resource in grant.resources
        for verb in grant.verbs
    }
    assert granted == wanted


@given(asked=st.permutations([PODS, SERVICES, NODES, Grant("", ("pods",), ("get",), "Logs.")]))
def test_the_order_of_asking_does_not_matter(asked: list[Grant]) -> None:
    """Or every import order would be drift."""
    assert rules(asked) == rules([PODS, SERVICES, NODES, asked[-1], *asked])


@pytest.mark.parametrize(
    "arguments",
    [
        {"resources": ("*",)},
        {"group": "*"},
        {"verbs": ("*",)},
        {"verbs": ("escalate",)},
        {"verbs": ("bind",)},
        {"verbs": ("impersonate",)},
        {"resources": ("secrets",), "verbs": ("get",)},
        {"resources": ("configmaps", "secrets"), "verbs": ("create", "list")},
        {"resources": ("secrets",), "verbs": ("watch",)},
        {"resources": ("pods/exec",), "verbs": ("create",)},
        {"resources": ("pods/attach",)},
        {"verbs": ("craete",)},
        {"verbs": ()},
        {"resources": ()},
        {"reason": ""},
    ],
)
def test_rights_that_nobody_can_explain_are_refused(arguments: dict[str, Any]) -> None:
    """Wildcards, typing errors, rights to take more rights, to read Secrets, to enter pods; and without a reason."""
    with pytest.raises(ValueError, match="Grant"):
        Grant(**{"group": "", "resources": ("pods",), "verbs": ("get",), "reason": "So.", **arguments})


def test_rights_are_parted_by_where_they_hold() -> None:
    """Each is in one part, so that a process with Roles alone lacks nothing but what is in no namespace."""
    lease = Grant("coordination.k8s.io", ("leases",), ("patch",), "Elect.", names=("op",), own_namespace=True)
    every = [PODS, NODES, lease, SERVICES]
    assert (served(every), outside(every), own(every)) == ([PODS, SERVICES], [NODES], [lease])


def test_people_with_rights_in_a_namespace_get_ours_too() -> None:
    """By aggregation into the roles that every cluster has."""
    gadgets = CustomResource(Resource(Gadget, "Gadget", "gadgets", "v1", "test.kubedl.io"))
    view, edit = yaml.safe_load_all(user_roles([gadgets]))
    assert view["metadata"]["labels"] == {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    assert view["rules"][0]["verbs"] == ["get", "list", "watch"]
    assert "create" in edit["rules"][0]["verbs"]
    assert _resources(edit) == {"gadgets"}


def test_whoever_may_edit_may_scale_what_can_be_scaled() -> None:
    gadgets = CustomResource(
        Resource(Gadget, "Gadget", "gadgets", "v1", "test.kubedl.io"), scale=Scale(".spec.size", ".status.size")
    )
    _, edit = yaml.safe_load_all(user_roles([gadgets]))
    assert {
        "apiGroups": ["test.kubedl.io"],
        "resources": ["gadgets/scale"],
        "verbs": ["get", "update", "patch"],
    } in edit["rules"]


def _resources(role: dict[str, Any]) -> set[str]:
    return {resource for rule in role["rules"] for resource in rule["resources"]}
