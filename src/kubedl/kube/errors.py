"""What the API server refuses, as types that a caller can tell apart."""

from kubedl.wire import codec
from kubedl.wire.meta import Record


class ApiError(Exception):
    """The server answered, and the answer is no."""

    def __init__(self, code: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{code} {reason}: {message}" if reason else f"{code}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


class NotFoundError(ApiError):
    """No such object, or no such kind."""


class AlreadyExistsError(ApiError):
    """An object of that name exists."""


class ConflictError(ApiError):
    """The object changed since it was read, or is not the one that was meant (uid)."""


class GoneError(ApiError):
    """The history that was asked for is no longer kept: list again."""


class InvalidError(ApiError):
    """The object breaks a rule of its schema or of an admission policy; sending it again will not help."""


class ForbiddenError(ApiError):
    """The role does not allow it, a quota is used up, or an admission policy refuses."""


class UnauthorizedError(ApiError):
    """The credentials are not known (any more)."""


class BusyError(ApiError):
    """The server asks to come back later; it has done nothing."""


class UnsureError(ApiError):
    """The server failed or went silent: whether a write happened is not known."""


class Status(Record, frozen=True):
    """The body of a refusal."""

    code: int = 0
    reason: str = ""
    message: str = ""


_BY_REASON: dict[str, type[ApiError]] = {
    "NotFound": NotFoundError,
    "AlreadyExists": AlreadyExistsError,
    "Conflict": ConflictError,
    "Expired": GoneError,
    "Gone": GoneError,
    "Invalid": InvalidError,
    "Forbidden": ForbiddenError,
    "Unauthorized": UnauthorizedError,
    "TooManyRequests": BusyError,
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
    429: BusyError,
}


def refusal(code: int, body: bytes, retry_after: float | None = None) -> ApiError:
    """The error that an answer means; a body that is not a Status is quoted."""
    try:
        status = codec.decode(body, Status)
    except codec.UNREADABLE:
        status = Status(message=body[:200].decode(errors="replace").strip())
    code = status.code or code
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(code)
    if kind is None:
        kind = UnsureError if code >= 500 else ApiError
    return kind(code, status.reason, status.message, retry_after)
