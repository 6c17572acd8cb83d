"""Models that are packed, pushed and mounted for real."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import namespaces
from testbed.cluster import Cluster
from tests.e2e.training.checkpoints import USER
from tests.e2e.workspace import Workspace


@pytest.fixture
def open_workspace(cluster: Cluster) -> Iterator[Workspace]:
    """A namespace whose pods may mount directories of their node."""
    with namespaces.fresh(cluster.api, "e2e", {"pod-security.kubernetes.io/enforce": "privileged"}) as name:
        yield Workspace(cluster, name)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory of the machine, which all nodes see, with a model in it; its weights have a layer of their own."""
    tmp_path.chmod(0o755)
    (tmp_path / "variables").mkdir()
    (tmp_path / "weights.bin").write_bytes(os.urandom(5 << 20))
    (tmp_path / "variables" / "more.bin").write_bytes(os.urandom(2 << 20))
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A directory that pods may write to."""
    tmp_path.chmod(0o755)
    os.chown(tmp_path, USER, USER)
    return tmp_path
