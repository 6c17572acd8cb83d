"""`kubedl apply`: created, changed, unchanged or refused, and what changed."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedl.client.differences import NOTHING, differences
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import GROUP, ApiServer

JOB: dict[str, Any] = {"apiVersion": GROUP[6:], "kind": "PyTorchJob", "metadata": {"name": "bert"}}
CRON = {"apiVersion": "apps.kubedl.io/v1alpha1", "kind": "Cron", "metadata": {"name": "nightly"}, "spec": {}}
PATH = f"{GROUP}/namespaces/team/pytorchjobs/bert"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "objects.yaml"


def _write(file: Path, *objects: Any) -> str:  # noqa: ANN401 - manifests
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)


def test_created_changed_and_unchanged(run: Run, api: ApiServer, file: Path) -> None:
    job = {**JOB, "spec": {"backoffLimit": 3, "suspend": True}}
    answer = run("apply", "-f", _write(file, job, CRON))
    assert (answer.code, answer.out) == (0, "pytorchjob/bert created in team\ncron/nightly created in team\n")
    job["spec"] = {"backoffLimit": 5, "suspend": True}
    answer = run("apply", "-f", _write(file, job, CRON))
    assert answer.out == (
        "pytorchjob/bert changed in team\n  spec.backoffLimit: 3 → 5\ncron/nightly unchanged in team\n"
    )
    sent = api.calls[-1]
    assert sent.query == {"fieldManager": "kubedl-cli", "force": "false"}


def test_what_the_server_keeps_is_not_sent(run: Run, api: ApiServer, file: Path) -> None:
    """The output of `get -o yaml` can be applied."""
    kept = {"uid": "u", "resourceVersion": "7", "managedFields": [], "creationTimestamp": "x", "generation": 2}
    job = {**JOB, "metadata": {"name": "bert", **kept}, "spec": {}, "status": {"state": "Running"}}
    assert run("apply", "-f", _write(file, job)).code == 0
    assert api.calls[-1].body == {**JOB, "metadata": {"name": "bert", "namespace": "team"}, "spec": {}}


def test_dry_run_changes_nothing(run: Run, api: ApiServer, file: Path) -> None:
    name = _write(file, {**JOB, "spec": {"backoffLimit": 1}})
    assert yaml.safe_load(run("apply", "-f", name, "--dry-run").out)["spec"] == {"backoffLimit": 1}
    assert not api.calls
    assert run("apply", "-f", name, "--dry-run=server").out == "pytorchjob/bert would be created in team\n"
    assert not api.objects
    assert json.loads(run("apply", "-f", name, "-o", "json").out)["metadata"]["name"] == "bert"
    assert run("apply", "-f", name, "-o", "name").out == "pytorchjob/bert\n"


@pytest.mark.parametrize(
    ("reason", "words", "step"),
    [
        ("FieldValueForbidden", "suspend the job first", "kubedl suspend bert, then apply it again"),
        ("FieldValueForbidden", "it is chosen once", "undo it      or  another metadata.name"),
        ("FieldValueInvalid", "should be greater than 0", "correct the file"),
    ],
)
def test_a_refusal_has_the_reason_and_the_others_are_applied(
    run: Run, api: ApiServer, file: Path, reason: str, words: str, step: str
) -> None:
    api.job("bert", spec={"suspend": False})
    cause = {"reason": reason, "field": "spec.x", "message": words}
    status = {"kind": "Status", "reason": "Invalid", "code": 422, "message": "no", "details": {"causes": [cause]}}
    api.refusals[f"PATCH {PATH}"] = (422, status)
    answer = run("apply", "-f", _write(file, {**JOB, "spec": {}}, CRON))
    assert (answer.code, answer.out) == (1, "cron/nightly created in team\n")
    assert answer.err == f"error: cannot apply pytorchjob/bert\n  why   spec.x: {words}\n  next  {step}\n"


def _conflict(manager: str) -> tuple[int, dict[str, Any]]:
    message = f'conflict with "{manager}" using {GROUP[6:]}'
    cause = {"reason": "FieldManagerConflict", "field": ".spec.suspend", "message": message}
    return 409, {"kind": "Status", "reason": "Conflict", "code": 409, "message": "1", "details": {"causes": [cause]}}


def test_fields_of_others_are_named(run: Run, api: ApiServer, file: Path) -> None:
    api.job("bert", spec={"suspend": False})
    api.refusals[f"PATCH {PATH}"] = _conflict("kubectl-patch")
    answer = run("apply", "-f", _write(file, {**JOB, "spec": {"suspend": True}}))
    assert answer.code == 1
    assert answer.err.startswith(
        "error: cannot apply pytorchjob/bert: others have set these fields\n  why   spec.suspend"
    )
    assert "--force-conflicts" in answer.err
    run("apply", "-f", str(file), "--force-conflicts")
    assert [call.query["force"] for call in api.calls if call.method == "PATCH"] == ["false", "true"]


def test_fields_of_our_own_commands_are_taken_over(run: Run, api: ApiServer, file: Path) -> None:
    """A job that was submitted can be changed by a file."""
    api.job("bert", spec={"suspend": False})
    api.refusals[f"PATCH {PATH}"] = _conflict("kubedl-cli")
    run("apply", "-f", _write(file, {**JOB, "spec": {"suspend": True}}))
    assert [call.query["force"] for call in api.calls if call.method == "PATCH"] == ["false", "true"]


@pytest.mark.parametrize(
    ("value", "code", "what", "step"),
    [
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, 1, "kubedl applies no Pod of v1", "kubectl"),
        ({**JOB, "kind": "TfJobs", "spec": {}}, 0, "", ""),
        ({**JOB, "kind": "RayJob", "spec": {}}, 1, "there is no kind of jobs called RayJob", ""),
        (
            {**JOB, "metadata": {"name": "x", "namespace": "other"}},
            2,
            "pytorchjob/x is in other, and -n is team",
            "-n other",
        ),
        ({**JOB, "metadata": {}}, 2, "objects.yaml: a PyTorchJob without metadata.name", "add it"),
    ],
)
def test_mistakes(run: Run, file: Path, value: Any, code: int, what: str, step: str) -> None:  # noqa: ANN401
    answer = run("apply", "-f", _write(file, value))
    assert answer.code == code
    assert what in answer.err
    assert step in answer.err


def test_differences_name_items_of_lists() -> None:
    def spec(image: str, *names: str) -> dict[str, Any]:
        env = [{"name": name, "value": "1"} for name in names]
        return {"spec": {"containers": [{"name": "main", "image": image, "env": env}], "command": ["a", image]}}

    found = {one.field: (one.before, one.after) for one in differences(spec("a", "A"), spec("b", "A", "B"))}
    assert found == {
        "spec.containers[main].image": ("a", "b"),
        "spec.containers[main].env[B]": (NOTHING, {"name": "B", "value": "1"}),
        "spec.command": (["a", "a"], ["a", "b"]),
    }
