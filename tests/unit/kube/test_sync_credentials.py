"""Credentials of the client without a loop that change while it runs."""

import json
from pathlib import Path

from kubedl.kube.sync_credentials import Overrides, load
from testbed.pki import Authority
from tests.unit.kube.test_sync_client import Write, write

__all__ = ["write"]


def test_a_certificate_of_a_plugin_is_replaced_when_it_ends(write: Write, tmp_path: Path, authority: Authority) -> None:
    """Some are good for minutes, and a client in a notebook for days."""
    answer = tmp_path / "answer"

    def give(name: str) -> None:
        certificate, key = (path.read_text() for path in authority.files(name))
        status = {"clientCertificateData": certificate, "clientKeyData": key}
        answer.write_text(json.dumps({"status": {**status, "expirationTimestamp": "2020-01-01T00:00:00Z"}}))

    user = {"exec": {"command": "cat", "args": [str(answer)]}}
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": str(authority.certificate)}
    credentials = load(Overrides(kubeconfig=write(user, cluster)))
    give("admin")
    first = credentials.context()
    assert credentials.context() is first  # of the same certificate, so connections are kept
    give("kube-apiserver")
    assert credentials.context() is not first
