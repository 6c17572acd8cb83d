"""What any user wrote into an object does not steer the terminal of another."""

from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer

WORDS = "alice\x1b]0;owned\x07\x1b[2J"
UNREADY = {"conditions": [{"type": "Ready", "status": "False", "message": WORDS}]}
CRON = {"schedule": "0 3 * * *", "template": {"kind": "PyTorchJob"}}
OBJECTS: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {
    ("model", "lineage", "x"): ("model.kubedl.io/v1alpha1/namespaces/team/modelversions", {"createdBy": WORDS}),
    ("serve", "get", "x"): ("serving.kubedl.io/v1alpha1/namespaces/team/inferences", {"predictors": []}),
    ("cron", "get", "x"): ("apps.kubedl.io/v1alpha1/namespaces/team/crons", CRON),
}


@pytest.mark.parametrize("words", OBJECTS, ids=" ".join)
def test_control_characters_are_not_printed(run: Run, api: ApiServer, words: tuple[str, ...]) -> None:
    place, spec = OBJECTS[words]
    api.put(f"/apis/{place}/x", {"spec": spec, "status": UNREADY})
    answer = run(*words)
    assert (answer.code, "alice" in answer.out) == (0, True)
    assert not {"\x1b", "\x07"} & set(answer.out)
