"""The test vector that NaCl was published with, and boxes that somebody has changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.models.packer.secretbox import NotOpenedError, opened

KEY = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
NONCE = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
BOX = bytes.fromhex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce8"
    "7b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0"
    "e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"
)
MESSAGE = bytes.fromhex(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561"
    "f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c6090"
    "2e52f0a089bc76897040e082f937763848645e0705"
)


def test_the_published_box_opens() -> None:
    assert opened(BOX, NONCE, KEY) == MESSAGE


@given(st.integers(0, len(BOX) - 1), st.integers(1, 255))
def test_a_box_that_was_changed_does_not(place: int, change: int) -> None:
    changed = BOX[:place] + bytes([BOX[place] ^ change]) + BOX[place + 1 :]
    with pytest.raises(NotOpenedError):
        opened(changed, NONCE, KEY)


@pytest.mark.parametrize(
    ("box", "nonce", "key"),
    [(BOX[:15], NONCE, KEY), (b"", NONCE, KEY), (BOX, NONCE[1:], KEY), (BOX, NONCE, KEY[1:]), (BOX, NONCE, bytes(32))],
)
def test_what_is_no_box_or_no_key_of_it_does_not(box: bytes, nonce: bytes, key: bytes) -> None:
    with pytest.raises(NotOpenedError):
        opened(box, nonce, key)
