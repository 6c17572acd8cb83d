"""Commands that change what is there, on a real API server: apply, rerun, prune, serve submit."""

import json
from pathlib import Path
from typing import Any

import yaml

from kubedl.client import TrainingClient
from kubedl.kube.sync_credentials import Overrides
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import SlotJobs
from tests.cluster.test_cli import SIMULATED, Run, jobs, kubedl  # noqa: F401 - fixtures

BASE = ("--image", "none", *SIMULATED, "--cpu", "1")


def test_apply_creates_changes_and_quotes_refusals(
    jobs: SlotJobs,  # noqa: F811
    kubedl: Run,  # noqa: F811
    namespace: str,
    tmp_path: Path,
) -> None:
    """What was submitted can be changed by a file; the server's own reason is printed for what cannot change."""
    file = tmp_path / "objects.yaml"
    assert kubedl("submit", "pytorch", "--name", "bert", "--workers", "2", *BASE).returncode == 0
    words = ("--schedule", "0 3 * * *", "--dry-run", "--", "submit", "pytorch", *BASE)
    cron = yaml.safe_load(kubedl("cron", "create", "nightly", *words).stdout)
    job = yaml.safe_load(kubedl("submit", "pytorch", "--name", "bert", "--workers", "2", *BASE, "--dry-run").stdout)
    job["spec"]["backoffLimit"] = 7

    def apply(*flags: str, **parts: Any) -> Any:  # noqa: ANN401 - objects of YAML
        file.write_text(yaml.safe_dump_all([{**job, **parts}, cron]))
        return kubedl("apply", "-f", str(file), *flags)

    assert apply("--dry-run=server").stdout == (
        f"pytorchjob/bert would be changed in {namespace}\n  spec.backoffLimit: 3 → 7\n"
        f"cron/nightly would be created in {namespace}\n"
    )
    done = apply()
    assert done.stdout == (
        f"pytorchjob/bert changed in {namespace}\n  spec.backoffLimit: 3 → 7\ncron/nightly created in {namespace}\n"
    ), done.stderr
    same = f"pytorchjob/bert unchanged in {namespace}\ncron/nightly unchanged in {namespace}\n"
    assert apply().stdout == same

    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 3
    refused = apply()
    assert (refused.returncode, refused.stdout) == (1, f"cron/nightly unchanged in {namespace}\n")
    assert refused.stderr.startswith("error: cannot apply pytorchjob/bert\n  why   spec.pytorchReplicaSpecs: ")
    assert "suspend the job to resize it" in refused.stderr
    assert "next  kubedl suspend bert, then apply it again" in refused.stderr
    assert kubedl("suspend", "bert").returncode == 0
    assert "pytorchjob/bert changed" in apply().stdout

    shown = kubedl("get", "bert", "-o", "yaml").stdout
    file.write_text(shown)
    assert kubedl("apply", "-f", str(file)).stdout == f"pytorchjob/bert unchanged in {namespace}\n"


