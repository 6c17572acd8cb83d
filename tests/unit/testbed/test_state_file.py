"""A record says that a cluster is complete, so it must exist whole or not at all."""

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.state_file import FILE, Record

CONTROL_PLANE = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
DAEMONS = ("holder", "containerd", "kubelet", "kube-proxy")
RECORD = Record("fingerprint", nodes=2, kwok=100, keep=False, beside=("traefik",))


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    RECORD.write(tmp_path)
    assert Record.read(tmp_path) == RECORD


def test_missing_record_means_no_cluster(tmp_path: Path) -> None:
    """Neither an empty state directory nor a missing one is an error: there is just nothing to reuse."""
    assert Record.read(tmp_path) is None
    assert Record.read(tmp_path / "missing") is None


def test_half_written_record_is_no_record(tmp_path: Path) -> None:
    """A launcher killed in the middle of writing leaves only the scratch file."""
    (tmp_path / f"{FILE}.partial").write_text('{"fingerprint": "fing')
    assert Record.read(tmp_path) is None


def test_half_written_record_is_replaced_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    (tmp_path / f"{FILE}.partial").write_text('{"fingerprint": "fing' * 100)
    RECORD.write(tmp_path)
    assert Record.read(tmp_path) == RECORD
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_failed_write_leaves_the_record_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk must not turn a running cluster into an unknown one."""
    RECORD.write(tmp_path)

    def full(path: Path, text: str) -> int:
        path.write_bytes(text[:5].encode())
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        replace(RECORD, nodes=3).write(tmp_path)
    assert Record.read(tmp_path) == RECORD


def test_record_of_other_code_is_not_an_error(tmp_path: Path) -> None:
    """The fingerprint is there to notice a cluster of older code; it is never reached if reading fails."""
    (tmp_path / FILE).write_text('{"fingerprint": "of older code", "node_grace": 8, "gone": 1}')
    record = Record.read(tmp_path)
    assert record is None or record.fingerprint == "of older code"


@pytest.mark.parametrize(
    ("nodes", "kwok", "beside"),
    [
        (0, 0, set()),
        (0, 5, {"kwok"}),
        (1, 0, {"coredns", "registry", *(f"node1/{daemon}" for daemon in DAEMONS)}),
        (
            2,
            5,
            {"kwok", "coredns", "registry", *(f"node{number}/{daemon}" for number in (1, 2) for daemon in DAEMONS)},
        ),
    ],
)
def test_components_follow_the_shape(nodes: int, kwok: int, beside: set[str]) -> None:
    """A cluster is whole if exactly these run, so one too many or too few would rebuild it each time."""
    assert CONTROL_PLANE | beside == Record("fingerprint", nodes=nodes, kwok=kwok).components()


def test_what_stands_beside_a_cluster_is_a_part_of_it() -> None:
    """Else a cluster with a gateway would count as broken, and be built anew."""
    assert CONTROL_PLANE | {"traefik"} == Record("fingerprint", beside=("traefik",)).components()
