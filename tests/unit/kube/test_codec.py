"""JSON in and out."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedl.kube import codec
from kubedl.kube.codec import MalformedError, RawObject
from kubedl.kube.types.meta import Record

ROOT = Path(__file__).parents[3]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)

THREADS = """
import sys, threading
import msgspec
from kubedl.kube import codec

sys.setswitchinterval(1e-6)
for number in range(100):
    inner = msgspec.defstruct("Inner", [(f"a{field}", int | None, None) for field in range(20)])
    outer = msgspec.defstruct("Outer", [(f"f{field}", tuple[inner, ...] | None, None) for field in range(20)])
    start = threading.Barrier(4)

    def work():
        start.wait()
        codec.decode(b'{"f0": [{"a0": 1}]}', outer)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


class Holder(Record, frozen=True):
    """Something with a part that belongs to others."""

    template: RawObject
    replicas: int = 1


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_what_is_opaque_comes_out_as_it_went_in(value: dict[str, object]) -> None:
    """A field newer than this code is not lost."""
    holder = codec.decode(codec.encode({"template": value}), Holder)
    assert holder.template.unpack() == value
    assert codec.plain(holder) == {"template": value}
    assert codec.decode(codec.encode(holder), Holder) == holder


def test_what_is_opaque_is_compared_by_content() -> None:
    """Blanks of whoever wrote it do not count, and equal ones have one hash."""
    spaced = codec.decode(b'{"template": {"a" : 1}}', Holder).template
    assert (spaced, hash(spaced)) == (RawObject.of({"a": 1}), hash(RawObject.of({"a": 1})))
    assert spaced != RawObject.of({"a": 2})
    assert repr(spaced) == """RawObject(b'{"a":1}')"""


def test_an_unpacked_copy_is_the_callers_own() -> None:
    packed = RawObject.of({"a": {}})
    packed.unpack()["a"]["b"] = 1
    assert packed.unpack() == {"a": {}}


@pytest.mark.parametrize("value", [b"7", b'"text"', b"[]"])
def test_only_an_object_is_opaque(value: bytes) -> None:
    with pytest.raises(MalformedError, match=r"Expected `object`.*\$\.template"):
        codec.decode(b'{"template": ' + value + b"}", Holder)


def test_an_error_names_the_field() -> None:
    with pytest.raises(MalformedError, match=r"Expected `int`, got `str` - at `\$\.replicas`"):
        codec.decode(b'{"template": {}, "replicas": "two"}', Holder)


DEEP = b'{"template": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"


@pytest.mark.parametrize("data", [b"", b"<html>", b"\xff\xff", b'"\xff"', b'{"template": 1}', DEEP])
def test_everything_that_cannot_be_read_is_told_alike(data: bytes) -> None:
    with pytest.raises(codec.UNREADABLE):
        codec.decode(data, Holder)


def test_what_has_no_json_form_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match="object cannot be encoded as JSON"):
        codec.encode(object())
    with pytest.raises((NotImplementedError, msgspec.ValidationError)):
        codec.decode(b"{}", type("Strange", (), {}))


def test_threads_may_be_the_first_to_decode_a_type() -> None:
    """As those of a command that asks for several kinds at once; msgspec alone ends the process with SIGSEGV."""
    environment = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, check=False, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr
