"""Rights of the console: one that has those of the chart and no others, on a day on which it needs all of them.

A server that does not know how to begin a watch with what there is must be asked for lists; after that it is watched
as on good days. A person who asks for jobs makes it ask whose token that is, and what this person may see.
"""

import tempfile
from pathlib import Path

from harness.drivers.console_objects import define
from harness.drivers.console_process import USER, ConsoleProcess, give_rights, token_of
from harness.drivers.operator_process import kubeconfig_through
from harness.drivers.proxied_operator import proxy_as
from harness.experiments.rbac_audit import Process, granted, rules
from testbed import namespaces
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.faultproxy import AnswerInstead, Match
from testbed.faultproxy.handler import Call
from testbed.waiting import until

FILES = ("console", "console-outside")
CONSOLE = Process("console", FILES, USER)


def play_bad_day(cluster: Cluster) -> None:
    """Let a console list and watch every kind, and somebody look at it."""
    define(cluster)
    give_rights(cluster)
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-console-rights-") as directory,
        proxy_as(cluster, USER) as proxy,
        namespaces.fresh(cluster.api, "rights") as namespace,
    ):
        place = Path(directory)
        followed = {right.resource for right in granted(rules(*FILES)) if right.verb == "watch"}
        for resource in followed:
            proxy.inject(Match(verb="watch", resource=resource), AnswerInstead(422))
        kubeconfig = kubeconfig_through(cluster, proxy.url, place / "kubeconfig")
        with ConsoleProcess(cluster, place, kubeconfig=kubeconfig) as console:
            until("every kind to be listed", lambda: _listed(followed, proxy.calls), deadline=120)
            answer = console.get("/api/v1/jobs", token_of(cluster, namespace, "ada"))
            if answer.status != 200:
                raise TestbedError(f"the console answered {answer.status}: {answer.body!r}")


def _listed(followed: set[str], calls: list[Call]) -> bool:
    if missing := followed - {call.resource for call in calls if call.verb == "list"}:
        raise TimeoutError(", ".join(sorted(missing)))
    return True
