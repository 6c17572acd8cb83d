"""What a cluster must be given for the kinds installed here: `python -m kubedl.main.manifests | kubectl apply -f -`.

A package that brings a kind of its own needs no files for it: its CRD and the operator's rights follow from the code.
"""

import sys

from kubedl.api import cache, model
from kubedl.main.operator import GRANTS
from kubedl.schema.manifest import to_yaml
from kubedl.schema.rbac import cluster_role, roles_of_people
from kubedl.training.kinds import all_kinds


def manifests() -> dict[str, str]:
    """Every file by the name it has in deploy/, and its text."""
    resources = [*(kind.custom_resource for kind in all_kinds()), cache.CUSTOM_RESOURCE, *model.CUSTOM_RESOURCES]
    return {
        **{f"crds/{custom.resource.name}.yaml": to_yaml([custom.definition()]) for custom in resources},
        "rbac/operator.yaml": cluster_role("kubedl-operator", GRANTS),
        "rbac/people.yaml": roles_of_people(resources),
    }


def main() -> int:
    """Print them all."""
    for text in manifests().values():
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
