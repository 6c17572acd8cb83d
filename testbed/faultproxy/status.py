"""Failures in the form in which the API server reports them.

Clients decide by code and reason; both are always those the API server itself would send together.
"""

import json

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def failure(code: int, message: str, retry_after: int | None = None) -> dict[str, object]:
    """Build a Status object that reports a failure."""
    status: dict[str, object] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": _REASONS.get(code, "Unknown"),
        "code": code,
    }
    if retry_after is not None:
        status["details"] = {"retryAfterSeconds": retry_after}
    return status


def gone_event() -> bytes:
    """Build the line with which a watch says that its resource version is too old."""
    event = {"type": "ERROR", "object": failure(410, "too old resource version: 1 (2)")}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"
