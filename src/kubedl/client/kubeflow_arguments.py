"""Arguments as Kubeflow's clients have them: which are understood, and which are refused with the page about it."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from kubedl.client.errors import Invalid, NotSupported
from kubedl.client.foreign_objects import plain
from kubedl.client.job import Job
from kubedl.client.kinds import GROUP_VERSION
from kubedl.client.train_manifest import RUNTIMES

PAGE = "docs/how-to/train-from-python.md"
# Arguments that `train` and `create_job` pass on by their own names.
WISHES = frozenset(
    {
        "name", "args", "image", "code", "command", "num_workers", "num_procs_per_worker", "resources_per_worker",
        "env", "packages_to_install", "pip_index_url", "data", "volumes", "volume_mounts", "queue_name", "priority",
        "model", "job_kind", "labels", "annotations",
    }
)  # fmt: skip
_HUGGING_FACE = (
    "model_provider_parameters",
    "dataset_provider_parameters",
    "trainer_parameters",
    "storage_config",
)
_TRAINER = {
    "func_args": "args",
    "num_nodes": "num_workers",
    "resources_per_node": "resources_per_worker",
    "packages_to_install": "packages_to_install",
    "pip_index_urls": "pip_index_url",
    "env": "env",
    "image": "image",
}


def understood(
    func: Callable[..., object] | None, defaults: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[Callable[..., object] | None, dict[str, Any]]:
    """Return the function and the wishes that the arguments of `train` mean; raises NotSupported for some."""
    given = {key: value for key, value in arguments.items() if value is not None}
    refuse(given)
    wishes = {key: value for key, value in given.items() if key in WISHES}
    if "trainer" in given:
        func, wishes = from_trainer(given["trainer"], wishes)
    if "runtime" in given:
        wishes["job_kind"] = kind_of_runtime(given["runtime"])
    return func, {**defaults, **wishes}


def refuse(given: Collection[str]) -> None:
    """Raise NotSupported for arguments of Kubeflow's `train` that have no meaning here."""
    if foreign := [name for name in _HUGGING_FACE if name in given]:
        why = "it fine-tunes models of Hugging Face with fixed images; here a function of your own does that"
        raise NotSupported(f"train has no {', '.join(foreign)}", why, ("train(func, image=…)", PAGE))
    if "initializer" in given:
        why = "jobs here have no initializers: models and data are mounted"
        raise NotSupported("train has no initializer", why, ("data={'claim': '/data'}", PAGE))


def kind_of_runtime(runtime: object) -> str:
    """Return the kind for a runtime of Kubeflow: its name, such as torch-distributed, or an object with a name."""
    name = str(getattr(runtime, "name", runtime))
    for word, kind in RUNTIMES.items():
        if name.startswith(word):
            return kind
    steps = ("job_kind=, image=", PAGE)
    raise NotSupported(f"there is no runtime {name} here", "jobs have kinds and images", steps)


def from_trainer(trainer: Any, wishes: dict[str, Any]) -> tuple[Callable[..., object] | None, dict[str, Any]]:  # noqa: ANN401
    """Read what Kubeflow's CustomTrainer, or CustomTrainerContainer, says; the caller's own wishes are stronger."""
    func = getattr(trainer, "func", None)
    if func is None and not hasattr(trainer, "num_nodes"):
        raise NotSupported(f"train has no {type(trainer).__name__}", "CustomTrainer is understood", (PAGE,))
    found = {ours: getattr(trainer, theirs, None) for theirs, ours in _TRAINER.items()}
    read = {name: value for name, value in found.items() if value is not None}
    return func, {**read, **({} if func is not None else {"may_lack_command": True}), **wishes}


def manifest_of(job: object) -> Mapping[str, Any]:
    """Return the manifest of a job: a Job, a mapping, a file, or an object of Kubeflow's client."""
    if isinstance(job, Job):
        return job.manifest
    if isinstance(job, Path):
        import yaml  # noqa: PLC0415 - only for files

        loaded = yaml.safe_load(job.read_text())
        if not isinstance(loaded, dict):
            raise Invalid(f"{job} has no object", "", ("one job, as YAML or JSON",))
        job = loaded
    found = job if isinstance(job, dict) else plain(job)
    if not isinstance(found, Mapping) or not isinstance(found.get("metadata"), Mapping) or "kind" not in found:
        raise Invalid(
            "this is no manifest of a job", "it has no kind or no metadata", ("apiVersion, kind, metadata, spec",)
        )
    if str(found.get("apiVersion", "")).startswith("kubeflow.org/"):
        why = f"its fields differ in places; jobs here are {GROUP_VERSION}"
        raise NotSupported(
            f"{found['kind']} is a job of Kubeflow", why, ("docs/how-to/migrate-from-training-operator.md",)
        )
    return found
