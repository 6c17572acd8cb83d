"""The part of the client that runs code of this machine on a cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubedl.client.errors import NotSupported
from kubedl.client.job import Job
from kubedl.client.kubeflow_names import KubeflowNames

_OF_KUBEFLOW = ("model_provider_parameters", "dataset_provider_parameters", "trainer_parameters", "initializer")
_LONGEST_RESULT = 4096


class CodeClient(KubeflowNames):
    """Functions and directories as jobs."""

    def train(self, func: Callable[..., object] | None = None, **wishes: Any) -> Job:  # noqa: ANN401
        """Run a function, or a command, as a job; returns at once.

        `func` is sent as source, with what it refers to; `args` are its keyword arguments, as JSON. Other wishes:
        name, image, code (a directory to ship), command, num_workers, num_procs_per_worker, resources_per_worker,
        env, packages_to_install, data (claim → path), queue_name, priority, model, labels, job_kind, runtime.
        Raises FunctionNotPortable and CodeTooLarge before anything is sent.
        """
        from kubedl.client.code_jobs import function_manifest, send_with_code  # noqa: PLC0415 - commands need none

        if foreign := [name for name in _OF_KUBEFLOW if name in wishes]:
            why = "fine-tuning with fixed images is not here"
            raise NotSupported(f"train has no {', '.join(foreign)}", why, ("train(func, image=…)",))
        trainer = wishes.pop("trainer", None)
        if trainer is not None:
            func, wishes = _from_trainer(trainer, wishes)
        manifest, archive = function_manifest(func, **wishes)
        if archive is None:
            return self.create_job(manifest)
        return send_with_code(self.create_job, self.objects, manifest, archive)

    def run_directory(self, manifest: dict[str, Any], directory: Path, command: list[str]) -> Job:
        """Create a job whose pods run a command in a copy of a directory."""
        from kubedl.client import code_archive  # noqa: PLC0415
        from kubedl.client.code_jobs import send_with_code  # noqa: PLC0415

        return send_with_code(self.create_job, self.objects, manifest, code_archive.pack_directory(directory, command))

    def get_job_result(self, name: str, *, namespace: str | None = None) -> object:
        """Return what the function of rank 0 returned, if that is JSON of at most 3 KB; else None."""
        import json  # noqa: PLC0415 - commands need none

        job = self.get_job(name, namespace=namespace)
        path = f"/api/v1/namespaces/{job.namespace}/pods"
        labels = f"training.kubedl.io/job-name={job.name},training.kubedl.io/job-uid={job.uid}"
        answer = self._cluster.call("GET", path, "list pods", params={"labelSelector": labels})
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


def _from_trainer(trainer: Any, wishes: dict[str, Any]) -> tuple[Callable[..., object], dict[str, Any]]:  # noqa: ANN401
    """Read what Kubeflow's CustomTrainer says."""
    names = {
        "func_args": "args",
        "num_nodes": "num_workers",
        "resources_per_node": "resources_per_worker",
        "packages_to_install": "packages_to_install",
        "env": "env",
        "image": "image",
    }
    found = {ours: getattr(trainer, theirs, None) for theirs, ours in names.items()}
    return trainer.func, {**{name: value for name, value in found.items() if value is not None}, **wishes}
