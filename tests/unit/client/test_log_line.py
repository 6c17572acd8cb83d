"""Lines of logs, and reading on after a break."""

from hypothesis import given
from hypothesis import strategies as st

from kubedl.client.log_line import LogLine, Position, nanoseconds, parse

SECOND = 10**9


def test_a_line_has_its_time() -> None:
    line = parse(b"2026-01-01T00:00:00.5Z loss 0.81 \xff", "worker-0")
    assert (line, line.replica) == ("loss 0.81 \ufffd", "worker-0")
    assert line.time.isoformat() == "2026-01-01T00:00:00.500000+00:00"
    assert parse(b"no time", "worker-0") == "no time"


def test_times_have_up_to_nine_digits_and_any_zone() -> None:
    """Nodes write the zone they are in, and leave out zeros at the end."""
    moment = nanoseconds("2026-01-01T00:00:00Z")
    assert moment is not None
    assert nanoseconds("2026-01-01T00:00:00.123456789Z") == moment + 123456789
    assert nanoseconds("2026-01-01T02:00:00.1+02:00") == moment + 100_000_000
    assert nanoseconds("2026-01-01T00:00:00") is None
    assert nanoseconds("x" * 1000) is None


_LINES = st.lists(st.tuples(st.integers(0, 4 * SECOND), st.sampled_from("ab")), max_size=30)


@given(_LINES, st.lists(st.integers(0, 30), max_size=3))
def test_each_line_comes_once_whatever_breaks(written: list[tuple[int, str]], breaks: list[int]) -> None:
    """Also lines of one nanosecond, and lines that are a little out of order."""
    start = 1_700_000_000 * SECOND
    log = [LogLine.of(text, "worker-0", start + moment) for moment, text in sorted(written)]
    for place in range(1, len(log), 2):  # two streams of a container are written side by side
        if log[place].nanoseconds - log[place - 1].nanoseconds < SECOND // 2:
            log[place - 1], log[place] = log[place], log[place - 1]
    position, seen = Position(), []
    for length in [*sorted(breaks), len(log)]:
        position.resume()
        since = nanoseconds(position.since) if position.is_begun else 0
        assert since is not None
        for line in [one for one in log[:length] if one.nanoseconds >= since]:
            is_new, lost = position.take(line)
            assert lost == 0
            if is_new:
                seen.append(line)
    assert seen == log


def test_a_log_that_was_rotated_away_is_a_gap() -> None:
    position = Position()
    assert position.take(LogLine.of("first", "worker-0", 100 * SECOND)) == (True, 0)
    position.resume()
    assert position.take(LogLine.of("much later", "worker-0", 140 * SECOND)) == (True, 40)
