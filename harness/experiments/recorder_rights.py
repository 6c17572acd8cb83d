"""Rights of the recorder: a recorder that has those of the chart and no others, on a bad day.

A server that does not know how to begin a watch with what there is must be asked for lists; a Lease that is gone must
be created. On good days neither right is used.
"""

import tempfile
from pathlib import Path

from harness.drivers.databases import create_tables
from harness.drivers.operator_process import kubeconfig_through
from harness.drivers.proxied_operator import proxy_as
from harness.drivers.recorder_process import USER, Recorder
from harness.experiments.rbac_audit import OWN_NAMESPACE, Process, grant, granted, rules
from kubedl.entrypoints.recorded_kinds import LEASE
from testbed.cluster import Cluster
from testbed.controlplane import AUDITED
from testbed.faultproxy import AnswerInstead, Match
from testbed.pki import Identity
from testbed.waiting import until

EVERYWHERE = ("recorder", "recorder-outside", "recorder-logs")
RECORDER = Process("recorder", (*EVERYWHERE, "recorder-own"), USER)
USER_FILE = f"{USER}-by-rights"  # its certificate has the recorder's name and not its groups


def play_bad_day(cluster: Cluster) -> None:
    """Let a recorder outside the cluster list every kind and create its Lease, with the chart's rights alone."""
    cluster.authority.issue(USER_FILE, Identity(USER, AUDITED))
    grant(cluster, USER_FILE, rules(*EVERYWHERE), rules("recorder-own"), USER)
    cluster.api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{OWN_NAMESPACE}/leases/{LEASE}")
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-recorder-rights-") as directory,
        proxy_as(cluster, USER_FILE) as proxy,
    ):
        place = Path(directory)
        url = f"sqlite:///{place / 'history.db'}"
        create_tables(url)
        followed = {right.resource for right in granted(rules(*EVERYWHERE)) if right.verb == "watch"}
        for resource in followed:
            proxy.inject(Match(verb="watch", resource=resource), AnswerInstead(422))

        def listed() -> bool:
            recorder.insist()
            if missing := followed - {call.resource for call in proxy.calls if call.verb == "list"}:
                raise TimeoutError(", ".join(sorted(missing)))
            return True

        kubeconfig = kubeconfig_through(cluster, proxy.url, place / "kubeconfig")
        with Recorder(cluster, url, place, "--lease-namespace", OWN_NAMESPACE, kubeconfig=kubeconfig) as recorder:
            until("every kind to be listed", listed, deadline=120)
