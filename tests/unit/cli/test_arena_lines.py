"""Every command line of Arena's documents for its jobs gives the object that is written out, or the refusal."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedl.entrypoints import command
from kubedl.kube import codec
from kubedl.training.kinds import all_kinds
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer

LINES: list[dict[str, Any]] = [
    entry
    for file in sorted((Path(__file__).parent / "arena_lines").glob("*.yaml"))
    for entry in yaml.load(file.read_text(), yaml.CSafeLoader)
]
JOBS = [entry for entry in LINES if "object" in entry]
SCALING = [entry for entry in LINES if "workers" in entry]
TYPES = {kind.kind: kind.type for kind in all_kinds()}


def _words(entry: dict[str, Any], *more: str) -> list[str]:
    """Return the words of a line with more after its kind: the last one is the command of the job."""
    words = shlex.split(entry["line"])
    place = words.index("submit") + 2 if "submit" in words else 2
    return [*words[:place], *more, *words[place:]]


def _changed(entry: dict[str, Any], *more: str) -> list[str]:
    dropped = set(entry.get("drop", ()))
    return [word for word in _words(entry, *entry.get("add", ()), *more) if word not in dropped]


def test_there_are_all_of_them() -> None:
    """46 lines submit, 4 scale, and one makes a cron."""
    lines = [entry["line"] for entry in LINES]
    assert len(set(lines)) == len(lines) == 51
    assert sum(" submit " in f" {line}" for line in lines) == 46
    assert sum(line.startswith(("scalein", "scaleout")) for line in lines) == 4


def _id(entry: dict[str, Any]) -> str:
    return next(word.partition("=")[2] for word in shlex.split(entry["line"]) if word.startswith("--name"))


@pytest.mark.parametrize("entry", JOBS, ids=_id)
def test_a_line_gives_its_object_or_its_refusal(entry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    if "refusal" in entry:
        assert command.main(_words(entry, "--dry-run")) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        what, step = printed.err.splitlines()[-2:]
        assert what == f"error: {entry['refusal']}"
        assert step.startswith("  next  ")
    assert command.main(_changed(entry, "--dry-run")) == 0
    printed = capsys.readouterr()
    found = yaml.load(printed.out, yaml.CSafeLoader)
    assert found == entry["object"]
    if found["kind"] in TYPES:
        codec.decode(codec.encode(found), TYPES[found["kind"]])


@pytest.mark.parametrize("entry", SCALING, ids=lambda entry: entry["line"].split()[0])
def test_a_line_scales(run: Run, api: ApiServer, entry: dict[str, Any]) -> None:
    name = _id(entry)
    path = api.job(name, "tfjobs", spec={"suspend": True, "tfReplicaSpecs": {"Worker": {"replicas": 3}}})
    answer = run(*shlex.split(entry["line"]))
    assert answer.code == 0, answer.err
    assert api.objects[path]["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == entry["workers"]
    assert f"kubedl scale {name} --workers {entry['workers']}" in answer.err


def test_a_job_that_runs_is_not_scaled_without_a_word(run: Run, api: ApiServer) -> None:
    api.job("a", "tfjobs", spec={"tfReplicaSpecs": {"Worker": {"replicas": 3}}}, status={"state": "Running"})
    answer = run("scalein", "etjob", "--name=a")
    assert (answer.code, "add -y" in answer.err) == (2, True)
    assert not any(call.method == "PATCH" for call in api.calls)


def test_an_elastic_job_is_scaled_without_a_question(run: Run, api: ApiServer) -> None:
    """Nobody starts anew."""
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}, "elastic": {"minReplicas": 1, "maxReplicas": 4}}
    path = api.job("a", "pytorchjobs", spec=spec, status={"state": "Running"})
    answer = run("scale", "a", "--workers", "2")
    assert (answer.code, answer.out) == (0, "pytorchjob/a has 2 workers\n")
    assert api.objects[path]["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    assert api.objects[path]["spec"].get("suspend") is None


@pytest.mark.parametrize("flag", ["--script=x", "--retry=1", "--env=A=1"])
def test_scripts_of_arena_are_refused(run: Run, api: ApiServer, flag: str) -> None:
    answer = run("scaleout", "etjob", "--name=a", flag)
    assert answer.err.startswith(f"error: {flag.partition('=')[0]}: Arena runs a script in the pods")
    assert not api.calls


@pytest.mark.parametrize(
    ("written", "read"), [("0 0 22 * * ?", "0 22 * * *"), ("0 3 * * *", "0 3 * * *"), ("@daily", "@daily")]
)
def test_a_schedule_with_seconds(capsys: pytest.CaptureFixture[str], written: str, read: str) -> None:
    words = [
        "cron",
        "tfjob",
        "--name=n",
        "--image=i",
        f"--schedule={written}",
        "--dry-run",
        "-o",
        "json",
        "python x.py",
    ]
    assert command.main(words) == 0
    assert yaml.safe_load(capsys.readouterr().out)["spec"]["schedule"] == read


def test_runs_between_minutes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["cron", "tfjob", "--name=n", "--image=i", "--schedule=30 0 22 * * ?"]) == 2
    assert "runs start at full minutes" in capsys.readouterr().err


def test_the_revision_of_code(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--name=n", "--image=i", "--dry-run", "--sync-source=https://git.example/a.git", "--env=GIT_SYNC_REV=v1"]
    assert command.main(["submit", "tf", *words]) == 0
    job = yaml.safe_load(capsys.readouterr().out)
    assert job["spec"]["codeSource"]["revision"] == "v1"
    assert "env" not in job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(("where", "code"), [("s3://bucket/logs", 0), ("/data/logs", 0), ("/data", 0), ("/data2", 2)])
def test_logs_are_where_tensorboard_can_read_them(where: str, code: int) -> None:
    words = ["--name=n", "--image=i", "--dry-run", "--data=claim:/data", "--tensorboard", f"--logdir={where}"]
    assert command.main(["submit", "tf", *words]) == code


def test_an_image_for_each_role_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["submit", "tf", "--name=n", "--worker-image=w", "--chief", "--dry-run"]
    assert command.main(words) == 0
    roles = yaml.safe_load(capsys.readouterr().out)["spec"]["tfReplicaSpecs"]
    assert {role["template"]["spec"]["containers"][0]["image"] for role in roles.values()} == {"w"}
    assert command.main([*words, "--ps=1"]) == 2
    assert capsys.readouterr().err.startswith("error: no --image\n")


def test_a_registry_without_tls(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["submit", "tf", "--name=n", "--image=i", "--dry-run", "--model-insecure"]
    assert command.main(words) == 2
    assert "--model-insecure needs --model-name" in capsys.readouterr().err
    assert command.main([*words, "--model-name=m", "--model-repo=r/m", "--model-storage=c"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["spec"]["modelVersion"]["registry"] == {"insecure": True}
