"""What guards the browser: headers on every answer, and proof that a change was asked for by this page. Pure."""

import secrets
from collections.abc import Mapping

from kubedl.console.problems import RefusalError

MARK = "X-KubeDL-Console"  # a form of another site cannot send it
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

FIXED: Mapping[str, str] = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "kubedl",
    "Strict-Transport-Security": "max-age=31536000",
    "X-Content-Type-Options": "nosniff",
}


def new_nonce() -> str:
    """Return a nonce for one answer."""
    return secrets.token_urlsafe(16)


def content_policy(nonce: str) -> str:
    """Return the policy of a page: everything from its own origin, styles of libraries by nonce, nothing inline."""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    )


def check_origin(method: str, host: str, headers: Mapping[str, str]) -> None:
    """Refuse a change that another site may have asked for."""
    if method in SAFE:
        return
    origin = headers.get("Origin", "")
    foreign = origin and origin.partition("://")[2] != host
    if foreign or headers.get("Sec-Fetch-Site", "same-origin") != "same-origin" or headers.get(MARK) != "1":
        raise RefusalError(
            403,
            "request refused",
            "it did not come from a page of this console",
            f"Programs send the header {MARK}: 1 and no Origin of another site.",
        )


def check_host(host: str, port: int) -> None:
    """Refuse names that another site may have pointed at this machine; for consoles on loopback."""
    name, _, given = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if name not in LOOPBACK or given != str(port):
        raise RefusalError(421, "request refused", f"this console is not {host}", f"Open http://127.0.0.1:{port}")
