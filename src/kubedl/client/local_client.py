"""Jobs as processes of this machine: the function that will run on a cluster, with the same variables, without one."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from kubedl.client import code_archive, waiting
from kubedl.client.code_jobs import function_manifest
from kubedl.client.errors import AlreadyExists, JobFailed, NotFound, NotSupported, WaitTimeout
from kubedl.client.foreign_objects import env_of
from kubedl.client.job import Job
from kubedl.client.kubeflow_arguments import understood
from kubedl.client.log_line import LogLine
from kubedl.client.log_sources import rank_in
from kubedl.client.train_manifest import MPI

PAUSE = 0.05  # seconds between looks at a process
RANKS_FILE = "ranks.json"
NOT_HERE = ("queue_name", "priority", "data", "model", "packages_to_install", "resources_per_worker")


class LocalClient:
    """`TrainingClient(backend="local")`: train, get, list, logs, wait, delete. Image, queue and places do not count."""

    def __init__(self, directory: Path | None = None) -> None:
        """Keep logs and states in a directory; by default in the user's cache."""
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self._place = directory or home / "kubedl" / "local"
        self._processes: dict[str, list[tuple[subprocess.Popen[bytes], threading.Thread]]] = {}
        self.namespace = "local"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: processes go on, as jobs of a cluster do."""

    def train(self, func: Callable[..., object] | None = None, **wishes: Any) -> Job:  # noqa: ANN401 - as on a cluster
        """Run a function in `num_workers` processes of this interpreter; returns at once."""
        ignored = [name for name in NOT_HERE if wishes.get(name)]
        if ignored:
            warnings.warn(f"not on this machine: {', '.join(ignored)}", stacklevel=2)
        func, given = understood(func, {"image": "local"}, wishes)
        manifest, archive = function_manifest(func, **given)
        if manifest["kind"] == MPI:
            raise NotSupported(
                "an MPIJob does not run here", "its ranks are started by mpirun", ('job_kind="PyTorchJob"',)
            )
        if archive is None:
            step = 'code="." ships a directory'
            raise NotSupported("a command alone cannot run here", "its image is not here", (step,))
        name = manifest["metadata"]["name"]
        place = self._place / name
        if place.exists():
            raise AlreadyExists(f"{name} is taken: a job in {self._place}", "", (f"delete_job({name!r})",))
        place.mkdir(parents=True)
        (place / code_archive.FILE).write_bytes(archive)
        moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        manifest["metadata"] |= {"namespace": self.namespace, "creationTimestamp": moment, "uid": name}
        (place / "job.json").write_text(json.dumps(manifest))
        self._start(name, place, manifest, {one["name"]: str(one.get("value", "")) for one in env_of(given.get("env"))})
        return self.get_job(name)

    def _start(self, name: str, place: Path, manifest: Mapping[str, Any], env: Mapping[str, str]) -> None:
        started, made = [], environments(manifest)
        ranks = {replica: rank_in(variables) for replica, variables in made}
        (place / RANKS_FILE).write_text(json.dumps(ranks))
        for replica, variables in made:
            log = (place / f"{replica}.log").open("wb")
            own = {**os.environ, **variables, **env, "KUBEDL_RESULT": str(place / "result.json")}
            own |= {"KUBEDL_MODEL_PATH": tempfile.gettempdir(), "PYTHONUNBUFFERED": "1"}
            with log:
                process = subprocess.Popen(
                    [sys.executable, str(place / code_archive.FILE)],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    env=own,
                    start_new_session=True,
                )
            noting = threading.Thread(target=_note_end, args=(process, place / f"{replica}.code"), daemon=True)
            noting.start()
            started.append((process, noting))
        self._processes[name] = started

    def get_job(self, name: str, **_: object) -> Job:
        """Return a job with its state."""
        place = self._place / name.rpartition("/")[2]
        if not (place / "job.json").is_file():
            known = ", ".join(sorted(path.name for path in self._place.glob("*"))[:10]) or "none"
            raise NotFound(f"there is no job called {name} on this machine", f"there is {known}")
        manifest = json.loads((place / "job.json").read_text())
        return Job.of({**manifest, "status": _status(place, _size(manifest))})

    def list_jobs(self, **_: object) -> list[Job]:
        """Return all jobs of this machine, newest first."""
        found = [self.get_job(path.parent.name) for path in self._place.glob("*/job.json")]
        return sorted(found, key=lambda job: job.created, reverse=True)

    def get_job_logs(self, name: str, *, follow: bool = False, **_: object) -> Iterator[LogLine]:
        """Yield the lines of all processes; followed, until the job ends."""
        job = self.get_job(name)
        files = sorted((self._place / job.name).glob("*.log"))
        ranks = json.loads((self._place / job.name / RANKS_FILE).read_text())
        readers = {file.stem: file.open(errors="replace") for file in files}
        with contextlib.ExitStack() as stack:
            for reader in readers.values():
                stack.enter_context(reader)
            over = False
            while True:
                for replica, reader in readers.items():
                    while line := reader.readline():
                        yield LogLine.of(line.rstrip("\n"), replica, time.time_ns(), ranks[replica])
                if over or not follow:
                    return
                over = self.get_job(job.name).is_finished
                time.sleep(PAUSE)

    def wait_for_job_status(
        self,
        name: str,
        status: Collection[str] = ("complete",),
        *,
        timeout: float | None = None,
        callbacks: Sequence[Callable[[Job], None]] = (),
        **_: object,
    ) -> Job:
        """Wait for a state; raises JobFailed and WaitTimeout as on a cluster."""
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        while True:
            job = self.get_job(name)
            for callback in callbacks:
                callback(job)
            if waiting.is_reached(job, status):
                return replace(job, result=self.get_job_result(name)) if job.is_succeeded else job
            if waiting.is_hopeless(job, status):
                raise JobFailed(f"{job.name} failed: {job.message}", job, job.status["exitCode"])
            if time.monotonic() > deadline:
                raise WaitTimeout(f"{job.name} is not {' or '.join(status)} after {timeout:g} s", job)
            time.sleep(PAUSE)

    def get_job_result(self, name: str, **_: object) -> object:
        """Return what the function of rank 0 returned, if it is JSON of at most 3 KB."""
        file = self._place / self.get_job(name).name / "result.json"
        return json.loads(file.read_text()) if file.is_file() else None

    def delete_job(self, name: str, **_: object) -> Job:
        """End the processes of a job that were started here, and delete its logs."""
        job = self.get_job(name)
        for process, noting in self._processes.pop(job.name, ()):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
            noting.join()  # a directory that it writes to cannot be deleted
        shutil.rmtree(self._place / job.name)
        return job


def environments(manifest: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Return the replicas of a job with the variables of its kind, all on this machine."""
    from kubedl.kube import codec  # noqa: PLC0415
    from kubedl.training.kinds import all_kinds  # noqa: PLC0415 - jobs of a cluster need no kinds

    kind = next(one for one in all_kinds() if one.kind == manifest["kind"])
    job = kind.job(codec.decode(codec.encode(dict(manifest)), kind.type))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address, number = job.endpoint(job.leader, job.leader)
    hosts = {address, job.pod_name(job.leader)}
    found = []
    for replica in job.replicas():
        variables = {}
        for name, value in kind.environment(job, replica).items():
            text = value
            for host in sorted(hosts, key=len, reverse=True):
                text = text.replace(host, "127.0.0.1")
            variables[name] = port if text == str(number) else text.replace(f":{number}", f":{port}")
        found.append((f"{replica.role.lower()}-{replica.index}", variables))
    return found


