"""The packer's last line, and what is no progress."""

import pytest

from kubedl.api.model import BuildProgress
from kubedl.models.build_diagnostics import read_progress, read_retrying
from kubedl.models.packer.progress import report_retry
from kubedl.oci.errors import ImageError


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("progress 5/10 weights.bin", BuildProgress(bytes_done=5, bytes_total=10)),
        ("progress 0/0 \n", BuildProgress()),
        ("progress 5/10", None),
        ("progress -5/10 x", None),
        (f"progress {'9' * 30}/1 x", None),
        ("hashing", None),
        ("", None),
    ],
)
def test_progress(line: str, expected: BuildProgress | None) -> None:
    """Numbers that a status can hold."""
    assert read_progress(line) == expected


def test_an_error_after_which_the_packer_tries_again() -> None:
    """As the packer writes it."""
    written: list[str] = []
    report_retry(ImageError("RegistryUnreachable", "registry.example cannot be reached: refused"), written.append)
    assert read_retrying(f"{written[0]}\n") == "RegistryUnreachable: registry.example cannot be reached: refused"
    assert read_progress(written[0]) is None
    assert read_retrying("progress 5/10 retrying") == ""
