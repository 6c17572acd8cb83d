"""AWS Signature Version 4 of one request, as S3-compatible storage verifies it. Pure: the time is passed in."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Credentials:
    """An access key. It is not shown in a representation of the object."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


def sign(
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    credentials: Credentials,
    scope: tuple[str, str],
    now: datetime,
) -> dict[str, str]:
    """Return all headers of the request, with its signature.

    `path` is encoded already (`encode_path`); `headers` has `host`; the scope is region and service.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    content = hashlib.sha256(body).hexdigest()
    signed = {name.lower(): " ".join(text.split()) for name, text in headers.items()}
    signed |= {"x-amz-date": moment, "x-amz-content-sha256": content}
    if credentials.session_token:
        signed["x-amz-security-token"] = credentials.session_token
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
    request = "\n".join([method, path, "", lines, names, content])
    place = f"{moment[:8]}/{scope[0]}/{scope[1]}/aws4_request"
    text = "\n".join([ALGORITHM, moment, place, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{credentials.secret_key}".encode()
    for part in place.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    login = f"{ALGORITHM} Credential={credentials.access_key}/{place}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "authorization": login}


def encode_path(path: str) -> str:
    """Encode a path as S3 does: each byte but letters, digits and `-._~`; slashes stay."""
    return quote(path, safe="/-._~")
