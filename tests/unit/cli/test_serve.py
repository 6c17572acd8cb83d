"""`kubedl serve`: words to a rollout, and refusals of those that have nothing to change."""

from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer

PATH = "/apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences/flowers"
ANNOTATION = "serving.kubedl.io/rollout"


def _service(api: ApiServer, **rollout: str) -> None:
    status: dict[str, Any] = {"predictorStatuses": [{"name": "main", "rollout": rollout}]}
    api.put(PATH, {"spec": {"predictors": [{"name": "main"}]}, "status": status})


@pytest.mark.parametrize(
    ("word", "rollout", "refusal"),
    [
        ("next", {"phase": "Stepping"}, ""),
        ("abort", {"phase": "Promoting"}, ""),
        ("promote", {"phase": "Stepping"}, ""),
        ("promote", {"phase": "RolledBack", "rejected": "v2"}, ""),
        ("retry", {"phase": "RolledBack", "rejected": "v2"}, ""),
        ("retry", {"phase": "Stepping"}, "nothing to retry"),
        ("promote", {"phase": "Stable"}, "nothing to promote"),
        ("next", {"phase": "Stable"}, "nothing to continue"),
        ("abort", {"phase": "RolledBack", "rejected": "v2"}, "nothing to abort"),
    ],
)
def test_words_to_a_rollout(run: Run, api: ApiServer, word: str, rollout: dict[str, str], refusal: str) -> None:
    _service(api, **rollout)
    answer = run("serve", word, "flowers")
    said = (api.objects[PATH]["metadata"].get("annotations") or {}).get(ANNOTATION)
    if refusal:
        assert (answer.code, said) == (1, None)
        assert answer.err.startswith(f"error: {refusal}\n  why   ")
    else:
        assert (answer.code, said) == (0, word)


def test_a_word_to_one_predictor(run: Run, api: ApiServer) -> None:
    _service(api, phase="Stepping")
    assert run("serve", "promote", "flowers", "--predictor", "main").code == 0
    assert api.objects[PATH]["metadata"]["annotations"][ANNOTATION] == "promote:main"
    assert run("serve", "promote", "flowers", "--predictor", "other").code == 1


def test_traffic_is_changed_for_the_state_that_was_read(run: Run, api: ApiServer) -> None:
    _service(api, phase="Stable")
    version = api.objects[PATH]["metadata"]["resourceVersion"]
    assert run("serve", "traffic", "flowers", "main=7").out == "inference/flowers: main 100 → 7\n"
    (patch,) = [call.body for call in api.calls if call.method == "PATCH"]
    assert patch["metadata"] == {"resourceVersion": version}
    for wrong in ("main", "main=x", "=1", "main=99999999"):
        assert run("serve", "traffic", "flowers", wrong).code == 2
