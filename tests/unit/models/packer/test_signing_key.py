"""Keys in every form that they may have in a Secret, and those that cannot be used."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kubedl.models.packer.signing_key import read_key
from kubedl.oci.errors import ImageError
from tests.unit.models.packer.signers import openssl_verifies, write_key

# Made for this test by cosign 2.6.5; it opens with MADE_WITH and signs nothing else.
MADE_WITH = "pass word"
COSIGN_KEY = """\
-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----
eyJrZGYiOnsibmFtZSI6InNjcnlwdCIsInBhcmFtcyI6eyJOIjo2NTUzNiwiciI6
OCwicCI6MX0sInNhbHQiOiJqSzhGMVp1dVBGaDlaMjhuR3NqT3IvTmhVRE9UZk1R
WWJ6WGdXeTlBN1RvPSJ9LCJjaXBoZXIiOnsibmFtZSI6Im5hY2wvc2VjcmV0Ym94
Iiwibm9uY2UiOiJIeE5OZjRpZmo4UVdhY25zVUhiKzJRZCtFOENiQWdEZSJ9LCJj
aXBoZXJ0ZXh0IjoiNUNldmEvcXJST0VCKzljVnJPaDJZaHRWejh5OWIrNFQrRWZw
dmt3VVltVEtQN2hKd0xSUVRObzV1bjlvTjdEM2o0aCtOS29IMHkram9LR3dQeExq
cHFHMVZVYk1pdlpHaXM1VlZDTWpZSVF4R3Y2Vi8zVktEaElNWnJuVE5UcjQrajMr
MHlPTXlZUnB2WXZObVJHK0NGb0g5c2s1M0xqRUdvWUlJSTBnZG1NYzY5bno3REdq
QlpZL3Z4ZmxVRWZ4blFvcEQ4YXdQa0N4b1E9PSJ9
-----END ENCRYPTED SIGSTORE PRIVATE KEY-----
"""
COSIGN_PUB = """\
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEhfkQfHAOUFIrDcaJFV3G8RExYD2M
WDOSa5FkgpcVGKeQ93bODBZfwuX2IQgDnmQUUX2qzNzK4IF35vAVcNEdjA==
-----END PUBLIC KEY-----
"""


def reason(directory: Path) -> str:
    with pytest.raises(ImageError) as caught:
        read_key(str(directory))
    assert (caught.value.reason, caught.value.permanent) == ("BadSigningKey", True)
    return caught.value.message


def test_an_order_without_a_key_is_not_signed() -> None:
    assert read_key("") is None


@pytest.mark.parametrize("password", ["", "pass word"])
def test_a_pem_key_signs_and_signs_the_same(tmp_path: Path, password: str) -> None:
    key = read_key(write_key(tmp_path, password))
    assert key is not None
    signature = key.sign(b"words")
    assert signature == key.sign(b"words")
    assert openssl_verifies(tmp_path / "cosign.pub", b"words", base64.b64decode(signature), tmp_path)
    assert "Private" not in repr(key)


def test_a_wrong_password_is_named_and_not_shown(tmp_path: Path) -> None:
    write_key(tmp_path, "right")
    (tmp_path / "cosign.password").write_text("hidden")
    message = reason(tmp_path)
    assert "cosign.password is not its password" in message
    assert "hidden" not in message


@pytest.mark.parametrize(
    "content", [b"", b"hidden", b"-----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY-----\n"]
)
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "cosign.key").write_bytes(content)
    assert "hidden" not in reason(tmp_path)


@pytest.mark.parametrize("key", [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())])
def test_a_key_of_another_kind_is_refused(tmp_path: Path, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "cosign.key").write_bytes(text)
    assert "is not an ECDSA P-256 key" in reason(tmp_path)


def test_a_secret_without_a_key_says_how_to_make_one(tmp_path: Path) -> None:
    assert "cosign generate-key-pair" in reason(tmp_path)


def test_a_key_that_cosign_made_opens_and_signs(tmp_path: Path) -> None:
    write_cosigns(tmp_path, COSIGN_KEY)
    key = read_key(str(tmp_path))
    assert key is not None
    (tmp_path / "cosign.pub").write_text(COSIGN_PUB)
    signature = base64.b64decode(key.sign(b"words"))
    assert openssl_verifies(tmp_path / "cosign.pub", b"words", signature, tmp_path)


@pytest.mark.parametrize("password", ["", "pass  word", "Pass word"])
def test_it_opens_with_no_other_password(tmp_path: Path, password: str) -> None:
    write_cosigns(tmp_path, COSIGN_KEY, password)
    assert "cosign.password is not its password" in reason(tmp_path)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("kdf", {"name": "argon2"}),
        ("kdf", {"params": {"N": 1 << 30, "r": 8, "p": 1}}),
        ("kdf", {"params": {"N": 65535, "r": 8, "p": 1}}),
        ("kdf", {"params": {"N": 0, "r": 8, "p": 1}}),
        ("kdf", {"params": {"N": 65536, "r": 8, "p": -1}}),
        ("cipher", {"name": "aes"}),
        ("cipher", {"nonce": "AAAA"}),
    ],
)
def test_what_cosign_would_not_write_is_refused(tmp_path: Path, part: str, change: dict[str, object]) -> None:
    """At once: nothing that a file says makes the packer take all memory."""
    head, *body, tail = COSIGN_KEY.splitlines()
    box = json.loads(base64.b64decode("".join(body)))
    box[part].update(change)
    write_cosigns(tmp_path, "\n".join([head, base64.b64encode(json.dumps(box).encode()).decode(), tail]))
    reason(tmp_path)


@pytest.mark.parametrize("change", [lambda box: b"", lambda box: box[:15], lambda box: box[:-1] + bytes([box[-1] ^ 1])])
def test_a_key_that_was_changed_does_not_open(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    head, *body, tail = COSIGN_KEY.splitlines()
    box = json.loads(base64.b64decode("".join(body)))
    box["ciphertext"] = base64.b64encode(change(base64.b64decode(box["ciphertext"]))).decode()
    write_cosigns(tmp_path, "\n".join([head, base64.b64encode(json.dumps(box).encode()).decode(), tail]))
    assert "cosign.password is not its password" in reason(tmp_path)


@pytest.mark.parametrize("body", ["", "no base64!", "bm8ganNvbg=="])
def test_a_file_that_only_looks_like_cosigns_is_refused(tmp_path: Path, body: str) -> None:
    head, tail = COSIGN_KEY.splitlines()[0], COSIGN_KEY.splitlines()[-1]
    write_cosigns(tmp_path, f"{head}\n{body}\n{tail}\n")
    reason(tmp_path)


def write_cosigns(directory: Path, key: str, password: str = MADE_WITH) -> None:
    (directory / "cosign.key").write_text(key)
    (directory / "cosign.password").write_text(password)