def test_fields_of_others_are_not_overwritten(
    jobs: SlotJobs,  # noqa: F811
    kubedl: Run,  # noqa: F811
    control_plane: Cluster,
    tmp_path: Path,
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(kubedl("submit", "pytorch", "--name", "bert", *BASE, "--retry", "2", "--dry-run").stdout)
    assert kubedl("apply", "-f", str(file)).returncode == 0
    path = f"/apis/training.kubedl.io/v1alpha1/namespaces/{jobs.namespace}/pytorchjobs/bert"
    jobs.edit("bert", backoffLimit=9)
    refused = kubedl("apply", "-f", str(file))
    assert refused.returncode == 1
    assert "others have set these fields" in refused.stderr
    assert "spec.backoffLimit: conflict with" in refused.stderr
    assert control_plane.api.get(path)["spec"]["backoffLimit"] == 9
    assert kubedl("apply", "-f", str(file), "--force-conflicts").returncode == 0
    assert control_plane.api.get(path)["spec"]["backoffLimit"] == 2


def test_rerun_and_prune(
    jobs: SlotJobs,  # noqa: F811
    kubedl: Run,  # noqa: F811
    control_plane: Cluster,
    namespace: str,
) -> None:
    """A job with code runs again beside itself and in its own place; prune deletes what ended and what is left."""
    overrides = Overrides(kubeconfig=str(control_plane.kubeconfig))
    with TrainingClient(namespace=namespace, overrides=overrides) as client:
        client.train(_work, name="digits", image="none", num_workers=2)
    flags = ("workers=3", f"toleration={SIMULATED[1]}", "memory=64Mi")
    again = kubedl("rerun", "digits", *(word for flag in flags for word in ("--set", flag)))
    assert (again.returncode, again.stdout) == (0, f"pytorchjob/digits-r2 created in {namespace}\n"), again.stderr
    until("three pods", lambda: jobs.status("digits-r2").get("ready") == "3/3", deadline=60)
    assert kubedl("delete", "digits").returncode == 0
    files = f"/api/v1/namespaces/{namespace}/configmaps"

    def owners() -> list[list[str]]:
        found = [one for one in control_plane.api.list(files) if "-files-" in one["metadata"]["name"]]
        return [[owner["name"] for owner in one["metadata"].get("ownerReferences") or ()] for one in found]

    until("the second owner alone", lambda: owners() == [["digits-r2"]], deadline=60)
    asked = kubedl("rerun", "digits-r2", "--replace")
    assert (asked.returncode, asked.stderr.splitlines()[0]) == (
        2,
        "error: digits-r2 has not ended, and would be deleted",
    )
    refused = kubedl("rerun", "digits-r2", "--replace", "-y", "--set", "retry=1", "--set", "running-timeout=0")
    assert refused.returncode == 1
    assert jobs.status("digits-r2").get("ready") == "3/3", "the job is kept if the server refuses the new one"
    done = kubedl("rerun", "digits-r2", "--replace", "-y", "--set", "workers=2", "--set", "retry=0")
    assert (done.returncode, done.stdout) == (0, f"pytorchjob/digits-r2 created in {namespace}\n"), done.stderr
    # The third pod of the job before may go after its namesakes run.
    until("two pods", lambda: (jobs.status("digits-r2").get("ready"), len(jobs.pods())) == ("2/2", 2), deadline=60)
    assert owners() == [["digits-r2"]]

    assert kubedl("prune", "--older-than", "0s", "-y").stderr == f"nothing to delete in {namespace}\n"
    jobs.succeed("digits-r2")
    assert kubedl("wait", "digits-r2", "--timeout", "180").returncode == 0
    assert kubedl("prune", "-y").stderr == f"nothing to delete in {namespace}\n"
    listed = json.loads(kubedl("prune", "--older-than", "0s", "--dry-run", "-o", "json").stdout)
    assert [one["name"] for one in listed["items"]] == ["digits-r2"]
    assert kubedl("prune", "--older-than", "0s").returncode == 2
    gone = kubedl("prune", "--older-than", "0s", "-y")
    assert gone.stdout == f"pytorchjob/digits-r2 deleted from {namespace}\n", gone.stderr
    until("no files", lambda: not owners(), deadline=60)


def _work() -> None:
    print("works")


def test_services_are_submitted(
    jobs: SlotJobs,  # noqa: F811
    kubedl: Run,  # noqa: F811
    control_plane: Cluster,
    namespace: str,
) -> None:
    """The API server takes what the flags make for each server; refusals are its own."""
    for word in ("tfserving", "triton", "mlserver", "vllm", "custom"):
        words = ("--name", word, "--image", "none", "--model-version", "v1", "--gpus", "1", "--queue", "team")
        made = kubedl("serve", "submit", word, *words, "--max-replicas", "3", "--http-port", "8080")
        assert (made.returncode, made.stdout) == (0, f"inference/{word} created in {namespace}\n"), made.stderr
    path = f"/apis/serving.kubedl.io/v1alpha1/namespaces/{namespace}/inferences/vllm"
    assert control_plane.api.get(path)["spec"]["predictors"][0]["autoScale"]["maxReplicas"] == 3
    refused = kubedl("serve", "submit", "custom", "--name", "x", "--image", "none", "--batch-size", "8")
    assert refused.returncode == 1
    assert "batching is not supported for framework Custom" in refused.stderr
    assert kubedl("serve", "logs", "vllm").stderr.startswith("error: vllm has no servers yet\n")
