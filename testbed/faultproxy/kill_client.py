"""Kills the process at the other end of a local TCP connection.

The victim is found from the connection itself, so it cannot be a process that merely used the port before.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

Address = tuple[str, int]

_PROC = Path("/proc")


class VictimNotFoundError(Exception):
    """No process could be killed for a connection."""


def kill_peer(peer: Address, own: Address) -> None:
    """SIGKILL every process that holds the peer's end of the connection between `peer` and `own`."""
    inode = _inode_in_kernel(peer, own)
    victims = _holders(inode)
    if not victims:
        raise VictimNotFoundError(
            f"no visible process holds socket {inode} of {peer[0]}:{peer[1]}; run the client as the same user"
        )
    if os.getpid() in victims:
        raise VictimNotFoundError(
            f"{peer[0]}:{peer[1]} belongs to the process that runs the proxy; start the client as a process of its own"
        )
    for victim in victims:
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(victim, signal.SIGKILL)


def find_inode(table: str, local: Address, remote: Address) -> int | None:
    """Find a connection in the text of /proc/net/tcp or tcp6, as the end at `local` sees it."""
    wanted = (_table_address(local), _table_address(remote))
    for row in table.splitlines()[1:]:
        columns = row.split()
        # An IPv6 socket that talks IPv4 shows the same address at the end of a longer one.
        if (columns[1][-13:], columns[2][-13:]) == wanted:
            return int(columns[9])
    return None


def _inode_in_kernel(peer: Address, own: Address) -> int:
    for table in ("tcp", "tcp6"):
        inode = find_inode((_PROC / "net" / table).read_text(), peer, own)
        # The kernel shows inode 0 for a socket that no process holds any more.
        if inode:
            return inode
    raise VictimNotFoundError(
        f"/proc/net/tcp has no open connection from {peer[0]}:{peer[1]}; run the client on this machine, and "
        "keep its connection open until the answer"
    )


def _table_address(address: Address) -> str:
    host, port = address
    # The kernel prints the address as a number in the byte order of the machine, here little-endian.
    return f"{bytes(map(int, reversed(host.split('.')))).hex().upper()}:{port:04X}"


def _holders(inode: int) -> list[int]:
    link = f"socket:[{inode}]"
    return [int(process.name) for process in _PROC.iterdir() if process.name.isdigit() and _holds(process, link)]


def _holds(process: Path, link: str) -> bool:
    # A process may end, and another user's may not be read: neither is the one.
    with suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with suppress(FileNotFoundError):
                if str(descriptor.readlink()) == link:
                    return True
    return False