def _size(manifest: Mapping[str, Any]) -> int:
    roles = next(value for key, value in manifest["spec"].items() if key.endswith("ReplicaSpecs"))
    return sum(role["replicas"] for role in roles.values())


def _note_end(process: "subprocess.Popen[bytes]", file: Path) -> None:
    code, part = process.wait(), file.with_suffix(".part")
    with contextlib.suppress(OSError):  # the job was deleted
        part.write_text(str(code if code >= 0 else 128 - code))
        part.rename(file)  # who reads a file that is not written yet takes the process for one that succeeded


def _status(place: Path, size: int) -> dict[str, Any]:
    """Return the status of a job from the exit codes of its processes."""
    codes = {file.stem: int(file.read_text() or 0) for file in place.glob("*.code")}
    failed = {replica: code for replica, code in codes.items() if code}
    if failed:
        replica, code = min(failed.items(), key=lambda one: (one[1] <= 128, (place / f"{one[0]}.code").stat().st_mtime))
        state, message = "Failed", f"{replica} failed with exit code {code}"
    else:
        code = 0
        state, message = ("Succeeded", "") if len(codes) == size else ("Running", "")
    conditions = [{"type": state, "status": "True", "message": message}]
    ready = f"{size - len(codes)}/{size}"
    return {"state": state, "message": message, "ready": ready, "conditions": conditions, "exitCode": code}
