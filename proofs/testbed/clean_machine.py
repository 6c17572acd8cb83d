"""A machine that has only Debian 12, Python 3.11 and Go, as far as files go.

A fresh Debian tree becomes the root of a mount namespace of its own. Kernel, cores and network are
this machine's, and so are the settings by which it reaches its package mirrors; nothing else is.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SUITE = "bookworm"
PACKAGES = "python3,git,make,ca-certificates"  # git and make: to have a clone and a Makefile at all

# How this machine reaches the mirrors: name servers and certificates.
SETTINGS = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt")
VARIABLES = (
    "GOPROXY",
    "GOFLAGS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "PIP_CERT",
    "PIP_INDEX_URL",
    "SSL_CERT_FILE",
)

ENTER = """
set -e
root=$1; go=$2; shift 2
mount --bind "$root" "$root"
for name in proc sys dev; do mount --rbind "/$name" "$root/$name"; done
mount -t tmpfs tmpfs "$root/run"; mkdir "$root/run/lock"
mount -t tmpfs tmpfs "$root/tmp"
for file in $SETTINGS; do touch "$root$file"; mount --bind "$file" "$root$file"; done
mkdir -p "$root/usr/local/go"; mount --bind "$go" "$root/usr/local/go"
cd "$root"; mkdir -p old; pivot_root . old; umount -l /old; rmdir /old; cd /
exec "$@"
"""


@dataclass(frozen=True)
class Machine:
    """A root directory to run commands in."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> "Machine":
        """Unpack a fresh Debian; takes a minute."""
        command = [
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=important",
            f"--include={PACKAGES}",
            SUITE,
            str(root),
        ]
        subprocess.run(command, check=True)
        return cls(root)

    def run(self, *command: str, instance: int) -> subprocess.CompletedProcess[str]:
        """Run a command as root of the machine, with a test bed index of its own."""
        go = Path(shutil.which("go") or "").resolve().parents[1]
        environment = {name: os.environ[name] for name in VARIABLES if name in os.environ} | {
            "HOME": "/root",
            "INSTANCE": str(instance),
            "PATH": "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "SETTINGS": " ".join(SETTINGS),
        }
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", str(self.root), str(go)]
        return subprocess.run([*enter, *command], env=environment, capture_output=True, text=True, check=False)
