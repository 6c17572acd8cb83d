"""Signatures of requests, by the example that AWS publishes."""

import hashlib
from datetime import UTC, datetime

from kubedl.history.logs.signature import Credentials, encode_path, sign

# From "Signature Calculations for the Authorization Header" in the reference of the S3 API, "PUT Object".
PUBLISHED = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
NOW = datetime(2013, 5, 24, tzinfo=UTC)
HEADERS = {
    "host": "examplebucket.s3.amazonaws.com",
    "Date": "Fri, 24 May 2013 00:00:00 GMT",
    "x-amz-storage-class": "REDUCED_REDUNDANCY",
}
BODY = b"Welcome to Amazon S3."
SCOPE = ("us-east-1", "s3")


def test_the_published_example_is_signed_as_published() -> None:
    """And the hash of the body is a header."""
    signed = sign("PUT", encode_path("/test$file.text"), HEADERS, BODY, PUBLISHED, SCOPE, NOW)
    assert signed["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
        "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    )
    assert signed["x-amz-content-sha256"] == hashlib.sha256(BODY).hexdigest()


def test_a_session_token_is_signed_too() -> None:
    """Temporary credentials have one."""
    temporary = Credentials("a", "b", "token")
    signed = sign("PUT", "/a", {"host": "s3"}, b"", temporary, SCOPE, NOW)
    assert signed["x-amz-security-token"] == "token"
    assert "host;x-amz-content-sha256;x-amz-date;x-amz-security-token," in signed["authorization"]


def test_credentials_are_not_shown() -> None:
    """In a log or a traceback."""
    assert "hidden" not in repr(Credentials("key", "hidden", "hidden"))
