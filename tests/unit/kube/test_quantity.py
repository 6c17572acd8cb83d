"""Quantities as Kubernetes writes them."""

import pytest

from kubedl.kube.quantity import Quantity, whole


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        (0, 0),
        (3, 3),
        (1.5, 2),
        ("2", 2),
        ("500m", 1),
        ("1500m", 2),
        ("1n", 1),
        ("1u", 1),
        ("1k", 1000),
        ("1.5k", 1500),
        (".5M", 500_000),
        ("1E", 10**18),
        ("16Gi", 16 * 2**30),
        ("1Ei", 2**60),
        ("1e3", 1000),
        ("12E-1", 2),
        ("+1", 1),
        ("9" * 20, int("9" * 20)),
    ],
)
def test_whole_numbers_rounded_up(quantity: Quantity, expected: int) -> None:
    assert expected == whole(quantity)


@pytest.mark.parametrize("quantity", ["", "x", "-1", -1, "1 Gi", "1gi", "1KiB", "1e999", "9" * 21, "1\n", float("inf")])
def test_anything_else_is_refused(quantity: Quantity) -> None:
    """An exponent that would take for ever to compute is among it."""
    with pytest.raises(ValueError, match="is not a quantity"):
        whole(quantity)
