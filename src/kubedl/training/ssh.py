"""ssh between the pods of one job: some serve, one reaches out, and none of them needs rights in the cluster.

The key pair is made when the job's Secret is and is kept nowhere else; only who reaches out gets the private half. All
that is no secret stands in the pod's own annotations, so nothing beside the pod can be missing or stale. It works for
root and for a user without any rights, under PodSecurity *restricted*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from kubedl.api.training import GROUP
from kubedl.schema.rbac import Grant
from kubedl.training.job import Job
from kubedl.training.kind import Companion
from kubedl.wire.meta import ObjectMeta, Record, Resource

Body = dict[str, Any]

PRIVATE, PUBLIC = "id_ed25519", "authorized_keys"
FILES = "/etc/kubedl/ssh"  # read-only: what the operator gives
OWN = "/run/kubedl/ssh"  # in memory: what the pod makes of it
AGENT = f"{FILES}/agent"
GRANT = Grant("", ("secrets",), ("create",), "A key pair for each job whose pods reach each other by ssh.")

_VOLUME, _OWN_VOLUME = "kubedl-ssh", "kubedl-ssh-own"

# Sessions of sshd begin with an empty environment; here they begin with that of the container.
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
# Launchers call it as they call ssh, with options of their own, and give up at the first name that does not resolve
# yet. ssh refuses a key that its owner is not alone to read, so it gets a copy. Host keys are made anew with every pod
# and nobody could vouch for them; names lead to this job's pods only, by its own Service.
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
left=60
command -v getent > /dev/null || left=0
while test $left -gt 0 && ! getent hosts "${{word##*@}}" > /dev/null; do left=$((left - 1)); sleep 1; done
key={OWN}/{PRIVATE}
test -f $key || (umask 077 && cat {FILES}/{PRIVATE} > $key.$$ && mv $key.$$ $key) || exit 1
exec ssh -F /dev/null -i $key -p $PORT -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \\
  -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR -o ConnectionAttempts=10 "$@"
"""
# Open MPI 4 passes the agent's path on to its daemons, which end where there is none, and never call it.
_NO_AGENT = """\
#!/bin/sh
echo 'only the launcher has the key to other pods' >&2
exit 1
"""


class Secret(Record, frozen=True):
    """Nothing of a Secret is read but that it was made."""

    metadata: ObjectMeta = ObjectMeta()


SECRETS = Resource(Secret, "Secret", "secrets")


@dataclass(frozen=True)
class File:
    """Something that a pod finds below FILES."""

    text: str
    executable: bool = False


def key_pair(job: Job) -> Companion:
    """A new one. The public half allows commands, and neither tunnels nor terminals."""
    made = Ed25519PrivateKey.generate()
    private = made.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    public = made.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    content = {PRIVATE: private, PUBLIC: f"restrict {public}\n"}
    return Companion(SECRETS, job.companion_name("ssh"), {"immutable": True, "stringData": content})


def serve(job: Job, pod: Body, port: int) -> None:
    """Let a pod be reached. A container that says itself what it runs, or when it is ready, is left to it."""
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
    """Give a pod the private key, an agent to use in place of ssh for pods that serve at `port`, and more files."""
    agent = File(_AGENT.replace("$PORT", str(port)), executable=True)
    _mount(job, pod, PRIVATE, {"agent": agent, **files})


def _mount(job: Job, pod: Body, key: str, files: Mapping[str, File]) -> Body | None:
    """Put files and half of the key pair into the main container, and return it."""
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
    secret = {"name": job.companion_name("ssh"), "items": [{"key": key, "path": key}]}
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
