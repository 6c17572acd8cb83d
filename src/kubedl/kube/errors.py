"""Typed errors of the API server."""

from kubedl.kube import codec
from kubedl.kube.types.meta import Record


class ApiError(Exception):
    """The server rejected the request."""

    def __init__(self, code: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{code} {reason}: {message}" if reason else f"{code}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes: tuple[StatusCause, ...] = ()


class NotFoundError(ApiError):
    """The object or its kind does not exist."""


class AlreadyExistsError(ApiError):
    """An object with this name already exists."""


class ConflictError(ApiError):
    """The object changed since it was read, or has another uid."""


class GoneError(ApiError):
    """The requested resource version is no longer available: list again."""


class InvalidError(ApiError):
    """The object violates its schema or an admission policy; sending it again will not help."""


class ForbiddenError(ApiError):
    """Forbidden by RBAC, by a quota, or by an admission policy."""


class NamespaceTerminatingError(ForbiddenError):
    """The namespace is terminating: nothing can be created in it."""


class UnauthorizedError(ApiError):
    """The credentials are invalid or expired."""


class TooManyRequestsError(ApiError):
    """The server is overloaded and asks to retry later; it has processed nothing."""


class UnknownOutcomeError(ApiError):
    """The server failed or did not respond: it is unknown whether a write was committed."""


class StatusCause(Record, frozen=True):
    """One cause in a Status."""

    reason: str = ""
    field: str = ""
    message: str = ""


class StatusDetails(Record, frozen=True):
    """The object that a Status is about."""

    causes: tuple[StatusCause, ...] = ()


class Status(Record, frozen=True):
    """The body of an error response."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


_TERMINATING = "NamespaceTerminating"
_BY_REASON: dict[str, type[ApiError]] = {
    "NotFound": NotFoundError,
    "AlreadyExists": AlreadyExistsError,
    "Conflict": ConflictError,
    "Expired": GoneError,
    "Gone": GoneError,
    "Invalid": InvalidError,
    "Forbidden": ForbiddenError,
    "Unauthorized": UnauthorizedError,
    "TooManyRequests": TooManyRequestsError,
}
_BY_CODE: dict[int, type[ApiError]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    413: InvalidError,
    422: InvalidError,
    429: TooManyRequestsError,
}


def error_from_response(code: int, body: bytes, retry_after: float | None = None) -> ApiError:
    """Return the error for a response; a body that is not a Status is quoted."""
    try:
        status = codec.decode(body, Status)
    except codec.UNREADABLE:
        status = Status(message=body[:200].decode(errors="replace").strip())
    code = status.code or code
    if status.details is not None and any(cause.reason == _TERMINATING for cause in status.details.causes):
        return NamespaceTerminatingError(code, status.reason, status.message, retry_after)
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(code)
    if kind is None:
        kind = UnknownOutcomeError if code >= 500 else ApiError
    error = kind(code, status.reason, status.message, retry_after)
    error.causes = status.details.causes if status.details is not None else ()
    return error
