"""Rights: an operator that has those of the chart and no others, and which of them nobody ever used.

    python -m harness.experiments.rbac_audit --play

runs every scenario with such an operator, and prints for each process what it was granted and never used, by the audit
log of the cluster's whole life, or since a moment (`--since`): tests that ran on the same cluster before count too, but
for operators that may do everything. The last line is JSON.

The right to update `finalizers` is asked for by an admission plugin, for whoever makes an object that its owner waits
for; such a question is in no log. That it is asked, and refused without the right, has a test.

Packer and loader have no rights to balance: their pods are given no token, and none of them may be seen asking.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.drivers import audit_log
from harness.drivers.environment import Stage, stage
from harness.drivers.helm import CHART
from harness.drivers.operator_process import USER, Operator
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios import Scenario, all_scenarios
from harness.scenarios.driver import ScenarioDriver
from harness.scenarios.rbac_coverage import uses
from kubedl.entrypoints import smoke_test
from kubedl.entrypoints.operator import LEASE
from testbed import cluster_lock, locks, namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.controlplane import AUDITED, AUDITED_NAMESPACE
from testbed.errors import TestbedError
from testbed.faultproxy import AnswerAfterCommit, AnswerInstead, DelayEvents, FaultProxy, Match, MatchEvents
from testbed.instance import chosen_index
from testbed.pki import Identity

RULES = CHART / "files" / "rbac"
NAME = "kubedl-by-rights"
USER_FILE = f"{USER}-by-rights"  # its certificate has the operator's name and not its groups
OWN_NAMESPACE = "default"  # where an operator outside the cluster keeps its Lease
DEADLINE = 120.0  # seconds: scenarios are many at a time here
LATE = 3.0  # seconds
WIDTH = 4
REFUSED, MADE = 403, 201
MASTERS = "system:masters"
ACCOUNTS = "system:serviceaccount:"
NOBODY = ":default"  # the account of pods that have none of their own
WITHOUT_RIGHTS = ("builds", "servers")  # pods with packers, and with loaders


@dataclass(frozen=True, order=True)
class Right:
    """One verb on one kind of object."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


@dataclass(frozen=True)
class Process:
    """Of ours: the files of its rules, and how its user is called outside the cluster, and as an account in it."""

    name: str
    files: tuple[str, ...]
    user: str

    def asked(self, one: audit_log.Request) -> bool:
        """Whether it was this process, bound by its rights: many tests run it as one who may do everything."""
        account = one.user.startswith(f"{ACCOUNTS}{AUDITED_NAMESPACE}:{self.user}")
        return (account or one.user == self.user) and MASTERS not in one.groups


OPERATOR = Process("operator", ("operator", "operator-outside", "operator-efs", "operator-own"), USER)
SMOKE_TEST = Process("smoke-test", ("smoke-test",), "kubedl-smoke-test")
PROCESSES = (OPERATOR, SMOKE_TEST)


@dataclass(frozen=True)
class Balance:
    """What a process was granted, and what came of it."""

    process: str
    granted: frozenset[Right]
    used: frozenset[Right]
    refused: frozenset[Right]  # asked for and not granted

    @property
    def by_admission(self) -> frozenset[Right]:
        """Those that no log can show."""
        return frozenset(right for right in self.granted if right.resource.endswith("/finalizers"))

    @property
    def unused(self) -> list[Right]:
        """Granted and not used."""
        return sorted(self.granted - self.used - self.by_admission)


def kubeconfig(cluster: Cluster) -> Path:
    """Of the operator as a user that has the chart's rights in every namespace, and no others."""
    with locks.held(cluster.instance.lock(USER_FILE)):
        path = cluster.authority.kubeconfig(USER_FILE)
        if not path.exists():
            cluster.authority.issue(USER_FILE, Identity(USER, AUDITED))
        grant(cluster, NAME, rules("operator", "operator-outside", "operator-efs"), rules("operator-own"))
    return path


