"""Connections on which nothing may come for hours, such as a log that is followed."""

from socket import IPPROTO_TCP, SO_KEEPALIVE, SOL_SOCKET, TCP_KEEPCNT, TCP_KEEPIDLE, TCP_KEEPINTVL, socket


def keep_alive(connected: socket) -> None:
    """Let the kernel ask after a peer that has been silent: a log may rightly be."""
    connected.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
    for option, value in ((TCP_KEEPIDLE, 30), (TCP_KEEPINTVL, 10), (TCP_KEEPCNT, 3)):
        connected.setsockopt(IPPROTO_TCP, option, value)
