"""A page is narrow enough only if somebody has measured it."""

from pathlib import Path

import pytest

from devtools import screenshots


def test_the_width_is_the_one_that_the_frame_has_told() -> None:
    assert screenshots.measured("index", "<html><head><title>[412,390]</title></head></html>") == 412


def test_a_page_that_nobody_measured_is_an_error() -> None:
    """Not one that fits its window."""
    with pytest.raises(SystemExit, match="index was not measured"):
        screenshots.measured("index", "<html><head></head></html>")


def test_a_page_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server would show its own words instead, and those are never too wide."""
    (tmp_path / "index.html").write_text("<p>here</p>")
    monkeypatch.setattr(screenshots, "SITE", tmp_path)
    with pytest.raises(SystemExit, match="no page quickstart"):
        screenshots.take(["index", "quickstart"], 100, print)
