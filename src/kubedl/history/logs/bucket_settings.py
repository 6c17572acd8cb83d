"""Where logs are kept, and with which access key. Checked before anything is sent."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from kubedl.history.logs.signature import Credentials

ACCESS_KEY, SECRET_KEY, SESSION_TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
TIMED = "x-amz-meta-kubedl-timed"  # header of an object; true: each line begins with the time at which it was written
STARTED = "x-amz-meta-kubedl-started"  # header of an object: when the container started; missing if nobody knows
LONGEST_PREFIX = 128


class BucketError(Exception):
    """The storage did not accept, or return, an object; the message says why. It may do so later."""


class ObjectRefusedError(BucketError):
    """The storage, or a proxy before it, will never accept this object, and may accept all others."""


class BucketSettingsError(Exception):
    """The settings of the storage are missing or invalid. The message does not repeat credentials."""


@dataclass(frozen=True)
class BucketSettings:
    """Where logs are kept."""

    endpoint: str  # https://s3.example:9000
    bucket: str
    prefix: str = ""
    region: str = "us-east-1"
    authority: str = ""  # file with CA certificates; empty: those of the system

    def __post_init__(self) -> None:
        address = urlsplit(self.endpoint)
        if address.scheme not in ("http", "https") or not address.hostname or address.username:
            raise BucketSettingsError("the endpoint of the storage is a URL such as https://s3.example")
        if address.path.strip("/") or address.query:
            raise BucketSettingsError("the endpoint of the storage has no path: the bucket is a setting of its own")
        if not 3 <= len(self.bucket) <= 63 or not self.bucket.replace("-", "").replace(".", "").isalnum():
            raise BucketSettingsError(f"{self.bucket[:80]!r} is not the name of a bucket")
        if len(self.prefix) > LONGEST_PREFIX:
            raise BucketSettingsError(f"the prefix has more than {LONGEST_PREFIX} characters")

    def location(self, key: str) -> str:
        """Return the address of an object, as tools for S3 write it."""
        return f"s3://{self.bucket}/{key}"


def credentials_from(environment: Mapping[str, str] = os.environ) -> Credentials:
    """Return the access key of the environment."""
    known = [environment.get(name, "").strip() for name in (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN)]
    if not (known[0] and known[1]):
        raise BucketSettingsError(f"no credentials for the storage of logs: set {ACCESS_KEY} and {SECRET_KEY}")
    return Credentials(*known)


def complaint(answer: bytes) -> str:
    """Return code and message of an error in XML, or its beginning."""
    text = answer.decode(errors="replace")
    found = [text.partition(tag)[2].partition("</")[0] for tag in ("<Code>", "<Message>")]
    return (": ".join(part for part in found if part) or text.strip())[:300]
