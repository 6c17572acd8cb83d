"""Programs that others wrote: their answer, or an error with their own words."""

import pytest

from testbed.errors import TestbedError
from testbed.shell import attempt, run


def test_answer_is_what_the_program_prints() -> None:
    assert run("cat", given="question") == "question"


def test_environment_is_added_to_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PATH and HOME hardly any program works."""
    monkeypatch.setenv("KEPT", "kept")
    assert run("sh", "-c", "echo $KEPT $GIVEN", environment={"GIVEN": "given"}) == "kept given\n"


def test_failure_shows_the_command_the_code_and_the_errors() -> None:
    with pytest.raises(TestbedError) as error:
        run("sh", "-c", "echo answer; echo reason >&2; exit 3")
    assert str(error.value) == "sh -c echo answer; echo reason >&2; exit 3 ended with 3: reason"


def test_failure_without_errors_shows_the_output() -> None:
    """Some programs complain on the wrong side."""
    with pytest.raises(TestbedError, match=r"ended with 1: reason$"):
        run("sh", "-c", "echo reason; exit 1")


def test_attempt_may_fail() -> None:
    assert attempt("false").returncode == 1


def test_missing_program_says_how_to_get_it() -> None:
    with pytest.raises(TestbedError, match="no-such-program is not installed; `make setup`"):
        run("no-such-program")


def test_program_that_hangs_is_ended() -> None:
    """A test bed that waits for ever says nothing about why."""
    with pytest.raises(TestbedError, match=r"^sleep 60 did not end within 0\.01 s$"):
        run("sleep", "60", timeout=0.01)
