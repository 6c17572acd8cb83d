"""Connections on which nothing may come for hours, such as a log that is followed."""

import socket

# Each option may have another name in another operating system: macOS has no TCP_KEEPIDLE.
OPTIONS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("TCP_KEEPIDLE", "TCP_KEEPALIVE"), 30),
    (("TCP_KEEPINTVL",), 10),
    (("TCP_KEEPCNT",), 3),
)


def keep_alive(connected: socket.socket) -> None:
    """Let the kernel ask after a peer that has been silent: a log may rightly be."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for names, value in OPTIONS:
        if name := next((name for name in names if hasattr(socket, name)), ""):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
