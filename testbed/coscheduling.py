"""The Coscheduling plugin in a scheduler of its own, beside the cluster's: only for pods that name it."""

import json
import socket
from pathlib import Path

from testbed import dns_and_registry, processes
from testbed.api import Api, Object
from testbed.instance import Instance
from testbed.pki import Authority, Identity
from testbed.waiting import until

PROGRAM = "coscheduling"
USER = "testbed:coscheduling"
SCHEDULER = "scheduler-plugins-scheduler"  # as in the chart of scheduler-plugins
PLUGIN = {"name": "Coscheduling"}


def publish(authority: Authority, api: Api) -> None:
    """Its rights; which of them it needs is not our subject."""
    dns_and_registry.bind(api, USER, "cluster-admin")
    authority.issue(PROGRAM, Identity(USER))


def start(instance: Instance, authority: Authority, program: Path) -> None:
    """The scheduler, when it is ready."""
    directory = instance.state / PROGRAM
    directory.mkdir(exist_ok=True)
    kubeconfig, port = authority.kubeconfig(PROGRAM), instance.loopback_port(25)
    settings = directory / "settings.yaml"
    settings.write_text(json.dumps(_settings(kubeconfig)))  # JSON is YAML
    command = [
        str(program),
        f"--config={settings}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
    ]
    log = instance.state / "log" / f"{PROGRAM}.log"
    processes.start(instance.index, PROGRAM, command, log)

    def listens() -> bool:
        processes.insist(instance.index, PROGRAM, log)
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True

    until("the scheduler with Coscheduling", listens, deadline=60)


def _settings(kubeconfig: Path) -> Object:
    """As in the plugin's own example, with its default waiting times."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "profiles": [
            {
                "schedulerName": SCHEDULER,
                "plugins": {
                    "multiPoint": {"enabled": [PLUGIN]},
                    "queueSort": {"enabled": [PLUGIN], "disabled": [{"name": "*"}]},
                },
                "pluginConfig": [{**PLUGIN, "args": {"permitWaitingTimeSeconds": 10}}],
            }
        ],
    }
