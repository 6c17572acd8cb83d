"""The rest of the command line on a real API server: every kind, changes, crons, models, services, checks, mistakes."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedl.client import Forbidden, Job, TrainingClient
from kubedl.kube.sync_credentials import Overrides
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import SlotJobs
from tests.cluster.test_cli import SIMULATED, Run, jobs, kubedl  # noqa: F401 - fixtures

KINDS = ("pytorch", "tf", "mpi", "jax", "xgboost", "xdl", "mars", "elasticdl")
BASE = ("--image", "none", *SIMULATED)
PREDICTOR = {"template": {"spec": {"containers": [{"name": "predictor", "image": "none"}]}}, "modelVersion": "v1"}


def test_every_kind_is_submitted_and_runs(jobs: SlotJobs, kubedl: Run) -> None:  # noqa: F811
    """The API server takes what the flags make of each kind, and its pods start."""
    for kind in KINDS:
        words = ("submit", kind, "--name", f"j-{kind}", *BASE, "--cpu", "1", "python train.py")
        assert kubedl(*words, "--dry-run=server").returncode == 0
        made = kubedl(*words)
        assert made.returncode == 0, made.stderr
    full = ("--ps", "1", "--chief", "--evaluator", "--workers", "2", "--ps-affinity-policy", "spread")
    made = kubedl(
        "submit", "tfjob", "--name", "full", *BASE, *full, "--psCpu", "1", "--role-sequence", "PS,Chief,Worker"
    )
    assert (made.returncode, made.stderr) == (0, "hint: --psCpu is now --ps-cpu (both work)\n")
    names = [f"j-{kind}" for kind in KINDS] + ["full"]
    done = kubedl("wait", *names, "--for", "running", "--timeout", "180")
    assert done.returncode == 0, done.stderr
    states = {one["name"]: one["state"] for one in json.loads(kubedl("list", "-o", "json").stdout)["items"]}
    assert states == dict.fromkeys(names, "Running")


def test_a_file_is_submitted_and_its_refused_fields_are_lines(jobs: SlotJobs, kubedl: Run, tmp_path: Path) -> None:  # noqa: F811
    made = yaml.safe_load(kubedl("submit", "jax", "--name", "a", *BASE, "--dry-run", "-o", "yaml").stdout)
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(made))
    assert kubedl("submit", "-f", str(file)).stdout.startswith("jaxjob/a created in ")
    made["spec"] |= {"backoffLimit": -1, "activeDeadlineSeconds": 0}
    made["metadata"]["name"] = "b"
    file.write_text(yaml.safe_dump(made))
    refused = kubedl("submit", "-f", str(file))
    assert refused.returncode == 1
    lines = refused.stderr.splitlines()
    assert lines[0] == "error: cannot create jaxjob/b"
    assert {line.split()[1 if number == 0 else 0] for number, line in enumerate(lines[1:3])} == {
        "spec.activeDeadlineSeconds:",
        "spec.backoffLimit:",
    }


def test_suspend_resume_scale_and_events(jobs: SlotJobs, kubedl: Run, namespace: str) -> None:  # noqa: F811
    assert kubedl("submit", "pytorch", "--name", "scaled", *BASE).returncode == 0
    assert kubedl("wait", "scaled", "--for", "ready", "--timeout", "180").returncode == 0
    asked = kubedl("scale", "scaled", "--workers", "3")
    assert (asked.returncode, asked.stderr) == (
        2,
        "error: scaled runs, and its pods would start anew\n  next  add -y\n",
    )
    scaled = kubedl("scale", "scaled", "--workers", "3", "-y")
    assert (scaled.stdout, scaled.stderr) == ("pytorchjob/scaled has 3 workers\n", "")
    until("three pods", lambda: jobs.status("scaled").get("ready") == "3/3", deadline=60)
    assert kubedl("suspend", "scaled").stdout == f"pytorchjob/scaled suspended in {namespace}\n"
    assert kubedl("wait", "scaled", "--for", "Suspended", "--timeout", "180").returncode == 0
    assert kubedl("scale", "scaled", "--workers", "2").stdout == "pytorchjob/scaled has 2 workers when it is resumed\n"
    assert kubedl("resume", "scaled").stdout == f"pytorchjob/scaled resumed in {namespace}\n"
    until("two pods", lambda: jobs.status("scaled").get("ready") == "2/2", deadline=60)
    until("the event", lambda: "JobRunning" in kubedl("events", "scaled").stdout, deadline=60)
    assert "worker-0" in kubedl("top", "job", "scaled").stdout
    # By a name that no other test has, since jobs of all namespaces are counted; on which nodes they are is open.
    assert sum(map(int, re.findall(r"\bscaled (\d+)", kubedl("top", "node").stdout))) == 2


def test_crons(jobs: SlotJobs, kubedl: Run, namespace: str) -> None:  # noqa: F811
    words = ("--schedule", "0 3 * * *", "--history-limit", "3", "--", "submit", "pytorch", *BASE, "python x.py")
    made = kubedl("cron", "create", "nightly", *words)
    assert (made.stdout, made.stderr) == (f"cron/nightly created in {namespace}\n", "")
    until("the next time", lambda: " in " in kubedl("cron", "list").stdout, deadline=60)
    assert kubedl("cron", "run", "nightly", "--name", "now").stdout == f"pytorchjob/now created in {namespace}\n"
    assert kubedl("wait", "now", "--for", "running", "--timeout", "180").returncode == 0
    assert kubedl("cron", "suspend", "nightly").returncode == 0
    assert (
        kubedl("cron", "get", "nightly").stdout == "nightly  PyTorchJob at 0 3 * * * UTC  next -  last -  suspended\n"
    )
    assert kubedl("cron", "resume", "nightly").returncode == 0
    assert kubedl("cron", "delete", "nightly").returncode == 0
    assert kubedl("cron", "list").stderr == f"no crons in {namespace}\n"


def test_models_and_services(jobs: SlotJobs, kubedl: Run, control_plane: Cluster, namespace: str) -> None:  # noqa: F811
    """What the commands write is what the server accepts; controllers of models and services do not run here."""
    built = kubedl("model", "build", "v1", "--model", "trees", "--storage", "claim/trees", "--repo", "hub/trees")
    assert built.returncode == 0, built.stderr
    until("the model", lambda: kubedl("model", "list").stdout.startswith("MODEL"), deadline=60)
    assert "v1" in kubedl("model", "get", "trees").stdout
    assert "trees" in kubedl("model", "lineage", "v1").stdout
    predictors = [{"name": name, **PREDICTOR} for name in ("main", "other")]
    body: Any = {"apiVersion": "serving.kubedl.io/v1alpha1", "kind": "Inference", "metadata": {"name": "flowers"}}
    body["spec"] = {"framework": "Custom", "predictors": predictors}
    path = f"/apis/serving.kubedl.io/v1alpha1/namespaces/{namespace}/inferences"
    control_plane.api.create(path, body)
    shared = kubedl("serve", "traffic", "flowers", "main=70", "other=30")
    assert shared.stdout == "inference/flowers: main 100 → 70, other 100 → 30\n", shared.stderr
    found = control_plane.api.get(f"{path}/flowers")
    assert [one["trafficWeight"] for one in found["spec"]["predictors"]] == [70, 30]
    assert kubedl("serve", "scale", "flowers", "--predictor", "main", "--replicas", "2").returncode == 0
    assert "flowers" in kubedl("serve", "list").stdout
    assert "main" in kubedl("serve", "get", "flowers").stdout
    refused = kubedl("serve", "promote", "flowers")
    assert refused.stderr.startswith("error: nothing to promote\n  why   no rollout is under way\n  next  ")
    unknown = kubedl("serve", "traffic", "flowers", "third=1")
    assert unknown.returncode == 1
    assert unknown.stderr.startswith("error: flowers has no predictor called third\n")
    assert kubedl("serve", "delete", "flowers").returncode == 0
    assert kubedl("model", "delete", "v1").returncode == 0


def test_doctor_names_what_is_missing(jobs: SlotJobs, kubedl: Run) -> None:  # noqa: F811
    done = kubedl("doctor")
    states = {line.split()[1]: line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()}
    assert states["cluster"] == states["kinds"] == states["rights"] == states["models"] == states["nodes"] == "ok"
    assert states["metrics"] == "off"
    assert done.returncode in (1, 3)
    denied = kubedl("doctor", "--as", "nobody")
    assert denied.returncode == 1
    assert "you may not create pytorchjobs (submit)" in denied.stdout


@pytest.mark.parametrize(
    ("words", "first", "step"),
    [
        (("get", "nothing"), "there is no job called nothing in ", "kubedl list -A"),
        (("get", "there", "-n", "default"), "there is no job called there in default", "kubedl list -A"),
        (("list", "--server", "https://127.0.0.1:1"), "cannot ask for the kinds of jobs: no answer from", "check the"),
        (("submit", "pytorch", "--name", "x"), "no --image", "--image IMAGE"),
        (("list", "--as", "nobody"), "cannot list ", "kubectl auth can-i --list"),
    ],
)
def test_five_mistakes_have_a_line_and_a_next_step(
    jobs: SlotJobs,  # noqa: F811
    kubedl: Run,  # noqa: F811
    words: tuple[str, ...],
    first: str,
    step: str,
) -> None:
    done = kubedl(*words)
    lines = done.stderr.splitlines()
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert lines[0].startswith(f"error: {first}")
    assert lines[-1].startswith(f"  next  {step}")
    assert "Traceback" not in done.stderr


def test_code_of_this_machine_belongs_to_its_job(
    jobs: SlotJobs,  # noqa: F811
    control_plane: Cluster,
    namespace: str,
) -> None:
    """The ConfigMap is there before the pods, and deleted with the job."""
    overrides = Overrides(kubeconfig=str(control_plane.kubeconfig))
    with TrainingClient(namespace=namespace, overrides=overrides) as client:
        job: Job = client.train(_work, name="digits", image="none", num_workers=2)
        (files,) = [
            one
            for one in control_plane.api.list(f"/api/v1/namespaces/{namespace}/configmaps")
            if one["metadata"]["name"].startswith("digits-files-")
        ]
        assert files["metadata"]["ownerReferences"][0]["uid"] == job.uid
        assert files["immutable"] is True
    with (
        TrainingClient(
            namespace=namespace, overrides=Overrides(kubeconfig=str(control_plane.kubeconfig), as_user="x")
        ) as other,
        pytest.raises(Forbidden),
    ):
        other.train(_work, image="none")


def _work() -> None:
    print("works")


def test_completion_has_names_of_jobs(jobs: SlotJobs, kubedl: Run, control_plane: Cluster, namespace: str) -> None:  # noqa: F811
    assert kubedl("submit", "pytorch", "--name", "bert", *BASE).returncode == 0
    done = subprocess.run(
        [
            *(".venv/bin/python", "-c", "from kubedl.cli.kubectl_completion import main; main()"),
            *("--kubeconfig", str(control_plane.kubeconfig), "-n", namespace, "get", "be"),
        ],
        env={"PYTHONPATH": "src", "PATH": "/usr/bin:/bin"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0].startswith("bert\tpytorch")
    assert done.stdout.splitlines()[-1] == ":4"
