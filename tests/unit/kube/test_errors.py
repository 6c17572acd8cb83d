"""What an answer means, whoever wrote it."""

import pytest

from kubedl.kube import codec, errors
from kubedl.kube.errors import ApiError, error_from_response


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.InvalidError),
        (401, "Unauthorized", errors.UnauthorizedError),
        (403, "Forbidden", errors.ForbiddenError),
        (404, "NotFound", errors.NotFoundError),
        (405, "MethodNotAllowed", ApiError),
        (409, "AlreadyExists", errors.AlreadyExistsError),
        (409, "Conflict", errors.ConflictError),
        (410, "Expired", errors.GoneError),
        (410, "Gone", errors.GoneError),
        (413, "RequestEntityTooLarge", errors.InvalidError),
        (422, "Invalid", errors.InvalidError),
        (429, "TooManyRequests", errors.TooManyRequestsError),
        (500, "InternalError", errors.UnknownOutcomeError),
        (503, "ServiceUnavailable", errors.UnknownOutcomeError),
        (504, "Timeout", errors.UnknownOutcomeError),
    ],
)
def test_each_refusal_has_its_type(code: int, reason: str, expected: type[ApiError]) -> None:
    error = error_from_response(code, codec.encode({"code": code, "reason": reason, "message": "why"}))
    assert type(error) is expected
    assert (error.code, error.reason, error.message) == (code, reason, "why")
    assert str(error) == f"{code} {reason}: why"


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (502, b"<html>Bad gateway</html>", errors.UnknownOutcomeError),
        (404, b"404 page not found\n", errors.NotFoundError),
        (429, b"", errors.TooManyRequestsError),
        (401, b"\xff\xfe", errors.UnauthorizedError),
        (403, b"null", errors.ForbiddenError),
        (500, b'{"code": "many", "message": 7}', errors.UnknownOutcomeError),
    ],
)
def test_a_body_that_is_no_status_is_judged_by_its_code(code: int, body: bytes, expected: type[ApiError]) -> None:
    """Proxies and load balancers answer in their own words."""
    assert type(error_from_response(code, body)) is expected


def test_a_body_that_is_no_status_is_quoted() -> None:
    assert str(error_from_response(502, b"<html>Bad gateway</html>\n")) == "502: <html>Bad gateway</html>"
    assert len(error_from_response(502, b"x" * 5_000_000).message) == 200


def test_a_namespace_that_is_being_deleted_is_told_apart() -> None:
    """By the cause: the reason is that of every refusal of a role or quota."""
    cause = {"reason": "NamespaceTerminating", "message": "namespace a is being terminated"}
    body = {"code": 403, "reason": "Forbidden", "message": "why", "details": {"name": "a", "causes": [cause]}}
    assert type(error_from_response(403, codec.encode(body))) is errors.NamespaceTerminatingError
    body["details"] = {"name": "a", "causes": [{"reason": "FieldValueInvalid"}]}
    assert type(error_from_response(403, codec.encode(body))) is errors.ForbiddenError
