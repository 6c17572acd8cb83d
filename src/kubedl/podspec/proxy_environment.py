"""Proxy settings for registry access in the pods that the operator creates."""

from collections.abc import Mapping

import structlog

log = structlog.get_logger()

PROXIES = ("HTTPS_PROXY", "NO_PROXY")


def proxy_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the operator's own proxy settings. URLs with a password are omitted: users may read pods."""
    found = {name: environment.get(name) or environment.get(name.lower(), "") for name in PROXIES}
    if "@" in found["HTTPS_PROXY"]:
        log.warning("HTTPS_PROXY has a password and is not passed on to pods, where users could read it")
        return {}
    return {name: value for name, value in found.items() if value}
