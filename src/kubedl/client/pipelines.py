"""A training job as one step of a pipeline: submit it, wait for it, hand on the model version that it made.

A step that is started again in the same run of the pipeline, after its pod was lost, finds the job that it submitted
and goes on waiting: the name and a label of the job come from the run.
"""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubedl.client.errors import AlreadyExists, Invalid, KubedlError, WaitTimeout
from kubedl.client.job import Job
from kubedl.client.log_line import LogLine
from kubedl.client.objects import VERSIONS
from kubedl.client.training_client import TrainingClient

RUN_LABEL = "training.kubedl.io/pipeline-run"
POLL = 2.0  # seconds between looks at a model version
LATE_VERSION = 30.0  # seconds after the success of a job in which its version must be named
LAST_LINES = 10.0  # seconds for the end of the logs
BUILT, NOT_BUILT = "ImageBuildSucceeded", "ImageBuildFailed"

OnLine = Callable[[LogLine], None]


@dataclass(frozen=True)
class StepResult:
    """What the next step of the pipeline needs. The last two are empty if the job makes no model."""

    job: str
    namespace: str
    model_version: str = ""
    model_image: str = ""


def run_step(
    client: TrainingClient,
    manifest: Mapping[str, Any],
    *,
    run: str = "",
    timeout: float | None = None,
    on_line: OnLine | None = None,
) -> StepResult:
    """Submit a job, wait until it has succeeded and its model image exists, and return their names.

    `run` is the run of the pipeline: the same step in the same run submits one job, however often it is started.
    A manifest with `generateName` gets a name from it. `on_line` is told the lines of the job's logs. Raises JobFailed,
    WaitTimeout, and KubedlError if the model image cannot be built.
    """
    deadline = time.monotonic() + timeout if timeout is not None else float("inf")
    job = _submitted(client, _named(manifest, run, client.namespace), run)
    name = f"{job.word}/{job.name}"
    reader = _reading(client, name, on_line) if on_line is not None else None
    done = client.wait_for_job_status(name, timeout=timeout)
    if reader is not None:
        reader.join(LAST_LINES)
    if not job.spec.get("modelVersion"):
        return StepResult(job.name, job.namespace)
    version = _version_name(client, done, name, deadline)
    return StepResult(job.name, job.namespace, version, _built_image(client, version, deadline))


def _named(manifest: Mapping[str, Any], run: str, namespace: str) -> dict[str, Any]:
    """Return the manifest with a name, and with the label of the run."""
    metadata = dict(manifest.get("metadata") or {})
    if metadata.get("namespace", namespace) != namespace:
        raise Invalid(f"the job is for {metadata['namespace']}", f"the step works in {namespace}", ("--namespace",))
    start = metadata.pop("generateName", "")
    if start and not metadata.get("name"):
        end = hashlib.sha256(run.encode()).hexdigest()[:8] if run else secrets.token_hex(4)
        metadata["name"] = f"{start}{end}"
    if not metadata.get("name") or not isinstance(manifest.get("kind"), str):
        raise Invalid("the step has no job", "a manifest has a kind, and metadata.name or metadata.generateName")
    if run:
        metadata["labels"] = {**(metadata.get("labels") or {}), RUN_LABEL: _label(run)}
    return {**manifest, "metadata": metadata}


def _label(run: str) -> str:
    """Return a run as the value of a label, which may have 63 letters, digits, dots and lines."""
    plain = all(letter.isascii() and (letter.isalnum() or letter in "-_.") for letter in run)
    fits = plain and len(run) <= 63 and run[0].isalnum() and run[-1].isalnum()
    return run if fits else hashlib.sha256(run.encode()).hexdigest()[:40]


def _submitted(client: TrainingClient, manifest: Mapping[str, Any], run: str) -> Job:
    """Create the job; one that this step created before is returned as it is."""
    try:
        return client.create_job(manifest)
    except AlreadyExists:
        found = client.get_job(f"{manifest['kind']}/{manifest['metadata']['name']}")
        if run and (found.metadata.get("labels") or {}).get(RUN_LABEL) == _label(run):
            return found
        raise


def _reading(client: TrainingClient, name: str, on_line: OnLine) -> threading.Thread:
    """Read the logs in a thread, so that the time limit of the step holds whatever the job prints."""

    def read() -> None:
        try:
            for line in client.follow_job_logs(name):
                on_line(line)
        except KubedlError:
            return  # without logs the step goes on: waiting tells what is wrong

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _version_name(client: TrainingClient, job: Job, name: str, deadline: float) -> str:
    """Return the name of the version that a job has made."""
    limit = min(deadline, time.monotonic() + LATE_VERSION)
    while True:
        found = str(job.status.get("modelVersionName") or "")
        if found:
            return found
        if time.monotonic() >= limit:
            raise KubedlError(f"{job} succeeded and made no model", job.message, (f"kubedl why {name}",))
        time.sleep(min(POLL, max(0.0, limit - time.monotonic())))
        job = client.get_job(name)


def _built_image(client: TrainingClient, version: str, deadline: float) -> str:
    """Wait for the image of a version, and return it."""
    while True:
        status = client.objects.get(VERSIONS, version).get("status") or {}
        phase = status.get("imageBuildPhase")
        if phase == BUILT:
            return str(status.get("image") or "")
        if phase == NOT_BUILT:
            why = f"kubedl why modelversion/{version}"
            raise KubedlError(f"the image of {version} was not built", str(status.get("message") or ""), (why,))
        if time.monotonic() >= deadline:
            raise WaitTimeout(f"the image of {version} is not there yet", next=(f"kubedl model get {version}",))
        time.sleep(min(POLL, max(0.0, deadline - time.monotonic())))
