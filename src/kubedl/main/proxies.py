"""The proxies by which registries are reached, for the pods that the operator makes."""

from collections.abc import Mapping

import structlog

log = structlog.get_logger()

PROXIES = ("HTTPS_PROXY", "NO_PROXY")


def proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """The operator's own, for pods in the same network. A password stays here: people may read pods."""
    found = {name: environment.get(name) or environment.get(name.lower(), "") for name in PROXIES}
    if "@" in found["HTTPS_PROXY"]:
        log.warning("pods are not told of HTTPS_PROXY, which has a password that everybody would see")
        return {}
    return {name: value for name, value in found.items() if value}
