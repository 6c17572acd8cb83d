"""Volcano as two host processes: its scheduler, for pods that name it, and its controllers, which open its queues."""

from pathlib import Path

from testbed import dns_and_registry, processes
from testbed.api import Api
from testbed.instance import Instance
from testbed.pki import Authority, Identity
from testbed.waiting import until

TOOL = "volcano"
CONTROLLERS, SCHEDULER = "controller-manager", "scheduler"  # its programs
COMPONENTS = (f"{TOOL}-{CONTROLLERS}", f"{TOOL}-{SCHEDULER}")
USER = "testbed:volcano"
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/default"
SETTINGS = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def publish(authority: Authority, api: Api) -> None:
    """Its rights; which of them it needs is not our subject."""
    dns_and_registry.bind(api, USER, "cluster-admin")
    authority.issue(TOOL, Identity(USER))


def start(instance: Instance, authority: Authority, api: Api, programs: dict[str, Path]) -> None:
    """Both processes, when the default queue is open."""
    # It reads its settings again whenever anything in their directory changes, so nothing else is in it.
    settings = instance.state / TOOL / "settings.yaml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(SETTINGS)
    common = [f"--kubeconfig={authority.kubeconfig(TOOL)}", "--leader-elect=false", "--enable-healthz=false"]
    arguments = {
        CONTROLLERS: [f"--listen-address=127.0.0.1:{instance.loopback_port(23)}"],
        SCHEDULER: [
            f"--listen-address=127.0.0.1:{instance.loopback_port(24)}",
            f"--scheduler-conf={settings}",
            "--cache-dumper=false",
            "--schedule-period=500ms",
        ],
    }
    logs = {}
    for component, name in zip(COMPONENTS, (CONTROLLERS, SCHEDULER), strict=True):
        logs[component] = instance.state / "log" / f"{component}.log"
        command = [str(programs[name]), *common, *arguments[name]]
        processes.start(instance.index, component, command, logs[component])

    def is_open() -> bool:
        for component, log in logs.items():
            processes.insist(instance.index, component, log)
        return bool(api.exists(QUEUE) and api.get(QUEUE).get("status", {}).get("state") == "Open")

    until("Volcano's default queue", is_open, deadline=90)
