"""How long the pods of a template stay on a lost node."""

from datetime import timedelta
from typing import Any

import pytest

from kubedl.kube.codec import RawObject
from kubedl.training.policies.node_toleration import FOR_EVER, NOT_AT_ALL, UNREACHABLE, tolerance

EXISTS = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        (None, NOT_AT_ALL),
        ([], NOT_AT_ALL),
        ([{**EXISTS, "tolerationSeconds": 3600}], timedelta(hours=1)),
        ([{"key": UNREACHABLE, "tolerationSeconds": 10}], timedelta(seconds=10)),  # Equal to no value, as the taint is
        ([EXISTS], FOR_EVER),
        ([{**EXISTS, "effect": ""}], FOR_EVER),
        ([EXISTS, {**EXISTS, "tolerationSeconds": 5}], timedelta(seconds=5)),
        ([{**EXISTS, "tolerationSeconds": -5}], NOT_AT_ALL),
        ([{**EXISTS, "tolerationSeconds": 2**62}], FOR_EVER),
        ([{**EXISTS, "effect": "NoSchedule"}], NOT_AT_ALL),
        ([{**EXISTS, "key": "node.kubernetes.io/not-ready"}], NOT_AT_ALL),
        ([{"key": UNREACHABLE, "operator": "Equal", "value": "x"}], NOT_AT_ALL),
        ([{"operator": "Exists"}], NOT_AT_ALL),  # says where a pod may run, which is not how long it is missed
        ("nonsense", NOT_AT_ALL),
    ],
)
def test_what_a_template_says(tolerations: Any, expected: timedelta) -> None:  # noqa: ANN401 - JSON
    """Only a toleration that names the taint of unreachable nodes is about them."""
    assert tolerance(RawObject.of({"spec": {"tolerations": tolerations}})) == expected
