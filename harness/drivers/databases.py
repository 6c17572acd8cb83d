"""Real databases for tests: Debian's PostgreSQL and MariaDB, each in a temporary directory, on a loopback port.

Both refuse to run as root, so as root they run as the users that their packages create.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from harness.drivers.operator_process import free_port
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.migrate import migrate
from testbed.waiting import until

DEADLINE = 60.0


class Database:
    """A database server of its own. `with Postgres() as database:` starts it, and removes its files at the end."""

    user = ""  # of the system, if this process is root

    def __init__(self, *settings: str) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="kubedl-database-"))
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            owner = pwd.getpwnam(self.user)
            os.chown(self.directory, owner.pw_uid, owner.pw_gid)
        try:
            self._create()
            self.start()
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def log(self) -> str:
        """What the server printed."""
        file = self.directory / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def url(self, name: str = "history") -> str:
        """The address of a database of this server."""
        raise NotImplementedError

    def create(self, name: str) -> str:
        """Create a database; returns its address."""
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, statement: str, database: str = "") -> str:
        """Run SQL with the server's own client; returns what it prints."""
        raise NotImplementedError

    def read_only(self, *, on: bool) -> None:
        """Refuse writes, as a replica does, or accept them again."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(self._as_user(self._command()), stdout=log, stderr=log)
        until(f"{type(self).__name__} to answer", self._answers, deadline=DEADLINE, interval=0.05)

    def revive(self) -> None:
        """Start the server again if it has ended by itself, or stopped answering."""
        try:
            self.execute("SELECT 1")
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            self.kill()
            self.start()

    def stop(self) -> None:
        """Shut down in good order."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill the server, as a power failure would."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        children: list[int] = []
        if how is signal.SIGKILL and self._process.poll() is None:
            # Stopped first, so that it starts no child in place of a dead one, which would keep the next server out.
            _signal(self._process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            children = _children(self._process.pid)
            for child in children:
                _signal(child, how)
        _signal(self._process.pid, how)
        self._process.wait(DEADLINE)
        until("its children to end", lambda: not any(map(_lives, children)), deadline=DEADLINE, interval=0.01)
        self._process = None

    def _answers(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise AssertionError(f"the database ended:\n{self.log}")
        try:
            self.execute("SELECT 1")
        except subprocess.CalledProcessError:
            return False
        return True

    def _as_user(self, command: Sequence[str]) -> list[str]:
        if os.geteuid() != 0:
            return list(command)
        return ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", *command]

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            self._as_user(command), capture_output=True, text=True, check=True, cwd="/", timeout=DEADLINE
        )
        return done.stdout

    def _create(self) -> None:
        raise NotImplementedError

    def _prepare(self) -> None:
        raise NotImplementedError

    def _command(self) -> list[str]:
        raise NotImplementedError


class Postgres(Database):
    """PostgreSQL."""

    user = "postgres"

    def url(self, name: str = "history") -> str:
        """The address, over TCP."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def execute(self, statement: str, database: str = "postgres") -> str:
        """Run SQL with psql."""
        place = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", database or "postgres"]
        return self._run(_postgres("psql"), *place, "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-c", statement)

    def read_only(self, *, on: bool) -> None:
        """Refuse writes, as a replica does, or accept them again."""
        wanted = "on" if on else "off"
        self.execute(f"ALTER SYSTEM SET default_transaction_read_only = {wanted}")
        self.execute("SELECT pg_reload_conf()")
        # The server reads its settings in its own time, and tells its older connections before it takes a new one.
        until(
            f"writes to be {'refused' if on else 'accepted'}",
            lambda: self.execute("SHOW default_transaction_read_only").strip() == wanted,
            deadline=DEADLINE,
            interval=0.05,
        )

    def _create(self) -> None:
        data = str(self.directory / "data")
        self._run(_postgres("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")

    def _prepare(self) -> None:
        self.create("history")

    def _command(self) -> list[str]:
        settings = ["listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={self.directory}"]
        settings += ["shared_buffers=128MB", "max_connections=40", *self._settings]
        options = [part for setting in settings for part in ("-c", setting)]
        return [_postgres("postgres"), "-D", str(self.directory / "data"), *options]


class MariaDB(Database):
    """MariaDB."""

    user = "mysql"

    def url(self, name: str = "history") -> str:
        """The address, over TCP."""
        return f"mysql://kubedl:kubedl@127.0.0.1:{self.port}/{name}?charset=utf8mb4"

    def execute(self, statement: str, database: str = "") -> str:
        """Run SQL with the client, as the owner of the server."""
        place = ["--socket", str(self.directory / "socket"), *([database] if database else [])]
        return self._run("mariadb", "--no-defaults", *place, "--batch", "--skip-column-names", "-e", statement)

    def create(self, name: str) -> str:
        """Create a database; its user may do everything in it, and nothing with the server."""
        self.execute(f"CREATE DATABASE {name}; GRANT ALL ON {name}.* TO kubedl@'%'")
        return self.url(name)

    def read_only(self, *, on: bool) -> None:
        """Refuse writes, as a replica does, or accept them again."""
        self.execute(f"SET GLOBAL read_only = {int(on)}")

    def stop(self) -> None:
        """Shut down in good order."""
        self._end(signal.SIGTERM)

    def _create(self) -> None:
        # With a directory for temporary tables of its own, as below.
        place = [f"--datadir={self.directory / 'data'}", f"--tmpdir={self.directory}"]
        as_user = ["--auth-root-authentication-method=socket", f"--auth-root-socket-user={_name()}"]
        self._run("mariadb-install-db", "--no-defaults", *place, *as_user, "--skip-test-db")

    def _prepare(self) -> None:
        self.execute("CREATE USER kubedl@'%' IDENTIFIED BY 'kubedl'")
        self.create("history")

    def _command(self) -> list[str]:
        place = [f"--datadir={self.directory / 'data'}", f"--socket={self.directory / 'socket'}"]
        place += [f"--pid-file={self.directory / 'pid'}", f"--port={self.port}", "--bind-address=127.0.0.1"]
        # Not the shared /tmp: a server that starts deletes the temporary tables of all others there.
        place += [f"--tmpdir={self.directory}"]
        settings = ["innodb-buffer-pool-size=128M", "innodb-log-file-size=96M", *self._settings]
        return ["/usr/sbin/mariadbd", "--no-defaults", *place, *(f"--{setting}" for setting in settings)]


# Without waiting for the disk: a killed server loses nothing by that, only a machine without power does.
SERVERS: dict[str, Callable[[], Database]] = {
    "postgresql": lambda: Postgres("fsync=off"),
    "mariadb": lambda: MariaDB(
        "innodb-flush-log-at-trx-commit=2", "innodb-doublewrite=0", "innodb-flush-method=nosync"
    ),
}


def create_tables(url: str) -> None:
    """Create the history's tables, as `kubedl recorder migrate` does."""

    async def migrated() -> None:
        engine = create_engine(parse_url(url))
        await migrate(engine)
        await engine.dispose()

    asyncio.run(migrated())


def _name() -> str:
    """The user that the server and its client run as."""
    return MariaDB.user if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


def _postgres(program: str) -> str:
    """The newest installed PostgreSQL; Debian keeps the server's programs out of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda path: int(path.parts[4]))
    return str(found[-1]) if found else program


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _signal(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return
