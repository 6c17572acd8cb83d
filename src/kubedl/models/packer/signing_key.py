"""The signing key, as written by `cosign generate-key-pair`, or as a plain PEM file.

It is read before anything is packed, so that an unusable key does not cost an upload. Signatures are deterministic (RFC
6979), so packing again adds nothing.
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
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from kubedl.models.pack_protocol import KEY_FILE, PASSWORD_FILE
from kubedl.oci.errors import ImageError

MOST_MEMORY = 192 << 20  # memory limit of the key derivation; a build pod has 512 MiB

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
    """An ECDSA P-256 key, as cosign generates it."""

    private: ec.EllipticCurvePrivateKey = field(repr=False)

    def sign(self, content: bytes) -> str:
        """Return the signature of some bytes, encoded as cosign does."""
        return base64.b64encode(self.private.sign(content, _ALGORITHM)).decode()


def read_key(directory: str) -> SigningKey | None:
    """Read the key from a directory; None if the request names none."""
    if not directory:
        return None
    content = _read(Path(directory) / KEY_FILE)
    if content is None:
        raise _bad(f"the Secret has no {KEY_FILE}; create one with `cosign generate-key-pair k8s://<namespace>/<name>`")
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
        # Do not quote the parser's error: it might contain parts of the file.
        raise _bad(f"{KEY_FILE} is not a private key, or {PASSWORD_FILE} is not its password") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise _bad(f"{KEY_FILE} is not an ECDSA P-256 key, which `cosign generate-key-pair` creates")
    return key


def _unboxed(text: bytes, password: bytes) -> bytes:
    """Decrypt a cosign key file; raises ValueError on failure."""
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
        dklen=SecretBox.KEY_SIZE,
    )
    try:
        return SecretBox(key).decrypt(box.ciphertext, box.cipher.nonce)
    except CryptoError as error:
        raise ValueError("another password") from error


def _bad(message: str) -> ImageError:
    return ImageError("BadSigningKey", f"{message}; fix the Secret and create a new version", permanent=True)
