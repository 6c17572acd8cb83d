"""Commands that are offered can be run: what does not exist is not asked about."""

import pytest

from kubedl.why.judging import judge
from kubedl.why.rules import ALL
from tests.unit.why.building import Case, inference


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("ModelNotBuilt", "kubedl why modelversion/flowers-v2"),
        ("ModelVersionNotFound", "kubectl get modelversions -n "),
    ],
)
def test_a_model_version_that_does_not_exist_is_not_asked_about(reason: str, command: str) -> None:
    diagnosis = judge(Case("", inference(reason=reason, message="words")).evidence(), ALL)
    assert diagnosis.rule == "serve.version"
    assert len(diagnosis.tries) == 1
    assert diagnosis.tries[0].command.startswith(command)
