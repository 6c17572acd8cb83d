"""The packer's last line, and what is no progress."""

import pytest

from kubedl.api.model import BuildProgress
from kubedl.models.inquiry import read_progress


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
