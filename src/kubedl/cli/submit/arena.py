"""Flags of Arena's `submit` with another name here, or none: each works with a hint, or is refused with the reason.

Flags that are the same in both stand among our own (`flags.py`, `role_flags.py`). Read from Arena 0.15.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

_TO_COME = "this version has no elastic jobs"
_TOPOLOGY = "use a placement in the manifest (docs/how-to/place-pods.md)"
_RAY = "there is no Ray kind here; KubeRay has its own command: kubectl ray job submit"
_SPARK = "there is no Spark kind here; the Spark operator runs SparkApplications"
_VOLCANO = (
    "there is no kind for Volcano's own jobs: vcctl job run; Volcano starts pods of our kinds together with --gang"
)
_NO_CHARTS = "the client installs no charts; --debug prints requests and their times"


@dataclass(frozen=True)
class Refusal:
    """Why a flag has no meaning here, and what to do instead."""

    why: str
    step: str = ""


# Old name → new name. Arena itself marks most of the old ones as deprecated.
RENAMED = {
    "--workingDir": "--working-dir",
    "--dataDir": "--data-dir",
    "--image-pull-secrets": "--image-pull-secret",
    "--hostNetwork": "--host-network",
    "--hostIPC": "--host-ipc",
    "--hostPID": "--host-pid",
    "--model-source": "--model-storage",
    "--syncMode": "--sync-mode",
    "--syncSource": "--sync-source",
    "--syncImage": "--sync-image",
    "--tensorboardImage": "--tensorboard-image",
    "--workerImage": "--worker-image",
    "--psImage": "--ps-image",
    "--psPort": "--ps-port",
    "--workerPort": "--worker-port",
    "--chiefPort": "--chief-port",
    "--workerCpu": "--worker-cpu",
    "--psCpu": "--ps-cpu",
    "--ChiefCpu": "--chief-cpu",
    "--chiefCpu": "--chief-cpu",
    "--evaluatorCpu": "--evaluator-cpu",
    "--workerMemory": "--worker-memory",
    "--psMemory": "--ps-memory",
    "--ChiefMemory": "--chief-memory",
    "--chiefMemory": "--chief-memory",
    "--evaluatorMemory": "--evaluator-memory",
    "--cleanTaskPolicy": "--clean-task-policy",
    "--ssh-port": "--worker-port",
    "--job-restart-policy": "--launcher-restart-policy",
    "--job-backoff-limit": "--retry",
}

REFUSED = {
    "--starting-timeout": Refusal(
        "no field bounds waiting", "--wait --timeout bounds your own waiting, a queue that of the job"
    ),
    "--ssh-secret": Refusal("the operator makes a key for each job and reads no Secrets", "leave it out"),
    "--gputopology": Refusal("pods are placed by labels of nodes", _TOPOLOGY),
    "--gpu-topology": Refusal("pods are placed by labels of nodes", _TOPOLOGY),
    "--max-workers": Refusal(_TO_COME, "--workers N"),
    "--min-workers": Refusal(_TO_COME, "--workers N"),
    "--spot-instance": Refusal(_TO_COME, "--selector and --toleration of your spot nodes"),
    "--max-wait-time": Refusal(_TO_COME, "--wait --timeout"),
    **dict.fromkeys(
        ("--schedule", "--concurrency-policy", "--deadline", "--history-limit"),
        Refusal("a job that is submitted runs once", "kubedl cron create NAME --schedule … -- submit KIND …"),
    ),
    **dict.fromkeys(
        (
            *("--active-deadline-seconds", "--enable-autoscaling", "--pre-stop-command", "--ray-version"),
            *("--shutdown-after-finished", "--suspend", "--head-cpu", "--head-gpu", "--head-image", "--head-memory"),
            *("--head-service-type", "--worker-gpu", "--worker-max-replicas", "--worker-min-replicas"),
            *("--worker-num-of-hosts", "--worker-replicas", "--autoscaler-cpu", "--autoscaler-image"),
            *("--autoscaler-idle-timeout-seconds", "--autoscaler-image-pull-policy", "--autoscaler-memory"),
            "--autoscaler-upscaling-mode",
        ),
        Refusal("it is a flag of Arena's Ray jobs", _RAY),
    ),
    **dict.fromkeys(
        (
            *("--driver-cpu-request", "--driver-memory-request", "--driver-service-account", "--executor-cpu-request"),
            *("--executor-memory-request", "--jar", "--main-class", "--replicas", "--spark-version"),
        ),
        Refusal("it is a flag of Arena's Spark jobs", _SPARK),
    ),
    **dict.fromkeys(
        (
            *("--min-available", "--minAvailable", "--scheduler-name", "--schedulerName", "--task-cpu", "--taskCPU"),
            *("--task-images", "--taskImages", "--task-memory", "--taskMemory", "--task-name", "--taskName"),
            *("--task-port", "--taskPort", "--task-replicas", "--taskReplicas"),
        ),
        Refusal("it is a flag of Arena's Volcano jobs", _VOLCANO),
    ),
}
OF_ARENA = ("--arena-namespace", "--helm-binary", "--pprof", "--trace")  # global flags
GLOBALS = {"--config": "--kubeconfig", "--loglevel": "--debug"}
SWITCHES = ("--hostNetwork", "--hostIPC", "--hostPID")  # Arena's own help writes `--hostNetwork true`

# Arena's word for a kind → ours.
KINDS = {
    "tfjob": "tf",
    "tensorflow": "tf",
    "pytorchjob": "pytorch",
    "mpijob": "mpi",
    "horovod": "mpi",
    "horovodjob": "mpi",
    "hj": "mpi",
    "deepspeed": "mpi",
    "deepspeedjob": "mpi",
    "etjob": "mpi",
    "et": "mpi",
    "xgboostjob": "xgboost",
    "jaxjob": "jax",
    "xdljob": "xdl",
    "marsjob": "mars",
    "elasticdljob": "elasticdl",
}
NO_KINDS = {
    **dict.fromkeys(("ray", "rayjob"), _RAY),
    **dict.fromkeys(("spark", "sparkjob"), _SPARK),
    **dict.fromkeys(("volcano", "volcanojob", "vj"), _VOLCANO),
}


_OF_CODE = {"GIT_SYNC_BRANCH": "sync_branch", "GIT_SYNC_REV": "sync_revision"}


def code_variables(env: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return variables without those that tell Arena how to fetch code, and what these say, by names of JobFlags."""
    rest: list[str] = []
    found: dict[str, str] = {}
    for variable in env:
        name, _, value = variable.partition("=")
        if name in ("GIT_SYNC_USERNAME", "GIT_SYNC_PASSWORD"):
            raise click.UsageError(
                f"--env {name}: who may read the job could read it\nnext  --sync-secret NAME of a Secret with the login"
            )
        if name in _OF_CODE:
            found |= {_OF_CODE[name]: value} if value else {}
        else:
            rest.append(variable)
    return tuple(rest), found


