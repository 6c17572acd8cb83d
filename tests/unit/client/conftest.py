"""A client and the stand-in server that it talks to."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from kubedl.client import TrainingClient
from kubedl.kube.sync_credentials import Overrides
from tests.unit.client.api_server import ApiServer, serving
from tests.unit.client.both_clients import InLoop


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """An API server; whatever the machine knows about other clusters does not count."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("HTTPS_PROXY", "https_proxy", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    with serving(ApiServer()) as served:
        yield served


@pytest.fixture(params=["threads", "event loop"])
def client(api: ApiServer, request: pytest.FixtureRequest) -> Iterator[TrainingClient]:
    """Each client in turn: what passes with one must pass with the other."""
    kind = TrainingClient if request.param == "threads" else cast("type[TrainingClient]", InLoop)
    with kind(namespace="team", overrides=Overrides(server=api.url)) as made:
        yield made
