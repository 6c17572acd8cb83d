"""What a cluster must be given for the kinds installed here: `python -m kubedl.main.manifests | kubectl apply -f -`.

A package that brings a kind of its own needs no files for it: its CRD and the operator's rights follow from the code.
The chart's own files are the same CRDs and the same rights, from which it makes ClusterRoles or Roles.
"""

import sys
from collections.abc import Sequence

from kubedl.api import cache, inference, model
from kubedl.main import operator, trial
from kubedl.schema.crd import CustomResource
from kubedl.schema.manifest import to_yaml
from kubedl.schema.rbac import EFS, editors, of_feature, outside, own, role, roles_of_people, rules, served, viewers
from kubedl.training.kinds import all_kinds

NAME = "kubedl-operator"
# Without this Helm would delete every job of the cluster when the chart is uninstalled.
KEPT = {"helm.sh/resource-policy": "keep"}


def custom_resources() -> Sequence[CustomResource]:
    """All kinds of ours."""
    return (
        *(kind.custom_resource for kind in all_kinds()),
        cache.CUSTOM_RESOURCE,
        *model.CUSTOM_RESOURCES,
        inference.CUSTOM_RESOURCE,
    )


def definitions() -> dict[str, str]:
    """The file of each CRD."""
    return {f"crds/{custom.resource.name}.yaml": to_yaml([_kept(custom)]) for custom in custom_resources()}


def chart_files() -> dict[str, str]:
    """The generated files of the chart, by the names they have below its `files`."""
    people = custom_resources()
    return {
        **definitions(),
        "rbac/operator.yaml": rules(served(operator.GRANTS)),
        "rbac/operator-outside.yaml": rules(outside(operator.GRANTS)),
        "rbac/operator-efs.yaml": rules(of_feature(operator.GRANTS, EFS)),
        "rbac/operator-own.yaml": rules(own(operator.GRANTS)),
        "rbac/trial.yaml": rules(trial.GRANTS),
        "rbac/view.yaml": rules(viewers(people)),
        "rbac/edit.yaml": rules(editors(people)),
    }


def main() -> int:
    """Print them all."""
    grants = operator.GRANTS
    roles = (
        role("ClusterRole", NAME, [*served(grants), *outside(grants)]),
        role("Role", NAME, own(grants)),
        roles_of_people(custom_resources()),
    )
    for text in (*definitions().values(), *roles):
        print(text, end="")
    return 0


def _kept(custom: CustomResource) -> dict[str, object]:
    definition = custom.definition()
    return {**definition, "metadata": {**definition["metadata"], "annotations": KEPT}}


if __name__ == "__main__":
    sys.exit(main())
