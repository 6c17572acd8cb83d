"""Selects the proxy for a host: HTTPS_PROXY and NO_PROXY, as Go and curl interpret them.

NO_PROXY is a list of host names, domains with or without a leading dot or `*.`, IP addresses, and networks in CIDR
notation, each with an optional port; `*` matches every host. Networks match hosts that are written as addresses: names
are not resolved.
"""

import ipaddress
import urllib.request
from urllib.parse import SplitResult, urlsplit


def proxy_for(scheme: str, host: str) -> SplitResult | None:
    """Return the proxy for a host, which may have a port."""
    known = urllib.request.getproxies()
    found = known.get(scheme)
    if not found or bypasses(known.get("no", ""), host):
        return None
    return urlsplit(found if "//" in found else f"//{found}")


def bypasses(no_proxy: str, host: str) -> bool:
    """Return whether a host is reached without a proxy."""
    parts = urlsplit(f"//{host}")
    name = (parts.hostname or "").rstrip(".")
    return any(_matches(entry.strip().lower(), name, host.lower()) for entry in no_proxy.split(","))


def _matches(entry: str, name: str, host: str) -> bool:
    if not entry or entry == "*":
        return bool(entry)
    try:
        return ipaddress.ip_address(name) in ipaddress.ip_network(entry, strict=False)
    except ValueError:  # one of them is a name
        domain = entry.removeprefix("*").removeprefix(".")
        return bool(domain) and any(one == domain or one.endswith(f".{domain}") for one in (name, host))
