"""Lines of an archived log by number, by time and by text."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.console.log_text import LONGEST_LINE, LogText

TIME = "2026-11-18T00:00:0{}.00000000{}Z"


def timed(*texts: str) -> LogText:
    """A log of lines that were written one after the other."""
    lines = (f"{TIME.format(1, number)} {text}\n" for number, text in enumerate(texts))
    return LogText.of("".join(lines).encode(), timed=True, cut=False)


def test_lines_have_times_and_texts() -> None:
    log = timed("step 1", "", "step 3 of 3")
    assert log.total == 3
    assert [(row.time, row.text) for row in log.rows(2, 5)] == [
        (TIME.format(1, 1), ""),
        (TIME.format(1, 2), "step 3 of 3"),
    ]
    assert not log.rows(4, 5)


def test_a_log_without_times_is_shown_as_it_is() -> None:
    """Such as one of an earlier version; a program may print times itself."""
    log = LogText.of(b"2026-11-18T00:00:00Z said\nlast", timed=False, cut=False)
    assert log.total == 2
    assert [(row.time, row.text) for row in log.rows(1, 9)] == [("", "2026-11-18T00:00:00Z said"), ("", "last")]
    assert log.number_at("2026-11-18T00:00:00Z") == 0


def test_a_line_may_be_the_whole_log() -> None:
    log = LogText.of(f"{TIME.format(1, 1)} {'ä' * (1 << 20)}end\n".encode(), timed=True, cut=False)
    [row] = log.rows(1, 1)
    assert (row.time, row.text) == (TIME.format(1, 1), "ä" * LONGEST_LINE)
    assert log.hits("END", 9)[0].text == row.text


def test_the_words_of_the_archive_are_no_line() -> None:
    content = b"[kubedl: the beginning of this log was cut; its last 6 bytes follow]\nrest 1\n"
    assert [row.text for row in LogText.of(content, timed=True, cut=True).rows(1, 9)] == ["rest 1"]
    assert LogText.of(content, timed=True, cut=False).total == 2  # a program may print such a line


@pytest.mark.parametrize(
    ("first", "started", "seconds"),
    [
        ("2026-11-18T01:00:00.5Z said", "2026-11-18T00:30:00+00:00", 1800),
        ("2026-11-18T01:00:00.5Z said", "2026-11-18T00:59:30+00:00", 0),  # it took so long to start
        ("2026-11-18T01:00:00.5Z said", "2026-11-18T01:00:30+00:00", 0),
        ("2026-11-18T01:00:00.5 said", "2026-11-18T00:30:00+00:00", 0),  # a time without its zone
        ("no time", "2026-11-18T00:30:00+00:00", 0),
        ("", "2026-11-18T00:30:00+00:00", 0),
    ],
)
def test_a_log_that_begins_late_may_have_lost_its_beginning(first: str, started: str, seconds: int) -> None:
    log = LogText.of(first.encode(), timed=True, cut=False, started=datetime.fromisoformat(started))
    assert int(log.silence.total_seconds()) == seconds
    assert not LogText.of(first.encode(), timed=True, cut=False).silence  # nobody knows when it started


@given(
    st.lists(st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), max_size=20), max_size=40)
)
def test_each_line_has_its_number_its_time_and_its_hit(texts: list[str]) -> None:
    lines = [f"2026-11-18T00:00:01.{number:09}Z {text}" for number, text in enumerate(texts)]
    log = LogText.of("".join(f"{line}\n" for line in lines).encode(), timed=True, cut=False)
    assert log.total == len(texts)
    for number, text in enumerate(texts, 1):
        [row] = log.rows(number, 1)
        assert (row.text, log.number_at(row.time)) == (text, number)
        if text.isascii() and text:
            expected = [at for at, other in enumerate(texts, 1) if text.lower().encode() in other.encode().lower()]
            assert [hit.line for hit in log.hits(text, 100)] == expected


@pytest.mark.parametrize("number", [1, 2, 777, 4096, 99_999, 100_000])
def test_a_line_of_a_long_log_is_found_by_its_number(number: int) -> None:
    content = b"".join(b"2026-11-18T00:00:01.000000000Z line %d\n" % one for one in range(1, 100_001))
    assert LogText.of(content, timed=True, cut=False).rows(number, 1)[0].text == f"line {number}"


def test_a_search_ends_with_enough() -> None:
    log = timed("Error one", "fine", "error TWO", "an ERROR again")
    assert [(hit.line, hit.text) for hit in log.hits("error", 2)] == [(1, "Error one"), (3, "error TWO")]
    assert not log.hits("", 2)
    assert not log.hits("\n", 2)  # and ends at all
    assert not log.hits("one\nfine", 2)


def test_the_time_of_a_line_is_not_its_text() -> None:
    assert not timed("one", "two").hits("2026-11", 9)


def test_of_a_line_without_an_end_a_part_is_sent() -> None:
    log = timed("x" * 1_000_000)
    assert log.rows(1, 1)[0].text == "x" * LONGEST_LINE
