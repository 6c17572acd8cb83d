"""An API server behind a CA without key usage and key identifiers, and certificates replaced under a running operator.

A TLS front stands before the real API server: it shows certificates of that CA, and takes its client certificates only.
"""

import json
import ssl
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness.drivers import audit_log
from harness.drivers.operator_process import USER, Operator
from harness.drivers.tls_front import TLSFront
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.authorities import BareAuthority, served_by, written
from tests.e2e.install.jobs import Team, job

ROTATIONS = 6
BATCH = 8  # jobs created at each
CREATED = ("create", "pods", 201)
REFUSED = "CERTIFICATE_VERIFY_FAILED"


class Files:
    """The kubeconfig of an operator and the certificates that it names."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.kubeconfig = directory / "kubeconfig"

    def point_at(self, server: str) -> None:
        """Write the kubeconfig, once: later only the files that it names are replaced."""
        config = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": {"client-certificate": "client.crt", "client-key": "client.key"}}],
        }
        self.kubeconfig.write_text(json.dumps(config))

    def put(self, authority: BareAuthority) -> None:
        """Trust this authority, and be somebody whom it knows."""
        (self._directory / "ca.crt").write_bytes(authority.certificate)
        written(authority.issue("operator"), self._directory, "client")


def shown(authority: BareAuthority, directory: Path) -> ssl.SSLContext:
    """A server of this authority, which takes clients of this authority and no others."""
    return served_by(authority, directory, clients=authority)


def test_the_operator_is_ready_behind_a_bare_authority(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """With the Python of the tests; the one of the image is tried where the image is installed (tests/e2e/install)."""
    authority, files = BareAuthority.create(), Files(tmp_path)
    files.put(authority)
    with TLSFront(cluster, shown(authority, tmp_path), user=USER) as front:
        files.point_at(front.url)
        with Operator(cluster, kubeconfig=files.kubeconfig, arguments=("--namespace", namespace), directory=tmp_path):
            team = Team(cluster, namespace)
            team.create(job("one", "none"))
            until("its pod", lambda: "one-master-0" in team.lives(), deadline=60)


def test_certificates_are_replaced_under_a_running_operator(
    cluster: Cluster, namespace: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Jobs are created meanwhile: each gets its pod, once, and none fails; the operator is not started anew.

    The files are replaced before the server in every other turn; else after the operator has met the new server, as
    where a kubelet is late.
    """
    authority, files, since = BareAuthority.create(), Files(tmp_path), audit_log.now()
    files.put(authority)
    team, names = Team(cluster, namespace), [f"job-{number}" for number in range(ROTATIONS * BATCH)]
    with TLSFront(cluster, shown(authority, tmp_path), user=USER) as front:
        files.point_at(front.url)
        with Operator(
            cluster, kubeconfig=files.kubeconfig, arguments=("--namespace", namespace), directory=tmp_path
        ) as operator:
            process = operator.pid
            for turn in range(ROTATIONS):
                authority, said = BareAuthority.create(), len(operator.log())
                if turn % 2 == 0:
                    files.put(authority)
                team.create(*(job(name, "none") for name in names[turn * BATCH : (turn + 1) * BATCH]))
                front.show(shown(authority, tmp_path))
                if turn % 2:
                    until("a refusal", partial(_refused, operator, said), deadline=60)
                    files.put(authority)
                until("the operator to have the new ones", partial(_replaced, operator, turn + 1), deadline=60)
            pods = {f"{name}-master-0" for name in names}
            until("all pods", lambda: set(team.lives()) == pods, deadline=60)
            until("all states", lambda: not team.states()["New"], deadline=60)
            operator.insist()
            assert operator.pid == process
    assert not team.states()["Failed"]
    writes = [write for write in audit_log.writes(cluster, USER, since) if write.namespace == namespace]
    made = Counter(write.name for write in writes if (write.verb, write.resource, write.code) == CREATED)
    record_property("jobs", len(names))
    record_property("made twice", sum(count > 1 for count in made.values()))
    # A creation that was cut off may have been done and be recorded as a failure: then nothing was made in its place.
    assert max(made.values()) == 1
    assert not [write for write in writes if (write.verb, write.resource) == ("delete", "pods")]


def _refused(operator: Operator, said: int) -> bool:
    """Whether the operator has met a server that it does not trust, since its log had so many characters."""
    return REFUSED in operator.log()[said:]


def _replaced(operator: Operator, times: int) -> bool:
    """Whether the operator has changed its certificates so often."""
    return operator.log().count("certificates were replaced") >= times
