"""The packer as a process sees itself: an order in, last words and an exit code out."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.entrypoints import packer
from kubedl.models.pack_protocol import ORDER_VARIABLE, PackRequest, PackResult
from kubedl.oci.errors import ImageError

ORDER = PackRequest("/model", "r.example.com/team/model", "v1", "ns", "resnet", "mv-1")


@given(st.text(max_size=9000))
def test_last_words_fit_and_can_be_read(message: str) -> None:
    answer = PackResult(reason="BadModel", message=message)
    content = packer.termination_message(answer)
    assert len(content) <= packer.MOST_BYTES
    read = msgspec.json.decode(content, type=PackResult)
    assert (read.reason, read.message[:100]) == ("BadModel", message[:100])


@pytest.mark.parametrize(
    ("end", "code", "reason"),
    [
        (None, 0, ""),
        (ImageError("RegistryFailed", "x"), 1, "RegistryFailed"),
        (ImageError("BadModel", "x", permanent=True), 2, "BadModel"),
        (RuntimeError("secret"), 1, "InternalError"),
    ],
)
def test_exit_codes_say_whether_to_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Exception | None, code: int, reason: str
) -> None:
    def pack(*_: object) -> PackResult:
        if end:
            raise end
        return PackResult("sha256:1")

    monkeypatch.setattr(packer, "pack", pack)
    monkeypatch.setattr("kubedl.entrypoints.packer.signal.signal", lambda *_: None)
    monkeypatch.setenv(ORDER_VARIABLE, msgspec.json.encode(ORDER).decode())
    assert packer.main(["--termination-log", str(tmp_path / "log")]) == code
    answer = msgspec.json.decode((tmp_path / "log").read_bytes(), type=PackResult)
    assert (answer.reason, bool(answer.digest)) == (reason, end is None)
    assert "secret" not in answer.message


@pytest.mark.parametrize("order", [None, "", "{}", '{"source": 1}', "no"])
def test_an_order_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str | None) -> None:
    monkeypatch.setattr("kubedl.entrypoints.packer.signal.signal", lambda *_: None)
    monkeypatch.delenv(ORDER_VARIABLE, raising=False)
    if order is not None:
        monkeypatch.setenv(ORDER_VARIABLE, order)
    assert packer.main(["--termination-log", str(tmp_path / "log")]) == 2
    assert msgspec.json.decode((tmp_path / "log").read_bytes(), type=PackResult).reason == "BadOrder"