def grant(cluster: Cluster, name: str, everywhere: list[Any], own: list[Any], user: str = USER) -> None:
    """Give a user these rights: in every namespace, and where operators outside the cluster have their Lease."""
    api = "rbac.authorization.k8s.io"
    subjects = [{"kind": "User", "apiGroup": api, "name": user}]
    objects = []
    for kind, given, place in (("ClusterRole", everywhere, {}), ("Role", own, {"namespace": OWN_NAMESPACE})):
        head = {"apiVersion": f"{api}/v1", "metadata": {"name": name, **place}}
        bound = {"apiGroup": api, "kind": kind, "name": name}
        objects += [
            {**head, "kind": kind, "rules": given},
            {**head, "kind": f"{kind}Binding", "roleRef": bound, "subjects": subjects},
        ]
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=yaml.safe_dump_all(objects))


def rules(*files: str) -> list[Any]:
    """The rules of these files of the chart."""
    return [rule for file in files for rule in yaml.safe_load((RULES / f"{file}.yaml").read_text())]


def granted(given: Iterable[Any]) -> frozenset[Right]:
    """Rights, from rules of a role."""
    return frozenset(
        Right(group, resource, verb)
        for rule in given
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )


def balance(process: Process, asked: Iterable[audit_log.Request]) -> Balance:
    """Of one process, from what was asked on the cluster."""
    own = [one for one in asked if process.asked(one)]
    used = {Right(one.group, one.resource, one.verb) for one in own if one.code != REFUSED}
    # An object that is applied and was not there is created, and whoever applies must be allowed to.
    used |= {Right(one.group, one.resource, "create") for one in own if (one.verb, one.code) == ("patch", MADE)}
    return Balance(
        process.name,
        granted(rules(*process.files)),
        frozenset(used),
        frozenset(Right(one.group, one.resource, one.verb) for one in own if one.code == REFUSED),
    )


def table(balances: Iterable[Balance]) -> str:
    """For people."""
    lines = [f"{'process':10} {'granted':>8} {'used':>6} {'by admission':>13} {'granted - used':>15}"]
    for one in balances:
        used = len(one.granted & one.used)
        counts = f"{len(one.granted):8} {used:6} {len(one.by_admission):13} {len(one.unused):15}"
        lines += [f"{one.process:10} {counts}", *(f"  never used: {right}" for right in one.unused)]
        lines += [f"  refused: {right}" for right in sorted(one.refused - one.granted)]
    return "\n".join(lines)


@dataclass
class Played:
    """What came of the scenarios."""

    complaints: list[str] = field(default_factory=list)  # of those that failed
    pods: int = 0  # with packers or loaders, as the API server admitted them
    tokens: int = 0  # that they were given


def has_token(pod: Object) -> bool:
    """Whether a pod can ask for anything in somebody's name; admission has added a volume then."""
    sources = [
        source for one in pod["spec"].get("volumes") or () for source in (one.get("projected") or {}).get("sources", ())
    ]
    return any("serviceAccountToken" in source for source in sources)


def play(ready: Stage) -> Played:
    """Every scenario, each with an operator of these rights and no others."""
    kubeconfig(ready.cluster)
    plays, found = {**all_scenarios(), **dict(uses())}, Played()
    with ThreadPoolExecutor(WIDTH) as pool:
        list(pool.map(lambda name: _played(ready, name, plays[name], found), plays))
    # One that another test left would be taken, and not created.
    ready.cluster.api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{OWN_NAMESPACE}/leases/{LEASE}")
    with Operator(ready.cluster, kubeconfig=kubeconfig(ready.cluster), leader_election=True):
        _try_out(ready)
    return found