def five_fields(schedule: str) -> str:
    """Return a schedule that Arena writes with seconds, as `0 0 22 * * ?`, with the five fields of a Cron."""
    fields = schedule.split()
    if len(fields) != 6:
        return schedule
    if fields[0] != "0":
        raise click.UsageError(f"--schedule {schedule[:100]}: runs start at full minutes\nnext  --schedule 'M H D M W'")
    return " ".join("*" if field == "?" else field for field in fields[1:])


def translate_globals(words: Sequence[str]) -> list[str]:
    """Return the words with today's global flags, wherever they stand; prints a hint for each old one."""
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest]
        flag, equals, value = word.partition("=")
        if flag in OF_ARENA:
            raise click.UsageError(f"{flag}: it is about Arena itself\nnext  leave it out: {_NO_CHARTS}")
        if flag not in GLOBALS:
            found.append(word)
            continue
        value = value if equals else rest.pop(0) if rest else ""
        click.echo(f"hint: {flag} is now {GLOBALS[flag]} (both work)", err=True)
        if flag == "--config":
            found += ["--kubeconfig", value]
        elif value == "debug":
            found.append("--debug")
    return found


def translate(
    words: Sequence[str],
    known: frozenset[str],
    renamed: Mapping[str, str] = RENAMED,
    refused: Mapping[str, Refusal] = REFUSED,
) -> tuple[list[str], list[str]]:
    """Return the words with today's flags, and what has another name. Raises UsageError for flags without meaning.

    `known` are the flags of the command: what it has is its own, whatever Arena calls so.
    """
    found: list[str] = []
    hints: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest], hints
        flag, equals, value = word.partition("=")
        if flag in refused and flag not in known:
            raise click.UsageError(f"{flag}: {refused[flag].why}\nnext  {refused[flag].step}")
        if flag not in renamed or flag in known:
            found.append(word)
            continue
        hints.append(f"{flag} is now {renamed[flag]}")
        if flag in SWITCHES:
            value = value or (rest.pop(0) if rest and rest[0] in ("true", "false") else "true")
            found += [renamed[flag]] if value == "true" else []
        else:
            found.append(f"{renamed[flag]}{equals}{value}")
    return found, hints
