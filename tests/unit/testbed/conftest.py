"""Fixtures for the tests of the test bed's own parts."""

from pathlib import Path

import pytest

from testbed.instance import Instance
from testbed.pki import Authority


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test's own: nothing of a test bed that runs here is seen or touched."""
    home = tmp_path / "home"
    monkeypatch.setenv("KUBEDL_TESTBED_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The certificates of instance 7, in a home that no test changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBEDL_TESTBED_HOME", str(tmp_path_factory.mktemp("home")))
        return Authority.create(Instance(7))
