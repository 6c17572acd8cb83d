"""exitCodes and oomPolicy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube.types.core import Terminated
from kubedl.training.policies.exit_codes import HIGHEST, RETRYABLE_EXITS, is_retryable, read
from tests.hypothesis_settings import tried
from tests.training_builders import tf_job

CODES = st.integers(1, HIGHEST)


def retryable(code: int, reason: str = "Error", **fields: object) -> bool:
    """Whether a worker with these fields, as users write them, tries again."""
    job = tf_job().workers(1, restartPolicy="ExitCode", **fields)
    role = job.kind.job(job.build()).roles["Worker"]
    return is_retryable(Terminated(exit_code=code, reason=reason), role)


def codes(*texts: str) -> dict[str, object]:
    """As users write them."""
    return {"retryable": list(texts)}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), set()),
        (("137",), {137}),
        (("1", "254-255"), {1, 254, 255}),
        (("5-5",), {5}),
        (("137", "130-138"), set(range(130, 139))),
        (("0",), set()),
        (("256",), set()),
        (("200-256",), set()),
        (("9-1",), set()),
        (("1-2-3", "-1", "1-", "", "x", "\u0661", " 1", "007", "9" * 5_000), set()),
    ],
)
def test_reading(texts: tuple[str, ...], expected: set[int]) -> None:
    """Numbers and ranges; what is neither counts as nothing."""
    assert expected == read(texts)


@given(texts=st.lists(st.text(alphabet="0123456789-x", max_size=7), max_size=4).map(tuple))
@tried(200)
def test_reading_never_fails_and_gives_codes_of_failures(texts: tuple[str, ...]) -> None:
    """Whatever is written; and several texts mean what they mean one by one."""
    found = read(texts)
    assert all(1 <= code <= HIGHEST for code in found)
    assert found == frozenset().union(*(read((text,)) for text in texts))


@given(ends=st.tuples(CODES, CODES).map(sorted), code=CODES)
@tried(100)
def test_a_range_holds_its_ends_and_what_lies_between(ends: list[int], code: int) -> None:
    """And nothing else."""
    assert (ends[0] <= code <= ends[1]) == (code in read((f"{ends[0]}-{ends[1]}",)))


@given(code=CODES)
@tried(50)
def test_without_the_field_it_is_as_ever(code: int) -> None:
    """Only what was a signal from outside is tried again."""
    assert (code in RETRYABLE_EXITS) == retryable(code)


@pytest.mark.parametrize(
    ("code", "texts", "expected"),
    [
        (3, ("3", "10-20"), True),
        (10, ("3", "10-20"), True),
        (20, ("3", "10-20"), True),
        (21, ("3", "10-20"), False),
        (137, ("3", "10-20"), False),
        (137, (), False),
    ],
)
def test_what_is_outside_is_permanent(code: int, texts: tuple[str, ...], expected: bool) -> None:
    """The field replaces the default, it does not add to it."""
    assert expected == retryable(code, exitCodes=codes(*texts))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"oomPolicy": "Retry"}, True),
        ({"oomPolicy": "Fail"}, False),
        ({"exitCodes": codes("1")}, False),
        ({"exitCodes": codes("1"), "oomPolicy": "Retry"}, True),
        ({"exitCodes": codes("137"), "oomPolicy": "Fail"}, False),
    ],
)
def test_want_of_memory_is_a_choice(fields: dict[str, object], expected: bool) -> None:
    """Left out, the exit code decides; and another kill with the same code is not want of memory."""
    assert expected == retryable(137, "OOMKilled", **fields)
    by_code = "exitCodes" not in fields or fields["exitCodes"] == codes("137")
    assert by_code == retryable(137, "Error", **fields)
