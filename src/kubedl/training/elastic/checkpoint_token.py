"""How a training program knows that a request for a checkpoint is the operator's.

The token of a job is derived from the operator's key and the job's uid, so nobody has to remember it. Pods get its
digest, which proves a token and does not give it away: neither a pod's spec nor any object in the namespace is secret.
"""

import base64
import hashlib
import hmac
from pathlib import Path

KEY_LENGTH = 32  # bytes
LONGEST_FILE = 1024

PORT_VARIABLE, DIGEST_VARIABLE = "KUBEDL_CHECKPOINT_PORT", "KUBEDL_CHECKPOINT_DIGEST"


def key_from(file: str) -> bytes:
    """Return the key in a file: 32 bytes as base64. Raises ValueError."""
    try:
        with Path(file).open("rb") as opened:
            text = opened.read(LONGEST_FILE)
        key = base64.b64decode(text.strip(), validate=True)
    except (OSError, ValueError) as error:
        raise ValueError(f"{file} has no key: {error}") from error
    if len(key) != KEY_LENGTH:
        raise ValueError(f"{file} has {len(key)} bytes; write 32, for example: head -c 32 /dev/urandom | base64")
    return key


def token(key: bytes, uid: str) -> str:
    """Return the token with which the operator asks the program of a job."""
    return hmac.new(key, f"checkpoint {uid}".encode(), hashlib.sha256).hexdigest()


def digest(key: bytes, uid: str) -> str:
    """Return what the pods of a job are told of its token."""
    return hashlib.sha256(token(key, uid).encode()).hexdigest()