def _played(ready: Stage, name: str, scenario: Scenario, found: Played) -> None:
    with namespaces.fresh(ready.cluster.api, "rights") as namespace:
        arguments = ("--no-leader-election", "--namespace", namespace, "--node-grace-seconds", "5")
        with ProxiedOperator(ready, namespace, arguments, USER_FILE) as operator:
            _make_difficult(operator.proxy)
            operator.start()
            try:
                scenario(ScenarioDriver(ready.watcher, namespace, ready.node, deadline=DEADLINE, tend=operator.insist))
            except TestbedError as error:
                found.complaints.append(f"{name}: {error}")
        pods = [pod for kind in WITHOUT_RIGHTS for pod in ready.watcher.ever(kind, namespace).values()]
        found.pods += len(pods)
        found.tokens += sum(has_token(pod) for pod in pods)


def _try_out(ready: Stage) -> None:
    """`helm test`, outside the cluster: its job waits for a node and is taken away when its time is over."""
    user = SMOKE_TEST.user
    ready.cluster.authority.issue(user, Identity(user, AUDITED))
    grant(ready.cluster, user, rules("smoke-test"), [], user)
    with namespaces.fresh(ready.cluster.api, "rights") as namespace:
        told = ("--kubeconfig", str(ready.cluster.authority.kubeconfig(user)), "--namespace", namespace)
        smoke_test.main([*told, "--image", "none", "--seconds", "2"])


def _make_difficult(proxy: FaultProxy) -> None:
    """Rights for bad days are used on bad days: the first creation of each kind is done and called a failure, which
    the watch tells late; and a server that does not know how to begin a watch with what there is must be asked for
    lists.
    """
    for right in granted(rules("operator", "operator-outside", "operator-efs")):
        if right.verb == "create":
            proxy.inject(Match(verb="create", resource=right.resource), AnswerAfterCommit(504))
            proxy.inject(MatchEvents(type="ADDED", resource=right.resource), DelayEvents(LATE))
        elif right.verb == "watch":
            proxy.inject(Match(verb="watch", resource=right.resource), AnswerInstead(422))


def look(
    cluster: Cluster, since: audit_log.Moment = audit_log.EVER, processes: Sequence[Process] = PROCESSES
) -> tuple[list[Balance], dict[str, int]]:
    """What each process was granted and what came of it, and the same in figures."""
    asked = audit_log.requests(cluster, *(process.user for process in processes), ACCOUNTS, since=since)
    balances = [balance(process, asked) for process in processes]
    figures = {"asked by pods without rights": sum(_without_rights(one) for one in asked)}
    for one in balances:
        figures[f"{one.process} granted"] = len(one.granted)
        figures[f"{one.process} used"] = len(one.granted & one.used)
        figures[f"{one.process} by admission"] = len(one.by_admission)
        figures[f"{one.process} never used"] = len(one.unused)
        figures[f"{one.process} refused"] = len(one.refused - one.granted)
    return balances, figures


def _without_rights(one: audit_log.Request) -> bool:
    return one.user.startswith(ACCOUNTS) and one.user.endswith(NOBODY)


def main() -> int:
    """Play if asked to, then look."""
    parser = argparse.ArgumentParser(prog="python -m harness.experiments.rbac_audit", description=__doc__)
    parser.add_argument("--play", action="store_true", help="run every scenario first")
    parser.add_argument(
        "--since",
        type=datetime.datetime.fromisoformat,
        default=audit_log.EVER,
        help="what was asked before does not count: a moment with its zone, as in 2026-01-31T12:00:00Z",
    )
    arguments = parser.parse_args()
    played: dict[str, int] = {}
    with cluster_lock.borrowed(Cluster(chosen_index())) as cluster:
        if arguments.play:
            with stage(cluster) as ready:
                played = told(play(ready))
        balances, figures = look(cluster, arguments.since)
    print(table(balances), file=sys.stderr)
    print(json.dumps({**played, **figures}))
    return 0


def told(played: Played) -> dict[str, int]:
    """The figures of what was played; the complaints are for people."""
    print("\n".join(played.complaints), file=sys.stderr)
    failed = len(played.complaints)
    return {"scenarios that failed": failed, "pods without rights": played.pods, "tokens of theirs": played.tokens}


if __name__ == "__main__":
    sys.exit(main())
