"""ssh between the pods of one job: workers run sshd, the launcher connects, and none needs permissions in the cluster.

The key pair is generated with the job's Secret and stored nowhere else; only the launcher gets the private key.
Everything that is not secret is in the pod's annotations, so no other object can be missing or stale. It works for root
and for an unprivileged user, under Pod Security *restricted*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubedl.api.training import GROUP
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.grants import Grant
from kubedl.training.job import Job
from kubedl.training.kind import AuxiliaryObject

Body = dict[str, Any]

PRIVATE, PUBLIC = "id_ed25519", "authorized_keys"
FILES = "/etc/kubedl/ssh"  # read-only: files from the operator
OWN = "/run/kubedl/ssh"  # in memory: files generated in the pod
AGENT = f"{FILES}/agent"
GRANT = Grant("", ("secrets",), ("create",), "Create a key pair for each job whose pods use ssh.")

_VOLUME, _OWN_VOLUME = "kubedl-ssh", "kubedl-ssh-own"

# sshd starts sessions with an empty environment; this restores that of the container.
_START = f"""\
set -eu
(umask 077 && export -p > {OWN}/environment)
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
sshd=$(command -v sshd) || {{ echo 'there is no sshd in this image: install openssh-server' >&2; exit 127; }}
test -f {OWN}/host_key || ssh-keygen -q -t ed25519 -N '' -f {OWN}/host_key
test "$(id -u)" != 0 || mkdir -p /run/sshd
exec "$sshd" -D -e -f {FILES}/sshd_config
"""
_SESSION = f"""\
#!/bin/sh
test ! -r {OWN}/environment || . {OWN}/environment
exec /bin/sh -c "${{SSH_ORIGINAL_COMMAND:-/bin/sh}}"
"""
_SSHD_CONFIG = f"""\
HostKey {OWN}/host_key
AuthorizedKeysFile {FILES}/{PUBLIC}
ForceCommand {FILES}/session
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
LogLevel ERROR
"""
# Launchers call it like ssh, with their own options, and fail at the first host that does not answer. After a restart,
# DNS may still have the address of the worker's old pod, and ssh resolves a name only once, so a trial connection is
# repeated until it succeeds. ssh rejects a key that other users can read, so it gets a copy. Host keys are new in every
# pod and cannot be verified; names resolve to this job's pods only, through its own Service.
_AGENT = f"""\
#!/bin/sh
value= word=
for word do
  if test -n "$value"; then value=; continue; fi
  case $word in
    -[BbcDEeFIiJLlmOopQRSWw]) value=1 ;;
    -*) ;;
    *) break ;;
  esac
done
key={OWN}/{PRIVATE}
test -f $key || (umask 077 && cat {FILES}/{PRIVATE} > $key.$$ && mv $key.$$ $key) || exit 1
options="-F /dev/null -i $key -p $PORT -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \\
  -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR"
left=60
until ssh $options -o ConnectTimeout=5 "$word" true < /dev/null 2> /dev/null || test $left -eq 0; do
  left=$((left - 1)); sleep 1
done
exec ssh $options -o ConnectionAttempts=10 "$@"
"""
# Open MPI 4 passes the agent's path on to its daemons, which exit if it does not exist, and never call it.
_NO_AGENT = """\
#!/bin/sh
echo 'only the launcher has the key to other pods' >&2
exit 1
"""


class Secret(Record, frozen=True):
    """Nothing of a Secret is read, only that it was created."""

    metadata: ObjectMeta = ObjectMeta()


SECRETS = Resource(Secret, "Secret", "secrets")


@dataclass(frozen=True)
class File:
    """A file that a pod finds below FILES."""

    text: str
    executable: bool = False


def key_pair(job: Job) -> AuxiliaryObject:
    """Generate a key pair. The public key allows commands, but neither tunnels nor terminals."""
    # Imported on demand: only the operator generates keys; other users of the kinds, such as a client, need not have
    # the library.
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()).decode()
    public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()
    content = {PRIVATE: private, PUBLIC: f"restrict {public}\n"}
    return AuxiliaryObject(SECRETS, job.auxiliary_name("ssh"), {"immutable": True, "stringData": content})


def serve(job: Job, pod: Body, port: int) -> None:
    """Run sshd in a pod. A container with its own command or readiness probe keeps it."""
    files = {
        "agent": File(_NO_AGENT, executable=True),
        "start": File(_START),
        "session": File(_SESSION, executable=True),
        "sshd_config": File(f"Port {port}\n{_SSHD_CONFIG}"),
    }
    container = _mount(job, pod, PUBLIC, files)
    if container is None:
        return
    if not container.get("command") and not container.get("args"):
        container["command"] = ["/bin/sh", f"{FILES}/start"]
    if not container.get("readinessProbe"):
        container["readinessProbe"] = {"tcpSocket": {"port": port}, "periodSeconds": 3}


def reach_out(job: Job, pod: Body, port: int, files: Mapping[str, File]) -> None:
    """Give a pod the private key, an agent in place of ssh for pods that serve at `port`, and more files."""
    agent = File(_AGENT.replace("$PORT", str(port)), executable=True)
    _mount(job, pod, PRIVATE, {"agent": agent, **files})


def _mount(job: Job, pod: Body, key: str, files: Mapping[str, File]) -> Body | None:
    """Mount files and one half of the key pair into the main container, and return it."""
    spec, annotations = pod["spec"], {f"{GROUP}/ssh-{name}": file.text for name, file in files.items()}
    pod["metadata"]["annotations"] = {**pod["metadata"]["annotations"], **annotations}
    items = [
        {
            "path": name,
            "fieldRef": {"fieldPath": f"metadata.annotations['{GROUP}/ssh-{name}']"},
            "mode": 0o555 if file.executable else 0o444,
        }
        for name, file in files.items()
    ]
    secret = {"name": job.auxiliary_name("ssh"), "items": [{"key": key, "path": key}]}
    sources = [{"secret": secret}, {"downwardAPI": {"items": items}}]
    spec["volumes"] = [
        *(spec.get("volumes") or ()),
        {"name": _VOLUME, "projected": {"sources": sources, "defaultMode": 0o444}},
        {"name": _OWN_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": "4Mi"}},
    ]
    container: Body | None = next((one for one in spec["containers"] if one["name"] == job.container), None)
    if container is not None:
        container["volumeMounts"] = [
            *(container.get("volumeMounts") or ()),
            {"name": _VOLUME, "mountPath": FILES, "readOnly": True},
            {"name": _OWN_VOLUME, "mountPath": OWN},
        ]
    return container
