"""Functions and directories of this machine as jobs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from kubedl.client.errors import AlreadyExists, Invalid
from kubedl.client.job import Job
from kubedl.client.kubeflow_names import KubeflowNames
from kubedl.client.log_sources import pods_of
from kubedl.client.objects import ObjectOperations
from kubedl.client.volume_names import FILES

_LONGEST_RESULT = 4096


class CodeOperations(KubeflowNames):
    """Functions and directories as jobs."""

    async def train(  # noqa: PLR0913 - the names of Kubeflow's train
        self,
        func: Callable[..., object] | None = None,
        *,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        image: str | None = None,
        code: str | Path | None = None,
        command: Sequence[str] = (),
        num_workers: int | None = None,
        num_procs_per_worker: int | str | None = None,
        resources_per_worker: object = None,
        env: object = None,
        packages_to_install: Sequence[str] | None = None,
        pip_index_url: str | Sequence[str] | None = None,
        data: Mapping[str, str] | None = None,
        volumes: Sequence[object] | None = None,
        volume_mounts: Sequence[object] | None = None,
        queue_name: str | None = None,
        priority: str | None = None,
        model: Mapping[str, Any] | None = None,
        trainer: object = None,
        runtime: object = None,
        namespace: str | None = None,
        job_kind: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        model_provider_parameters: object = None,
        dataset_provider_parameters: object = None,
        trainer_parameters: object = None,
        storage_config: object = None,
        initializer: object = None,
    ) -> Job:
        """Run a function, a command or an image as a job; returns at once.

        `func` is sent as source, with what it refers to; `args` are its keyword arguments, as JSON. In an MPIJob mpirun
        starts it, or the command with its `code`, in each rank; a command alone is the launcher's own. `code` is a
        directory to ship with it, `data` has claims and the paths where they are mounted, `model` is the spec of a
        ModelVersion. `trainer` and `runtime` are read as Kubeflow's: CustomTrainer, torch-distributed. Raises
        FunctionNotPortable and CodeTooLarge before anything is sent, and NotSupported for the last five arguments,
        which are Kubeflow's.
        """
        from kubedl.client import kubeflow_arguments  # noqa: PLC0415 - commands need none
        from kubedl.client.code_jobs import function_manifest  # noqa: PLC0415

        function, given = kubeflow_arguments.understood(func, {"job_kind": self.job_kind}, locals())
        manifest, archive = await self._cluster.client.in_thread(lambda: function_manifest(function, **given))
        return await self._send(manifest, archive, namespace)

    async def create_job(  # noqa: PLR0913, PLR0917 - the names and the order of Kubeflow's
        self,
        job: Job | Mapping[str, Any] | Path | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        job_kind: str | None = None,
        base_image: str | None = None,
        train_func: Callable[..., object] | None = None,
        parameters: Mapping[str, Any] | None = None,
        num_workers: int | None = None,
        num_procs_per_worker: int | str | None = None,
        resources_per_worker: object = None,
        num_chief_replicas: int | None = None,
        num_ps_replicas: int | None = None,
        packages_to_install: Sequence[str] | None = None,
        pip_index_url: str | Sequence[str] | None = None,
        env_vars: object = None,
        queue_name: str | None = None,
        volumes: Sequence[object] | None = None,
        volume_mounts: Sequence[object] | None = None,
        *,
        dry_run: bool = False,
        files: Mapping[str, bytes] | None = None,
    ) -> Job:
        """Create a job from its manifest or a file of it; or from a function or an image, with Kubeflow's arguments.

        `files` are contents by absolute paths, at which every pod finds them. `parameters` are one argument of the
        function, a mapping, as Kubeflow passes them. Objects of the `kubernetes` package are understood. Raises
        AlreadyExists, Invalid, Forbidden, and CodeTooLarge.
        """
        from kubedl.client import kubeflow_arguments  # noqa: PLC0415 - only to understand objects of other packages

        if job is not None:
            found = kubeflow_arguments.manifest_of(job)
            if not files:
                return await self.create_manifest(found, namespace, dry_run=dry_run)
            return await self._send(deepcopy(dict(found)), None, namespace, dry_run=dry_run, files=files)
        if not name:
            raise Invalid("no name", "a job that is made from a function or an image needs one", ("name=…",))
        from kubedl.client.code_jobs import function_manifest  # noqa: PLC0415

        wishes = {key: value for key, value in locals().items() if key in kubeflow_arguments.WISHES}
        wishes |= {"image": base_image, "env": env_vars, "positional": parameters}
        wishes |= {"chiefs": num_chief_replicas, "parameter_servers": num_ps_replicas, "may_lack_command": True}
        given = {key: value for key, value in wishes.items() if value is not None}
        given.setdefault("job_kind", self.job_kind)
        manifest, archive = await self._cluster.client.in_thread(lambda: function_manifest(train_func, **given))
        return await self._send(manifest, archive, namespace, dry_run=dry_run, files=files)

    async def run_directory(
        self,
        manifest: dict[str, Any],
        directory: Path,
        command: list[str],
        *,
        files: Mapping[str, bytes] | None = None,
    ) -> Job:
        """Create a job whose pods run a command in a copy of a directory, and find files at absolute paths."""
        from kubedl.client import code_archive  # noqa: PLC0415

        archive = await self._cluster.client.in_thread(lambda: code_archive.pack_directory(directory, command))
        return await self._send(manifest, archive, None, files=files)

    async def _send(
        self,
        manifest: dict[str, Any],
        archive: bytes | None,
        namespace: str | None,
        *,
        dry_run: bool = False,
        files: Mapping[str, bytes] | None = None,
    ) -> Job:
        """Create the ConfigMaps with code and files, then the job that mounts them, and give them to the job."""
        from kubedl.client import code_jobs, config_files  # noqa: PLC0415

        objects = ObjectOperations(self._cluster, namespace or manifest["metadata"].get("namespace") or self.namespace)
        sent = [config_files.mounted(manifest, files, objects.namespace)] if files else []
        if dry_run:
            return await self.create_manifest(manifest, namespace, dry_run=True)
        sent += [code_jobs.mounted(manifest, archive, objects.namespace)] if archive is not None else []
        for one in sent:
            with suppress(AlreadyExists):  # the same content, of a submit that broke off
                await objects.create(code_jobs.CONFIG_MAPS, one)
        job = await self.create_manifest(manifest, namespace, dry_run=False)
        owner = {"apiVersion": manifest["apiVersion"], "kind": job.kind, "name": job.name, "uid": job.uid}
        for one in sent:
            change = {"metadata": {"ownerReferences": [owner]}}
            await objects.patch(code_jobs.CONFIG_MAPS, one["metadata"]["name"], change)
        return job

    async def _reached(self, job: Job) -> Job:
        if not job.is_succeeded or not _has_code(job):
            return job
        return replace(job, result=await self.get_job_result(job))

    async def get_job_result(self, name: str | Job, *, namespace: str | None = None) -> object:
        """Return what the function of rank 0 returned, if that is JSON of at most 3 KB; else None."""
        import json  # noqa: PLC0415 - commands need none

        path, selection = pods_of(await self._job(name, namespace))
        answer = await self._cluster.call("GET", path, "list pods", params=selection)
        pods = sorted(self._cluster.decode(answer, dict).get("items") or (), key=lambda pod: pod["metadata"]["name"])
        for pod in pods:
            for status in (pod.get("status") or {}).get("containerStatuses") or ():
                text = str(((status.get("state") or {}).get("terminated") or {}).get("message") or "")
                if 0 < len(text) <= _LONGEST_RESULT and status["state"]["terminated"].get("exitCode") == 0:
                    try:
                        return json.loads(text)
                    except ValueError:
                        continue
        return None


def _has_code(job: Job) -> bool:
    """Return whether a job runs code that a client sent."""
    specs = [(role.get("template") or {}).get("spec") or {} for role in job.roles.values()]
    return any(volume.get("name") == FILES for spec in specs for volume in spec.get("volumes") or ())
