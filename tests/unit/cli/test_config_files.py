"""`--config-file`: files of this machine in the pods of a job."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedl.kube import codec
from kubedl.training.kinds import all_kinds
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer

MAPS = "/api/v1/namespaces/team/configmaps/"
JOB = "/apis/training.kubedl.io/v1alpha1/namespaces/team/pytorchjobs/bert"
SUBMIT = ("submit", "pytorch", "--name", "bert", "--image", "i", "--workers", "2")
TYPES = {kind.kind: kind.type for kind in all_kinds()}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text('{"a": 1}')
    Path("b.bin").write_bytes(b"\xff\x00")
    Path("train.py").write_text("print(1)\n")


def _found(manifest: dict[str, Any], maps: dict[str, Any]) -> dict[str, dict[str, bytes]]:
    """Return what each role finds at its paths."""
    (field,) = [value for key, value in manifest["spec"].items() if key.endswith("ReplicaSpecs")]
    found: dict[str, dict[str, bytes]] = {}
    for role, part in field.items():
        spec = part["template"]["spec"]
        names = {one["name"]: one["configMap"]["name"] for one in spec["volumes"] if "configMap" in one}
        mounts = [one for one in spec["containers"][0]["volumeMounts"] if one["name"] in names and "subPath" in one]
        assert all(one["readOnly"] for one in mounts)
        found[role] = {
            one["mountPath"]: base64.b64decode(maps[names[one["name"]]]["binaryData"][one["subPath"]]) for one in mounts
        }
    return found


def test_every_pod_finds_the_files_and_they_end_with_the_job(run: Run, api: ApiServer, tmp_path: Path) -> None:
    answer = run(*SUBMIT, "--config-file", "a.json:/etc/app/a.json", "--config-file", "b.bin", "python3 x.py")
    assert answer.code == 0, answer.err
    (path,) = [one for one in api.objects if one.startswith(MAPS)]
    made = api.objects[path]
    assert made["immutable"]
    assert [one["uid"] for one in made["metadata"]["ownerReferences"]] == ["uid-bert"]
    wanted = {"/etc/app/a.json": b'{"a": 1}', str(tmp_path / "b.bin"): b"\xff\x00"}
    maps = {path.rpartition("/")[2]: made}
    assert _found(api.objects[JOB], maps) == {"Master": wanted, "Worker": wanted}


@pytest.mark.parametrize("kind", ["pytorch", "mpi", "tf", "jax"])
def test_what_is_printed_can_be_applied(run: Run, api: ApiServer, kind: str) -> None:
    words = ("--name", "bert", "--image", "i", "--dry-run=client", "--config-file", "a.json:/a.json", "python3 x.py")
    answer = run("submit", kind, *words)
    files, job = yaml.safe_load_all(answer.out)
    assert set(map(str, _found(job, {files["metadata"]["name"]: files}).values())) == {str({"/a.json": b'{"a": 1}'})}
    assert not api.calls
    codec.decode(codec.encode(job), TYPES[job["kind"]])


def test_the_server_checks_the_job_with_its_mounts(run: Run, api: ApiServer) -> None:
    assert run(*SUBMIT, "--dry-run=server", "--config-file", "a.json:/a.json", "true").code == 0
    (call,) = [one for one in api.calls if one.method == "POST" and "pytorchjobs" in one.path]
    assert "/a.json" in str(call.body)
    assert not [one for one in api.objects if one.startswith(MAPS)]


def test_with_code(run: Run, api: ApiServer) -> None:
    words = (*SUBMIT, "--code", ".", "--config-file", "a.json:/a.json", "--", "python3", "train.py")
    assert run(*words).code == 0
    maps = [one.rpartition("/")[2] for one in api.objects if one.startswith(MAPS)]
    assert sorted(one.split("-")[1] for one in maps) == ["config", "files"]
    assert all("ownerReferences" in api.objects[MAPS + one]["metadata"] for one in maps)


def test_a_job_that_runs_again_has_them_too(run: Run, api: ApiServer) -> None:
    assert run(*SUBMIT, "--config-file", "a.json:/a.json", "true").code == 0
    assert run("rerun", "bert").code == 0
    (path,) = [one for one in api.objects if one.startswith(MAPS)]
    assert [one["name"] for one in api.objects[path]["metadata"]["ownerReferences"]] == ["bert", "bert-r2"]
    assert run("rerun", "bert", "--set", "config-file=b.bin").code == 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["none.json"], "--config-file: there is no file none.json"),
        (["folder"], "--config-file: there is no file folder"),
        (["id_rsa"], "--config-file: id_rsa looks like a key, and many may read a ConfigMap"),
        (["a.json:/a", "b.bin:/a"], "--config-file: /a is there twice"),
        (["large"], "--config-file: large is larger than 900 KiB"),
    ],
)
def test_what_cannot_be_sent(run: Run, api: ApiServer, values: list[str], said: str) -> None:
    Path("folder").mkdir()
    Path("id_rsa").write_text("key")
    Path("large").write_bytes(os.urandom(901 * 1024))
    answer = run(*SUBMIT, *(word for value in values for word in ("--config-file", value)), "true")
    assert (answer.code, answer.err.splitlines()[0]) == (2, f"error: {said}")
    assert answer.err.splitlines()[-1].startswith("  next  ")
    assert not api.calls


@pytest.mark.parametrize("path", ["/a/../b", "/a/"])
def test_a_path_that_no_pod_can_have(run: Run, api: ApiServer, path: str) -> None:
    assert run(*SUBMIT, "--config-file", f"a.json:{path}", "true").code == 1
    assert not [one for one in api.calls if one.method == "POST" and "selfsubject" not in one.path]


def test_a_path_of_another_volume(run: Run) -> None:
    answer = run(*SUBMIT, "--data", "claim:/a.json", "--config-file", "a.json:/a.json", "true")
    assert (answer.code, answer.err.splitlines()[0]) == (1, "error: /a.json is mounted twice")


@pytest.mark.parametrize("flags", [("--config-file", "a.json:/a.json"), ("--code", ".")])
def test_a_cron_cannot_have_them(run: Run, api: ApiServer, flags: tuple[str, str]) -> None:
    """They would be deleted with its first run."""
    words = ("cron", "create", "nightly", "--schedule", "@daily", "--", "submit", "pytorch", "--image", "i", *flags)
    answer = run(*words, "python3 train.py")
    assert (answer.code, answer.err.partition(": ")[2].partition(":")[0]) == (2, flags[0])
    assert not [one for one in api.calls if one.method == "POST"]
