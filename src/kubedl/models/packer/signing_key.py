"""The key that images are signed with, as `cosign generate-key-pair` writes it, or as a plain PEM file.

It is read once, before anything is packed, so that a key that cannot be used does not cost an upload. Signatures are
deterministic (RFC 6979): signing the same twice gives the same bytes, and packing again adds nothing.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kubedl.models.order import KEY_FILE, PASSWORD_FILE
from kubedl.models.packer import secretbox
from kubedl.models.packer.failure import PackingError

MOST_MEMORY = 192 << 20  # that finding the key to the key may take; a build pod has 512 MiB

_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED (SIGSTORE|COSIGN) PRIVATE KEY-----\s(.*?)-----END ENCRYPTED", re.DOTALL)
_ALGORITHM = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)


class _Stretching(msgspec.Struct, frozen=True):
    N: int
    r: int
    p: int


class _Kdf(msgspec.Struct, frozen=True):
    name: str
    params: _Stretching
    salt: bytes


class _Cipher(msgspec.Struct, frozen=True):
    name: str
    nonce: bytes


class _Box(msgspec.Struct, frozen=True):
    kdf: _Kdf
    cipher: _Cipher
    ciphertext: bytes


@dataclass(frozen=True)
class SigningKey:
    """A key of the curve P-256, the one that cosign makes."""

    private: ec.EllipticCurvePrivateKey = field(repr=False)

    def sign(self, content: bytes) -> str:
        """The signature of some bytes, as cosign writes it."""
        return base64.b64encode(self.private.sign(content, _ALGORITHM)).decode()


def read_key(directory: str) -> SigningKey | None:
    """The key in a directory; None if the order names none."""
    if not directory:
        return None
    content = _read(Path(directory) / KEY_FILE)
    if content is None:
        raise _bad(f"the Secret has no {KEY_FILE}; `cosign generate-key-pair k8s://<namespace>/<name>` makes one")
    password = (_read(Path(directory) / PASSWORD_FILE) or b"").rstrip(b"\r\n")
    return SigningKey(_loaded(content, password))


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _bad(f"{file.name} cannot be read: {error.strerror}") from error


def _loaded(content: bytes, password: bytes) -> ec.EllipticCurvePrivateKey:
    boxed = _ENCRYPTED.search(content)
    try:
        if boxed:
            key = serialization.load_der_private_key(_unboxed(boxed[2], password), None)
        else:
            key = serialization.load_pem_private_key(content, password or None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # What is wrong with it is not repeated: nobody knows what else the file holds.
        raise _bad(f"{KEY_FILE} is no private key, or {PASSWORD_FILE} is not its password") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise _bad(f"{KEY_FILE} is a key of another kind than ECDSA P-256, which `cosign generate-key-pair` makes")
    return key


def _unboxed(text: bytes, password: bytes) -> bytes:
    """What a key file of cosign holds: ValueError if it cannot be opened."""
    try:
        box = msgspec.json.decode(base64.b64decode(b"".join(text.split())), type=_Box)
    except (binascii.Error, msgspec.DecodeError) as error:
        raise ValueError("not as cosign writes it") from error
    stretching, memory = box.kdf.params, 128 * box.kdf.params.N * box.kdf.params.r
    if (box.kdf.name, box.cipher.name) != ("scrypt", "nacl/secretbox") or not 0 < memory <= MOST_MEMORY:
        raise ValueError("not as cosign writes it")
    key = hashlib.scrypt(
        password,
        salt=box.kdf.salt,
        n=stretching.N,
        r=stretching.r,
        p=stretching.p,
        maxmem=memory + (1 << 22),
        dklen=secretbox.KEY,
    )
    try:
        return secretbox.opened(box.ciphertext, box.cipher.nonce, key)
    except secretbox.NotOpenedError as error:
        raise ValueError("another password") from error


def _bad(message: str) -> PackingError:
    return PackingError("BadSigningKey", f"{message}; put the Secret right and make a new version", permanent=True)
