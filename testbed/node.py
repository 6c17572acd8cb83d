"""One real node: a network, mount and UTS namespace with its own containerd, kubelet and kube-proxy.

A holder process keeps the namespaces; inside them every path is a default one, bound to the node's
own directory. When the holder and all that share its mount namespace are gone, so are its mounts.
"""

import json
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed import cgroups, cleanup, network, nodeconfig, processes
from testbed.http import answers
from testbed.instance import Instance, NodePlace
from testbed.pki import Authority, Identity
from testbed.shell import run
from testbed.waiting import START, until

PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr", "kubelet", "kube-proxy")

# What a node calls by these paths is its own directory below the instance's state.
BOUND = (
    "/etc/cni",
    "/etc/containerd",
    "/run/containerd",
    "/run/netns",
    "/run/nri",  # containerd's plugin socket: two nodes that start at once would fight for it
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
)
# On a machine these are in memory: a power cut empties them.
VOLATILE = ("/run/containerd", "/run/netns", "/run/nri")


@dataclass(frozen=True)
class Node:
    """The processes and files of one node; the objects in the API are the cluster's business."""

    instance: Instance
    place: NodePlace
    authority: Authority
    programs: dict[str, Path]

    def prepare(self, peers: list[NodePlace]) -> None:
        """Network, certificates and configuration of a node that does not exist yet."""
        network.attach(self.instance, self.place, peers)
        self.authority.issue(self.place.name, Identity(f"system:node:{self.place.name}", "system:nodes"))
        self.authority.issue(
            f"{self.place.name}-serving",
            Identity(self.place.name, addresses=(self.place.address,), hosts=(self.place.name,)),
        )
        self._write_configuration()

    def boot(self) -> None:
        """Start the node's processes, as switching the machine on would."""
        cgroups.create(self.place.cgroup)
        holder = self._hold()
        self.start_component("containerd", holder)
        socket = self._own("/run/containerd") / "containerd.sock"
        until(f"containerd on {self.place.name}", lambda: self._alive("containerd") and socket.exists(), deadline=START)
        self.start_component("kubelet", holder)
        self.start_component("kube-proxy", holder)

    def start_component(self, component: str, holder: int | None = None) -> None:
        """Start one of the node's daemons inside its namespaces."""
        if holder is None:
            holder = processes.one(self.instance.index, f"{self.place.name}/holder").pid
        arguments = {
            "containerd": ["--config=/etc/containerd/config.toml"],
            "kubelet": [
                f"--config={self._directory / 'kubelet.json'}",
                f"--kubeconfig={self.authority.kubeconfig(self.place.name)}",
                f"--hostname-override={self.place.name}",
                f"--node-ip={self.place.address}",
            ],
            "kube-proxy": [f"--config={self._directory / 'kube-proxy.json'}"],
        }[component]
        command = ["nsenter", "-t", str(holder), "-m", "-n", "-u", str(self.programs[component]), *arguments]
        # containerd looks for its shim on PATH.
        path = f"{self.programs['containerd'].parent}:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        self._start(component, command, {"PATH": path})

    def wait_serving(self) -> None:
        """Wait until the kubelet answers; the Node object would still say Ready after its death."""
        url = f"http://{self.place.address}:10248/healthz"
        until(f"the kubelet of {self.place.name}", lambda: self._alive("kubelet") and answers(url), deadline=START)

    def load_image(self, archive: Path) -> None:
        """Import an image that no registry has, as `kind load` does."""
        holder = processes.one(self.instance.index, f"{self.place.name}/holder").pid
        inside = ("nsenter", "-t", str(holder), "-m", str(self.programs["ctr"]))
        run(*inside, "--namespace=k8s.io", "images", "import", "--local", str(archive), timeout=300)

    def power_off(self) -> None:
        """End everything of the node at once, as a power cut would, and forget what was in memory."""
        network.cut(self.place)  # first: nobody hears a machine that loses power say goodbye
        cleanup.end_node(self.instance, self.place)
        for path in VOLATILE:
            shutil.rmtree(self._own(path), ignore_errors=True)
            self._own(path).mkdir(parents=True)
        network.drop_pod_bridge(self.place)

    def power_on(self) -> None:
        """Undo `power_off`."""
        network.join(self.place)
        self.boot()

    @property
    def _directory(self) -> Path:
        return self.instance.state / self.place.name

    def _own(self, path: str) -> Path:
        """Where the node's version of a default path lies."""
        return self._directory / path.strip("/").replace("/", "-")

    def _hold(self) -> int:
        """Start the holder and wait until its mounts stand."""
        binds = "".join(f"mkdir -p {path}\nmount --bind {shlex.quote(str(self._own(path)))} {path}\n" for path in BOUND)
        # The machine's own mounts must still arrive (slave), and those of pods must reach other pods (shared).
        script = (
            f"set -e\nhostname {self.place.name}\nmount --make-rslave /\n{binds}"
            "mount --make-rshared /\nexec sleep infinity\n"
        )
        unshare = ["unshare", "--mount", "--uts", "--propagation", "unchanged", "sh", "-c", script]
        pid = self._start("holder", [*network.inside(self.place.network_namespace), *unshare])
        # Until the shell has become `sleep` its mount tree is half built.
        command_name = Path(f"/proc/{pid}/comm")
        until(
            f"the namespaces of {self.place.name}",
            lambda: self._alive("holder") and command_name.read_text().strip() == "sleep",
            deadline=START,
            interval=0.02,
        )
        return pid

    def _start(self, component: str, command: list[str], environment: dict[str, str] | None = None) -> int:
        name = f"{self.place.name}/{component}"
        return processes.start(self.instance.index, name, command, self._log(component), environment)

    def _log(self, component: str) -> Path:
        return self.instance.state / "log" / f"{self.place.name}-{component}.log"

    def _alive(self, component: str) -> bool:
        processes.insist(self.instance.index, f"{self.place.name}/{component}", self._log(component))
        return True

    def _write_configuration(self) -> None:
        for path in BOUND:
            self._own(path).mkdir(parents=True, exist_ok=True)
        resolv = self._directory / "resolv.conf"
        resolv.write_text("")  # empty on purpose: nothing of the machine's own resolver leaks into pods
        (self._own("/etc/containerd") / "config.toml").write_text(nodeconfig.containerd(self.instance))
        hosts = self._own("/etc/containerd") / "certs.d" / self.instance.registry / "hosts.toml"
        hosts.parent.mkdir(parents=True)
        hosts.write_text(nodeconfig.registry_hosts(self.instance))
        network_list = self._own("/etc/cni") / "net.d" / "10-testbed.conflist"
        network_list.parent.mkdir()
        network_list.write_text(json.dumps(nodeconfig.pod_network(self.place), indent=1))
        kubelet = nodeconfig.kubelet(self.instance, self.place, self.authority, resolv)
        (self._directory / "kubelet.json").write_text(json.dumps(kubelet, indent=1))
        proxy = nodeconfig.kube_proxy(self.instance, self.place, self.authority)
        (self._directory / "kube-proxy.json").write_text(json.dumps(proxy, indent=1))
