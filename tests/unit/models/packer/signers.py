"""Keys for tests, and openssl's opinion of a signature."""

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from testbed.shell import attempt


def write_key(directory: Path, password: str = "") -> str:
    """A key as an order names it, in PEM; with a password it is encrypted."""
    directory.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    hidden: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        hidden = serialization.BestAvailableEncryption(password.encode())
        (directory / "cosign.password").write_text(f"{password}\n")
    (directory / "cosign.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (directory / "cosign.pub").write_bytes(public)
    return str(directory)


def openssl_verifies(public: Path, content: bytes, signature: bytes, scratch: Path) -> bool:
    """What another implementation says."""
    (scratch / "content").write_bytes(content)
    (scratch / "signature").write_bytes(signature)
    files = ("-signature", str(scratch / "signature"), str(scratch / "content"))
    return attempt("openssl", "dgst", "-sha256", "-verify", str(public), *files).returncode == 0
