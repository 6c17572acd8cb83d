"""A release is complete and says so."""

import hashlib
from pathlib import Path

import yaml

from devtools import release
from kubedl.entrypoints.cluster_report import OLDEST


def test_chart_and_package_have_one_version() -> None:
    chart = yaml.safe_load((release.CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == release.version()


def test_chart_and_operator_accept_the_same_kubernetes() -> None:
    chart = yaml.safe_load((release.CHART / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={OLDEST[0]}.{OLDEST[1]}.0-0"


def test_every_file_has_a_checksum(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("two")
    (tmp_path / "a").write_text("one")
    (tmp_path / "SHA256SUMS").write_text("of an older release")
    one, two = (hashlib.sha256(text).hexdigest() for text in (b"one", b"two"))
    assert release.checksums(tmp_path) == f"{one}  a\n{two}  b\n"
