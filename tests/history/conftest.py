"""Tests of the history on real databases. Each server and its schema is shared; each test has a cluster of its own."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from harness.drivers.databases import SERVERS, Database
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.migrate import migrate

DATABASES = ("sqlite", "postgresql", "mariadb")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs a server on SQLite, which has none."""
    without = [
        item
        for item in items
        if isinstance(item, pytest.Function)
        and "real_server" in item.fixturenames
        and item.callspec.params["server"] not in SERVERS
    ]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


@pytest.fixture(scope="session", params=DATABASES)
def server(request: pytest.FixtureRequest) -> Iterator[Database | None]:
    """A database server of every family in turn; SQLite has none."""
    if request.param not in SERVERS:
        yield None
        return
    with SERVERS[request.param]() as running:
        yield running


@pytest.fixture(scope="session")
def database_url(server: Database | None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with the current schema."""
    url = server.url() if server is not None else f"sqlite:///{tmp_path_factory.mktemp('history') / 'history.db'}"
    asyncio.run(_migrated(url))
    return url


@pytest.fixture
def real_server(server: Database | None) -> Database:
    """A server that can be killed."""
    if server is None:
        raise AssertionError("left out on SQLite")
    return server


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine of the database."""
    created = create_engine(parse_url(database_url))
    yield created
    await created.dispose()


@pytest.fixture
def cluster() -> str:
    """A name that no other test uses."""
    return f"cluster-{uuid.uuid4().hex[:12]}"


async def _migrated(url: str) -> None:
    created = create_engine(parse_url(url))
    await migrate(created)
    await created.dispose()
