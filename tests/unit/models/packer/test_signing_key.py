"""Keys in every form that they may have in a Secret, and those that cannot be used."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.signing_key import read_key
from tests.unit.models.packer.signers import openssl_verifies, write_key


def reason(directory: Path) -> str:
    with pytest.raises(PackingError) as caught:
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
    assert "of another kind than ECDSA P-256" in reason(tmp_path)


def test_a_secret_without_a_key_says_how_to_make_one(tmp_path: Path) -> None:
    assert "cosign generate-key-pair" in reason(tmp_path)
