"""The flags of `submit` that all kinds of jobs have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import click

from kubedl.cli.configuration import ConfiguredOption
from kubedl.cli.dry_run import dry_run
from kubedl.cli.durations import Duration
from kubedl.cli.submit.role_flags import RoleFlags

_CLEANING = ("None", "Running", "All")
SUCCESS = {"ChiefWorker": "", "AllWorkers": "AllWorkers", "AllReplicas": "AllReplicas", "AnyWorker": "AnyWorker"}
ONLY_QUEUE = "."  # --queue without a name
RDMA = "rdma/hca"


@dataclass(frozen=True)
class Sending:
    """How a manifest is sent."""

    wait: bool = False
    timeout: int | None = None
    dry_run: str = "none"
    output: str | None = None
    check: bool = False
    code: "Code | None" = None
    files: Mapping[str, bytes] = field(default_factory=dict)  # by their paths in pods


@dataclass(frozen=True)
class Code:
    """A directory to ship with a job, and the command that runs in it."""

    directory: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class JobFlags:
    """Their values, by the names of the flags."""

    name: str
    image: str | None = None
    command: tuple[str, ...] = ()
    workers: int = 1
    gpus: int | None = None
    device: tuple[str, ...] = ()
    cpu: str | None = None
    memory: str | None = None
    cpu_limit: str | None = None
    memory_limit: str | None = None
    share_memory: str = "2Gi"
    env: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    data_dir: tuple[str, ...] = ()
    working_dir: str | None = None
    shell: str = "sh"
    queue: str | None = None
    priority: str | None = None
    gang: bool = False
    selector: tuple[str, ...] = ()
    toleration: tuple[str, ...] = ()
    scheduler: str | None = None
    retry: int | None = None
    running_timeout: int | None = None
    ttl_after_finished: int | None = None
    clean_task_policy: str | None = None
    label: tuple[str, ...] = ()
    annotation: tuple[str, ...] = ()
    service_account: str | None = None
    image_pull_secret: tuple[str, ...] = ()
    image_pull_policy: str | None = None
    host_ipc: bool = False
    host_pid: bool = False
    host_network: bool = False
    rdma: str | None = None
    restricted: bool = False
    success_policy: str | None = None
    role_sequence: str | None = None
    mounts_on_launcher: bool = False
    sync_mode: str | None = None
    sync_source: str | None = None
    sync_branch: str | None = None
    sync_revision: str | None = None  # only by Arena's variable
    sync_secret: str | None = None
    sync_image: str | None = None
    model_name: str | None = None
    model_repo: str | None = None
    model_storage: str | None = None
    model_insecure: bool = False
    tensorboard: bool = False
    tensorboard_image: str | None = None
    logdir: str | None = None
    wait: bool = False
    timeout: int | None = None
    dry_run: str = "none"
    output: str | None = None
    check: bool = False
    code: str | None = None
    config_file: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)  # by role in small letters
    roles: Mapping[str, RoleFlags] = field(default_factory=dict)
    own: Mapping[str, object] = field(default_factory=dict)  # fields that only this kind has

    @property
    def sending(self) -> Sending:
        """Return how it is sent."""
        code = Code(self.code, self.command) if self.code else None
        files: Mapping[str, bytes] = {}
        if self.config_file:
            from kubedl.cli.submit.config_files import read_files  # noqa: PLC0415 - few jobs have some

            files = read_files(self.config_file)
        return Sending(self.wait, self.timeout, self.dry_run, self.output, self.check, code, files)


def job_options() -> list[click.Parameter]:
    """Return the flags in the order of the help."""
    return [
        click.Argument(["command"], nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]"),
        *_container_options(),
        *_scheduling_options(),
        *_addon_options(),
        *sending_options(),
    ]


def sending_options() -> list[click.Parameter]:
    """Return the flags of everything that creates a job."""
    return [
        click.Option(["--wait"], is_flag=True, help="Follow the job to its end, and end with its exit code."),
        click.Option(["--timeout"], type=Duration(), metavar="DURATION", help="How long to --wait; exit code 124."),
        dry_run("Create nothing: print the manifest (client, the default), or let the server check it."),
        click.Option(
            ["--check"],
            is_flag=True,
            help="Create nothing: say whether it would start. Exit code 0 now, 3 later or unknown, 1 never.",
        ),
        click.Option(
            ["-o", "--output"],
            type=click.Choice(("json", "yaml", "name")),
            help="Print the job; with --wait and --check their result.",
        ),
    ]


def _container_options() -> list[click.Parameter]:
    return [
        click.Option(["--name"], required=True, metavar="NAME", help="Name of the job."),
        ConfiguredOption(["--image"], metavar="IMAGE", help="Image of all replicas that have none of their own."),
        click.Option(["--gpus"], type=click.IntRange(0), metavar="N", help="GPUs (nvidia.com/gpu) of each replica."),
        _many("--device", "NAME=COUNT", "Other devices of each replica, such as amd.com/gpu=8."),
        click.Option(["--cpu"], metavar="QUANTITY", help="CPUs of each replica, requested and at most."),
        click.Option(["--memory"], metavar="QUANTITY", help="Memory of each replica, requested and at most."),
        click.Option(["--cpu-limit"], metavar="QUANTITY", help="CPUs at most, if not --cpu."),
        click.Option(["--memory-limit"], metavar="QUANTITY", help="Memory at most, if not --memory."),
        click.Option(
            ["--share-memory"], default="2Gi", metavar="QUANTITY", help="Size of /dev/shm; 0 for the default."
        ),
        _many(
            "-e", "--env", "NAME=VALUE", "Variable; NAME takes it from the shell, NAME=secret:SECRET/KEY from a Secret."
        ),
        _many("-d", "--data", "CLAIM:PATH[:ro]", "Claim to mount; CLAIM/DIRECTORY:PATH mounts a part of it."),
        _many("--data-dir", "HOST:PATH", "Directory of the node to mount."),
        _many("--config-file", "FILE[:PATH]", "File of this machine, at most 900 KiB, that every pod finds at PATH."),
        click.Option(["--working-dir"], metavar="PATH", help="Working directory; by default that of the image."),
        click.Option(
            ["--shell"], default="sh", metavar="SHELL", help="Shell of a command of one argument; default sh."
        ),
        _many("-l", "--label", "NAME=VALUE", "Label of the job and its pods."),
        _many("-a", "--annotation", "NAME=VALUE", "Annotation of the job and its pods."),
        click.Option(["--service-account"], metavar="NAME", help="ServiceAccount of the pods."),
        _many("--image-pull-secret", "NAME", "Secret to pull images with."),
        click.Option(
            ["--image-pull-policy"], type=click.Choice(("Always", "IfNotPresent", "Never")), help="When to pull."
        ),
        click.Option(["--host-ipc"], is_flag=True, help="Use the IPC namespace of the node."),
        click.Option(["--host-pid"], is_flag=True, help="Use the PID namespace of the node."),
        click.Option(["--host-network"], is_flag=True, help="Use the network of the node."),
        click.Option(
            ["--rdma"],
            metavar="[RESOURCE[:N]]",
            is_flag=False,
            flag_value=RDMA,
            help=f"RDMA devices of each replica that computes; default {RDMA}:1. Needs privileged pods.",
        ),
        click.Option(["--restricted"], is_flag=True, help="Security context of Pod Security restricted."),
    ]


def _scheduling_options() -> list[click.Parameter]:
    return [
        ConfiguredOption(
            ["--queue"],
            metavar="[NAME]",
            is_flag=False,
            flag_value=ONLY_QUEUE,
            help="Queue of Kueue to wait in; without a name the only one of the namespace, or its default.",
        ),
        click.Option(["-p", "--priority"], metavar="NAME", help="PriorityClass of the pods."),
        click.Option(["--gang"], is_flag=True, help="Start all replicas together, or none."),
        _many("--selector", "NAME=VALUE", "Label that nodes must have."),
        _many("--toleration", "TAINT", "Taint to tolerate: all, KEY, KEY=VALUE or KEY=VALUE:EFFECT."),
        click.Option(["--scheduler"], metavar="NAME", help="Scheduler of the pods."),
        click.Option(["--retry"], type=click.IntRange(0), metavar="N", help="Failures to retry; default 3."),
        click.Option(["--running-timeout"], type=Duration(), metavar="DURATION", help="How long the job may take."),
        click.Option(
            ["--ttl-after-finished"], type=Duration(), metavar="DURATION", help="When to delete it after its end."
        ),
        click.Option(["--clean-task-policy"], type=click.Choice(_CLEANING), help="Which pods to delete at its end."),
        click.Option(["--success-policy"], type=click.Choice(tuple(SUCCESS)), help="When the job has succeeded."),
        click.Option(
            ["--role-sequence"], metavar="ROLE,ROLE", help="Start roles one after the other, such as PS,Worker."
        ),
    ]


def _addon_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--code"],
            metavar="DIRECTORY",
            type=click.Path(exists=True, file_okay=False),
            help="Ship a directory, and run the command in it; at most 900 KiB packed.",
        ),
        click.Option(["--sync-mode"], metavar="git", help="Where code comes from; with --sync-source."),
        click.Option(
            ["--sync-source"], metavar="URL", help="Git repository to fetch into code/NAME of the working directory."
        ),
        click.Option(["--sync-branch"], metavar="NAME", help="Its branch."),
        click.Option(["--sync-secret"], metavar="NAME", help="Secret to fetch it with."),
        click.Option(["--sync-image"], metavar="IMAGE", help="Image with git."),
        click.Option(["--model-name"], metavar="NAME", help="Model to make a version of when the job succeeds."),
        click.Option(["--model-repo"], metavar="REPOSITORY", help="Repository of the model image."),
        click.Option(["--model-storage"], metavar="CLAIM[/PATH]", help="Claim that the model is written to."),
        click.Option(["--model-insecure"], is_flag=True, help="Its registry has no TLS, or nobody signs for it."),
        click.Option(["--tensorboard"], is_flag=True, help="Start a TensorBoard beside the job."),
        click.Option(["--tensorboard-image"], metavar="IMAGE", help="Its image."),
        click.Option(["--logdir"], metavar="PATH", help="Its logs, in a volume of the job."),
    ]


def _many(*names_and_text: str) -> click.Option:
    """Return a flag that may be repeated: its names, its value, its help."""
    *names, value, text = names_and_text
    return click.Option(names, multiple=True, metavar=value, help=f"{text} May be repeated.")
