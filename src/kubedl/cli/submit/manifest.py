"""The manifest of a job from the flags of `submit`. Pure: nothing is asked of a cluster."""

import itertools
from typing import Any

import click

from kubedl.cli.submit import roles, values
from kubedl.cli.submit.flags import SUCCESS, JobFlags
from kubedl.cli.submit.kind_schema import KindSchema, flag_word
from kubedl.cli.submit.template import pod_template
from kubedl.cli.submit.values import Part, given

API_VERSION = "training.kubedl.io/v1alpha1"
RETRIES = 3
_LETTERS = {"w": "Worker", "p": "PS", "c": "Chief", "e": "Evaluator"}  # as Arena writes --role-sequence


def job_manifest(kind: KindSchema, flags: JobFlags) -> Part:
    """Return a job of a kind."""
    counts = roles.counts(kind, flags.workers, flags.counts)
    _check_roles(flags, counts)
    order = _order(kind, flags.role_sequence, counts)
    metadata: Part = {"name": flags.name} | values.labels(flags)
    spec = _policies(kind, flags, sum(counts.values())) | _addons(flags) | dict(flags.own)
    spec[kind.field] = {
        role: given(
            replicas=count,
            restartPolicy=flags.roles[role].restart_policy if role in flags.roles else None,
            dependsOn=order.get(role),
            template=pod_template(kind, role, flags),
        )
        for role, count in counts.items()
    }
    return {"apiVersion": API_VERSION, "kind": kind.kind, "metadata": metadata, "spec": spec}


def _check_roles(flags: JobFlags, counts: dict[str, int]) -> None:
    """Refuse flags of a role that the job does not have: none is ignored."""
    for role, chosen in flags.roles.items():
        if role not in counts and any(value not in (None, ()) for value in vars(chosen).values()):
            named = next(name for name, value in vars(chosen).items() if value not in (None, ()))
            word = f"--{flag_word(role)}-{named.replace('_', '-')}"
            raise click.UsageError(f"{word}: the job has no {role}\nnext  ask for one, or leave it out")


def _order(kind: KindSchema, sequence: str | None, counts: dict[str, int]) -> dict[str, list[Part]]:
    """Return dependsOn by role: each waits until the one before it runs."""
    if sequence is None:
        return {}
    known = {role.name.lower(): role.name for role in kind.roles}
    named = [_LETTERS.get(word, known.get(word, "")) for word in sequence.lower().split(",")]
    if not all(role in counts for role in named) or len(set(named)) != len(named):
        raise values.wrong("--role-sequence", sequence, f"roles of the job, each once: {','.join(counts)}")
    found: dict[str, list[Part]] = {named[0]: []}
    for before, role in itertools.pairwise(named):
        found[role] = [{"upstream": before, "phase": "Running"}]
    return found


def _policies(kind: KindSchema, flags: JobFlags, replicas: int) -> Part:
    if flags.queue is not None and " " in flags.queue:
        raise click.UsageError(
            f"--queue {flags.queue[:100]}: this is a command, no queue\nnext  --queue NAME, or the command last"
        )
    scheduling = given(
        queue=flags.queue, priorityClassName=flags.priority, minAvailable=replicas if flags.gang else None
    )
    retry = flags.retry if flags.retry is not None or "backoffLimit" in kind.defaults else RETRIES
    return given(
        backoffLimit=retry,
        activeDeadlineSeconds=flags.running_timeout,
        ttlSecondsAfterFinished=flags.ttl_after_finished,
        cleanPodPolicy=flags.clean_task_policy,
        successPolicy=(SUCCESS[flags.success_policy] or None) if flags.success_policy else None,
        networkMode="Host" if flags.host_network else None,
        schedulingPolicy=scheduling or None,
    )


def _addons(flags: JobFlags) -> Part:
    found: Part = {}
    _check_sync(flags)
    if flags.sync_source:
        name = flags.sync_source.rstrip("/").rpartition("/")[2].removesuffix(".git")
        found["codeSource"] = given(
            repository=flags.sync_source,
            branch=flags.sync_branch,
            revision=flags.sync_revision,
            secretName=flags.sync_secret,
            image=flags.sync_image,
            destination=f"code/{name}",
        )
    if flags.model_name:
        _needs("--model-repo", flags.model_repo, model_name=flags.model_name)
        _needs("--model-storage", flags.model_storage, model_name=flags.model_name)
        found["modelVersion"] = {
            "modelName": flags.model_name,
            "imageRepo": flags.model_repo,
            "storage": values.model_storage(str(flags.model_storage)),
        } | ({"registry": {"insecure": True}} if flags.model_insecure else {})
    _needs(
        "--model-name",
        flags.model_name,
        model_repo=flags.model_repo,
        model_storage=flags.model_storage,
        model_insecure=flags.model_insecure,
    )
    if flags.tensorboard:
        _check_logs(flags)
        found["tensorBoard"] = given(logDir=flags.logdir, image=flags.tensorboard_image)
    _needs("--tensorboard", flags.tensorboard, logdir=flags.logdir, tensorboard_image=flags.tensorboard_image)
    return found


def _check_logs(flags: JobFlags) -> None:
    """Refuse logs that TensorBoard could not read: it is a pod of its own, so they lie in a volume or a bucket."""
    if not flags.logdir:
        raise click.UsageError("--tensorboard needs --logdir\nnext  --data CLAIM:/logs --logdir /logs")
    _, mounted = values.mounts(flags.data, flags.data_dir)
    below = [f"{mount['mountPath'].rstrip('/')}/" for mount in mounted]
    if "://" not in flags.logdir and not f"{flags.logdir}/".startswith(tuple(below)):
        raise click.UsageError(
            f"--logdir {flags.logdir[:200]} lies in no volume, so TensorBoard cannot read it\n"
            f"next  --data CLAIM:{flags.logdir[:200]}"
        )


def _check_sync(flags: JobFlags) -> None:
    if flags.sync_mode not in (None, "git"):
        raise click.UsageError(
            f"--sync-mode {flags.sync_mode}: a copy without a version cannot be traced to a model\n"
            "next  --sync-mode git --sync-source URL"
        )
    _needs(
        "--sync-source",
        flags.sync_source,
        sync_mode=flags.sync_mode,
        sync_branch=flags.sync_branch,
        sync_secret=flags.sync_secret,
        sync_image=flags.sync_image,
    )


def _needs(flag: str, value: object, **dependent: Any) -> None:  # noqa: ANN401 - values of any flags
    """Refuse flags that mean nothing without another one: none is ignored."""
    for name, found in dependent.items():
        if found and not value:
            raise click.UsageError(f"--{name.replace('_', '-')} needs {flag}\nnext  add {flag}")
