"""Jobs from files that name their namespace."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from kubedl.entrypoints import command
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import GROUP, ApiServer, until

DONE = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}
OTHER = f"{GROUP}/namespaces/other/pytorchjobs/bert"


def _job(**metadata: str) -> dict[str, Any]:
    return {"apiVersion": GROUP[6:], "kind": "PyTorchJob", "metadata": {"name": "bert", **metadata}, "spec": {}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A job of the namespace `other`."""
    made = tmp_path / "job.json"
    made.write_text(json.dumps(_job(namespace="other")))
    return made


def test_a_job_is_waited_for_where_it_is(api: ApiServer, file: Path) -> None:
    def end() -> None:
        until("the job", lambda: OTHER in api.objects)
        api.put(OTHER, {**api.objects[OTHER], "status": DONE})

    threading.Thread(target=end).start()
    assert command.main(["submit", "--server", api.url, "-f", str(file), "--wait"]) == 0


def test_the_namespace_of_the_flag_is_not_ignored(run: Run, api: ApiServer, file: Path) -> None:
    answer = run("submit", "-f", str(file))
    assert (answer.code, api.objects) == (2, {})
    assert answer.err.startswith("error: pytorchjob/bert is in other, and -n is team\n  next  -n other, or ")


def test_jobs_of_several_namespaces_are_not_waited_for(
    api: ApiServer, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(json.dumps({"kind": "List", "items": [_job(namespace="other"), _job(namespace="team")]}))
    assert command.main(["submit", "--server", api.url, "-f", str(file), "--wait"]) == 2
    assert "these are for other, team" in capsys.readouterr().err
    assert not api.objects


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_a_time_limit_that_is_none(run: Run, api: ApiServer, seconds: str) -> None:
    answer = run("list", "--request-timeout", seconds)
    assert (answer.code, answer.err.splitlines()[-1]) == (2, "  next  seconds, such as 30")
    assert not api.calls
