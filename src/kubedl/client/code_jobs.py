"""Jobs that run code of this machine: a function, or a directory and a command."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubedl.client import code_archive
from kubedl.client.errors import Invalid
from kubedl.client.foreign_objects import env_of, plain, resources_of
from kubedl.client.objects import Resource
from kubedl.client.train_manifest import MPI, TrainRequest, ranks, train_manifest

CONFIG_MAPS = Resource("files", "configmaps", "")
PYTHON, TORCHRUN, MPIRUN = "python3", "torchrun", "mpirun"
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
    positional: Mapping[str, Any] | None = None,
    image: str | None = None,
    code: str | Path | None = None,
    command: Sequence[str] = (),
    num_workers: int = 1,
    chiefs: int = 0,
    parameter_servers: int = 0,
    num_procs_per_worker: int | str | None = None,
    resources_per_worker: object = None,
    env: object = None,
    packages_to_install: Sequence[str] = (),
    pip_index_url: str | Sequence[str] = (),
    data: Mapping[str, str] | None = None,
    volumes: Sequence[object] = (),
    volume_mounts: Sequence[object] = (),
    queue_name: str | None = None,
    priority: str | None = None,
    model: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    job_kind: str = "PyTorchJob",
    may_lack_command: bool = False,
) -> tuple[dict[str, Any], bytes | None]:
    """Return the manifest of a job, and the archive that it mounts; without a function or a directory, none.

    `args` are keyword arguments of the function, `positional` is its one argument; `may_lack_command` leaves the
    command to the image.
    """
    if not image:
        raise Invalid("no image", "pods need one with Python and the framework", ('image="…"',))
    if func is None and not command and not may_lack_command:
        raise Invalid("neither a function nor a command", "", ("train(func)", "train(command=[…])"))
    directory = Path(code).resolve() if code is not None else None
    archive = None
    program = f"{code_archive.PLACE}/{code_archive.FILE}"
    words = list(command)
    if func is not None:
        archive = code_archive.pack_function(func, args, directory, positional)
        several = num_procs_per_worker not in (None, 1) and job_kind == "PyTorchJob"
        words = [TORCHRUN if several else PYTHON, program]
    elif directory is not None:
        archive, words = code_archive.pack_directory(directory, command), [PYTHON, program]
    if archive is not None and job_kind == MPI:  # each rank unpacks it for itself
        words = [MPIRUN, "-np", str(ranks(num_workers, num_procs_per_worker)), *words]
    request = TrainRequest(
        name=name or generated_name(getattr(func, "__name__", "train")),
        image=image,
        command=words,
        kind=job_kind,
        num_workers=num_workers,
        chiefs=chiefs,
        parameter_servers=parameter_servers,
        num_procs_per_worker=num_procs_per_worker,
        resources=resources_of(resources_per_worker),
        env=env_of(env),
        packages=packages_to_install,
        indexes=(pip_index_url,) if isinstance(pip_index_url, str) else tuple(pip_index_url),
        data={path: claim for claim, path in (data or {}).items()},
        volumes=[plain(one) for one in volumes],
        volume_mounts=[plain(one) for one in volume_mounts],
        queue=queue_name,
        priority=priority,
        model=model,
        labels=labels or {},
        annotations=annotations or {},
    )
    return train_manifest(request), archive


def mounted(manifest: dict[str, Any], archive: bytes, namespace: str) -> dict[str, Any]:
    """Return the ConfigMap of an archive, which the pods of the manifest then mount."""
    files = code_archive.config_map(manifest["metadata"]["name"], archive, namespace)
    for role in next(value for key, value in manifest["spec"].items() if key.endswith("ReplicaSpecs")).values():
        code_archive.mount(role["template"], files["metadata"]["name"])
    return files
