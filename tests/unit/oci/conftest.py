"""A registry in memory, a model on disk, and no waiting."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubedl.models.pack_protocol import PackRequest
from kubedl.oci.credentials import RegistryCredentials
from kubedl.oci.reference import parse_reference
from kubedl.oci.registry import Registry
from tests.unit.oci.fake_registry import FakeRegistry, serving

Connect = Callable[..., Registry]


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    """Listening."""
    registry = FakeRegistry()
    with serving(registry):
        yield registry


class Clock:
    """Time that passes when somebody says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def pass_by(self, seconds: float) -> None:
        """A pause that takes none of ours."""
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    """The clients' clock."""
    return Clock()


@pytest.fixture
def connect(fake: FakeRegistry, clock: Clock) -> Iterator[Connect]:
    """A client whose pauses take no time and move its clock."""
    opened: list[Registry] = []

    def connected(login: RegistryCredentials | None = None) -> Registry:
        address = parse_reference(f"{fake.address}/team/model", "v1")
        opened.append(Registry(address, login, insecure=True, clock=lambda: clock.now, pause=clock.pass_by))
        return opened[-1]

    yield connected
    for registry in opened:
        with registry:
            pass


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small model with a file in a directory that is just large enough for a layer of its own."""
    root = tmp_path / "model"
    (root / "variables").mkdir(parents=True)
    (root / "saved_model.pb").write_bytes(b"graph" * 1000)
    (root / "variables" / "weights").write_bytes(bytes(range(256)) * 16_400)
    return root


@pytest.fixture
def order(fake: FakeRegistry, model: Path) -> PackRequest:
    """To pack it."""
    return PackRequest(str(model), f"{fake.address}/team/model", "v1", "ns", "resnet", "mv-1", insecure=True)
