"""Prints the CRDs and RBAC of all installed kinds: `python -m kubedl.entrypoints.manifests | kubectl apply -f -`.

A package that adds a kind needs no files for it: its CRD and the operator's permissions are generated from code. The
chart has the same CRDs and rules as files, and renders ClusterRoles or Roles from them.
"""

import sys
from collections.abc import Sequence

from kubedl.api import cachebackend, cron, inference, model, scaling
from kubedl.console.kinds import grants
from kubedl.entrypoints import operator, recorded_kinds, smoke_test
from kubedl.schema.crd import CustomResource
from kubedl.schema.grants import EFS, LOGS, of_feature, outside, own, served
from kubedl.schema.rbac import edit_rules, role, rules, user_roles, view_rules
from kubedl.schema.yaml_documents import to_yaml
from kubedl.training.kinds import all_kinds

NAME = "kubedl-operator"
# Without this annotation, `helm uninstall` would delete every job of the cluster.
KEPT = {"helm.sh/resource-policy": "keep"}


def custom_resources() -> Sequence[CustomResource]:
    """Return all kinds of KubeDL."""
    return (
        *(kind.custom_resource for kind in all_kinds()),
        cachebackend.CUSTOM_RESOURCE,
        cron.CUSTOM_RESOURCE,
        *model.CUSTOM_RESOURCES,
        inference.CUSTOM_RESOURCE,
        *scaling.CUSTOM_RESOURCES,
    )


def definitions() -> dict[str, str]:
    """Return the file of each CRD."""
    return {f"crds/{custom.resource.name}.yaml": to_yaml([_kept(custom)]) for custom in custom_resources()}


def chart_files() -> dict[str, str]:
    """Return the generated files of the chart, by their paths below `files`."""
    people, console = custom_resources(), grants()
    return {
        **definitions(),
        "rbac/operator.yaml": rules(served(operator.GRANTS)),
        "rbac/operator-outside.yaml": rules(outside(operator.GRANTS)),
        "rbac/operator-efs.yaml": rules(of_feature(operator.GRANTS, EFS)),
        "rbac/operator-own.yaml": rules(own(operator.GRANTS)),
        "rbac/recorder.yaml": rules(served(recorded_kinds.GRANTS)),
        "rbac/recorder-outside.yaml": rules(outside(recorded_kinds.GRANTS)),
        "rbac/recorder-logs.yaml": rules(of_feature(recorded_kinds.GRANTS, LOGS)),
        "rbac/recorder-own.yaml": rules(own(recorded_kinds.GRANTS)),
        "rbac/console.yaml": rules(served(console)),
        "rbac/console-outside.yaml": rules(outside(console)),
        "rbac/smoke-test.yaml": rules(smoke_test.GRANTS),
        "rbac/view.yaml": rules(view_rules(people)),
        "rbac/edit.yaml": rules(edit_rules(people)),
    }


def main() -> int:
    """Print all manifests."""
    roles = (
        role("ClusterRole", NAME, [*served(operator.GRANTS), *outside(operator.GRANTS)]),
        role("Role", NAME, own(operator.GRANTS)),
        user_roles(custom_resources()),
    )
    for text in (*definitions().values(), *roles):
        print(text, end="")
    return 0


def _kept(custom: CustomResource) -> dict[str, object]:
    definition = custom.definition()
    return {**definition, "metadata": {**definition["metadata"], "annotations": KEPT}}


if __name__ == "__main__":
    sys.exit(main())
