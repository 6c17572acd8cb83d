"""HTTP to the test bed's own addresses, past any proxy by which the machine reaches the world."""

import json
import urllib.request
from typing import Any

# For processes of the test bed: Go programs take an empty variable for no proxy.
NO_PROXIES = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), "")

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> bool:
    """Whether a probe's address answers 200; nobody there is an OSError."""
    with _opener.open(url, timeout=2) as response:
        return bool(response.status == 200)


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a JSON request."""
    with _opener.open(url, data=json.dumps(body).encode(), timeout=60) as response:
        answer: dict[str, Any] = json.load(response)
    return answer
