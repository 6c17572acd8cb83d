"""The pod template of one role, from flags. Pure."""

import click

from kubedl.cli.submit import roles, values
from kubedl.cli.submit.flags import JobFlags
from kubedl.cli.submit.kind_schema import KindSchema
from kubedl.cli.submit.role_flags import NOTHING, RoleFlags
from kubedl.cli.submit.values import Part, given

GPU = "nvidia.com/gpu"
CODE_DIRECTORY = "/root"  # the working directory of fetched code, if none is given
JOB_NAME, REPLICA_TYPE = "training.kubedl.io/job-name", "training.kubedl.io/replica-type"  # labels of pods
HOST = "kubernetes.io/hostname"
BINPACK = "binpack"
RESTRICTED: Part = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
RESTRICTED_POD: Part = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def pod_template(kind: KindSchema, role: str, flags: JobFlags) -> Part:
    """Return the template of a role."""
    own = flags.roles.get(role, NOTHING)
    volumes, mounts = _volumes(role, flags)
    spec = given(
        containers=[_container(kind, role, flags, own, mounts)],
        volumes=volumes or None,
        nodeSelector=_selector(kind, role, flags, own) or None,
        tolerations=values.tolerations(flags.toleration) or None,
        affinity=_affinity(flags.name, role, own),
        schedulerName=flags.scheduler,
        serviceAccountName=flags.service_account,
        imagePullSecrets=[{"name": name} for name in flags.image_pull_secret] or None,
        hostIPC=flags.host_ipc or None,
        hostPID=flags.host_pid or None,
        securityContext=dict(RESTRICTED_POD) if flags.restricted else None,
    )
    metadata = values.labels(flags, (*flags.annotation, *own.annotation))
    return ({"metadata": metadata} if metadata else {}) | {"spec": spec}


def _container(kind: KindSchema, role: str, flags: JobFlags, own: RoleFlags, mounts: list[Part]) -> Part:
    environment = values.variables(flags.env)
    gpus = own.gpus if own.gpus is not None else flags.gpus if roles.computes(role) else None
    if gpus == 0:
        environment.append({"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"})
    return given(
        name=kind.container,
        image=_image(role, flags, own),
        imagePullPolicy=flags.image_pull_policy,
        command=_command(kind, role, flags, own) or None,
        workingDir=flags.working_dir or (CODE_DIRECTORY if flags.sync_source else None),
        env=environment or None,
        ports=[{"name": kind.port_name, "containerPort": own.port}] if own.port else None,
        resources=_resources(role, flags, own, gpus) or None,
        volumeMounts=mounts or None,
        securityContext=_security(flags, computes=roles.computes(role)),
    )


def _image(role: str, flags: JobFlags, own: RoleFlags) -> str:
    """Return the image of a role; without --image, a Chief and an Evaluator run that of the Workers, as in Arena."""
    image = own.image or flags.image
    if image is None and role in roles.SWITCHES:
        image = flags.roles.get(roles.WORKER, NOTHING).image
    if not image:
        raise click.UsageError("no --image\nnext  --image IMAGE   (Image of all replicas)")
    return image


def _volumes(role: str, flags: JobFlags) -> tuple[list[Part], list[Part]]:
    volumes, mounts = values.mounts(flags.data, flags.data_dir)
    if role == roles.LAUNCHER and not flags.mounts_on_launcher:
        volumes, mounts = [], []
    if flags.share_memory != "0":
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": flags.share_memory}})
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108 - a mount, no file
    return volumes, mounts


def _selector(kind: KindSchema, role: str, flags: JobFlags, own: RoleFlags) -> dict[str, str]:
    if own.selector:
        found = kind.role(role)
        return values.pairs(f"--{found.word if found else role}-selector", own.selector)
    return values.pairs("--selector", flags.selector)


def _command(kind: KindSchema, role: str, flags: JobFlags, own: RoleFlags) -> list[str]:
    if own.command:
        return [flags.shell, "-c", own.command]
    if not roles.runs_command(kind, role):
        return []
    return [flags.shell, "-c", flags.command[0]] if len(flags.command) == 1 else list(flags.command)


def _resources(role: str, flags: JobFlags, own: RoleFlags, gpus: int | None) -> Part:
    """Return requests and limits: those of all replicas if the role computes, and its own."""
    if roles.computes(role):
        devices = values.pairs("--device", flags.device) | _rdma(flags)
        requests = given(cpu=own.cpu or flags.cpu, memory=own.memory or flags.memory)
        common = given(cpu=flags.cpu_limit, memory=flags.memory_limit)
        limits = given(cpu=flags.cpu, memory=flags.memory) if not (own.cpu or own.memory) else {}
    else:
        devices, common, limits = {}, {}, {}
        requests = given(cpu=own.cpu, memory=own.memory)
    if gpus:
        devices[GPU] = str(gpus)
    limits = limits | common | given(cpu=own.cpu_limit, memory=own.memory_limit) | devices
    return given(requests=requests or None, limits=limits or None)


def _rdma(flags: JobFlags) -> dict[str, str]:
    if flags.rdma is None:
        return {}
    name, _, count = flags.rdma.partition(":")
    if not name or not (count or "1").isdecimal():
        raise values.wrong("--rdma", flags.rdma, "RESOURCE or RESOURCE:N")
    return {name: count or "1"}


def _security(flags: JobFlags, *, computes: bool) -> Part | None:
    if flags.restricted:
        return dict(RESTRICTED)
    return {"capabilities": {"add": ["IPC_LOCK"]}} if flags.rdma is not None and computes else None


def _affinity(job: str, role: str, own: RoleFlags) -> Part | None:
    """Return the affinity among the pods of a role: on as few nodes as possible, or on as many."""
    if own.affinity_policy in (None, "none"):
        return None
    labels = {"matchLabels": {JOB_NAME: job, REPLICA_TYPE: role.lower()}}
    term = {"labelSelector": labels, "topologyKey": HOST}
    name = "podAffinity" if own.affinity_policy == BINPACK else "podAntiAffinity"
    if own.affinity_constraint == "required":
        return {name: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    weighted = [{"weight": 100, "podAffinityTerm": term}]
    return {name: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}
