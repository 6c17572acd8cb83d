"""Jobs that run code of this machine: a function, or a directory and a command."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kubedl.client import code_archive
from kubedl.client.errors import AlreadyExists, Invalid
from kubedl.client.job import Job
from kubedl.client.objects import Objects, Resource
from kubedl.client.train_manifest import TrainRequest, kind_of_runtime, train_manifest

CONFIG_MAPS = Resource("files", "configmaps", "")
PYTHON, TORCHRUN = "python3", "torchrun"
LONGEST_NAME = 40


def generated_name(start: str) -> str:
    """Return a name that nobody has: train-k3f2."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in start.lower()).strip("-")
    return f"{(plain or 'job')[:LONGEST_NAME]}-{secrets.token_hex(2)}"


def function_manifest(  # noqa: PLR0913 - the names of Kubeflow's train
    func: Callable[..., object] | None,
    *,
    name: str | None = None,
    args: Mapping[str, Any] | None = None,
    image: str | None = None,
    code: str | Path | None = None,
    command: Sequence[str] = (),
    num_workers: int = 1,
    num_procs_per_worker: int | str | None = None,
    resources_per_worker: Mapping[str, str | int] | None = None,
    env: Mapping[str, str] | None = None,
    packages_to_install: Sequence[str] = (),
    data: Mapping[str, str] | None = None,
    queue_name: str | None = None,
    priority: str | None = None,
    model: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    job_kind: str = "PyTorchJob",
    runtime: str | None = None,
) -> tuple[dict[str, Any], bytes | None]:
    """Return the manifest of a job, and the archive that it mounts; without a function or a directory, none."""
    if not image:
        raise Invalid("no image", "pods need one with Python and the framework", ('image="…"',))
    if func is None and not command:
        raise Invalid("neither a function nor a command", "", ("train(func)", "train(command=[…])"))
    directory = Path(code).resolve() if code is not None else None
    archive = None
    program = f"{code_archive.PLACE}/{code_archive.FILE}"
    words = list(command)
    if func is not None:
        archive = code_archive.pack_function(func, args, directory)
        several = num_procs_per_worker not in (None, 1) and job_kind == "PyTorchJob"
        words = [TORCHRUN if several else PYTHON, program]
    elif directory is not None:
        archive, words = code_archive.pack_directory(directory, command), [PYTHON, program]
    request = TrainRequest(
        name=name or generated_name(getattr(func, "__name__", "train")),
        image=image,
        command=words,
        kind=kind_of_runtime(runtime) if runtime else job_kind,
        num_workers=num_workers,
        num_procs_per_worker=num_procs_per_worker,
        resources=resources_per_worker or {},
        env=env or {},
        packages=packages_to_install,
        data={path: claim for claim, path in (data or {}).items()},
        queue=queue_name,
        priority=priority,
        model=model,
        labels=labels or {},
    )
    return train_manifest(request), archive


def send_with_code(
    create: Callable[[dict[str, Any]], Job], objects: Objects, manifest: dict[str, Any], archive: bytes
) -> Job:
    """Create the ConfigMap, then the job that mounts it, and give the ConfigMap to the job."""
    name, namespace = manifest["metadata"]["name"], objects.namespace
    files = code_archive.config_map(name, archive, namespace)
    for role in next(value for key, value in manifest["spec"].items() if key.endswith("ReplicaSpecs")).values():
        code_archive.mount(role["template"], files["metadata"]["name"])
    with suppress(AlreadyExists):  # the same code, of a submit that broke off
        objects.create(CONFIG_MAPS, files)
    job = create(manifest)
    owner = {"apiVersion": manifest["apiVersion"], "kind": job.kind, "name": job.name, "uid": job.uid}
    objects.patch(CONFIG_MAPS, files["metadata"]["name"], {"metadata": {"ownerReferences": [owner]}})
    return job
