"""The word list finds planted words in prose, docstrings and comments, and nothing else. `make check` uses it."""

import pytest

from devtools.plain_english import DOCUMENTATION, EVERYWHERE, WORDS, complaints_about, sections

LIST = sections(WORDS.read_text())
WORD = {**LIST[DOCUMENTATION], **LIST[EVERYWHERE]}
SOURCE = "src/kubedl/runtime/store.py"


@pytest.mark.parametrize("word", WORD)
@pytest.mark.parametrize("name", ["README.md", "docs/limits.md", "docs/how-to/serve-a-model.md"])
def test_a_planted_word_is_found(name: str, word: str) -> None:
    """In any case, and across the end of a line."""
    text = f"Fine.\n\nThis {word.upper().replace(' ', chr(10))} is not.\n"
    assert list(complaints_about([(name, text)], LIST)) == [f"{name}:3: write plain English: {word} -> {WORD[word]}"]


@pytest.mark.parametrize(
    "text",
    ["`whoever`", "```yaml\nimage: a # whoever\n```\n", "- one:\n\n  ```sh\n  whoever\n  ```\n", "<!-- whoever -->"],
)
def test_code_is_not_prose(text: str) -> None:
    assert list(complaints_about([("docs/limits.md", text)], LIST)) == []


def test_prose_after_code_counts() -> None:
    """With the line at which it stands."""
    [complaint] = complaints_about([("docs/limits.md", "```\na\n```\n\nWhoever reads this.\n")], LIST)
    assert complaint.startswith("docs/limits.md:5: ")


@pytest.mark.parametrize("name", ["docs/proofs/engine.md", "docs/reference/flags.md", "tests/a.py"])
def test_other_files_are_left_out(name: str) -> None:
    assert list(complaints_about([(name, "Whoever reads this.\n")], LIST)) == []


@pytest.mark.parametrize("text", ["Renewal is automatic.", "The dashboard shows it.", "a good board"])
def test_only_whole_words_count(text: str) -> None:
    assert list(complaints_about([("docs/limits.md", text)], LIST)) == []


@pytest.mark.parametrize("word", LIST[EVERYWHERE])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"""Of {}."""\n', 1),
        ('import os\n\n\ndef run() -> None:\n    """Run.\n\n    Of {}.\n    """\n', 7),
        ("LIMIT = 3  # of {}\n", 1),
        ("# of\nLIMIT = 3\n# of {}\n", 3),
    ],
)
def test_a_planted_word_is_found_in_source(text: str, line: int, word: str) -> None:
    """In docstrings and in comments."""
    expected = f"{SOURCE}:{line}: write plain English: {word} -> {WORD[word]}"
    assert list(complaints_about([(SOURCE, text.format(word))], LIST)) == [expected]


@pytest.mark.parametrize("text", ["tally = 1\n", 'tally("a tally of it")\n', '"""Of `tally`."""\n', "# whoever\n"])
def test_names_and_strings_of_source_are_left_out(text: str) -> None:
    """So are words that only pages avoid."""
    assert list(complaints_about([(SOURCE, text)], LIST)) == []


def test_every_word_has_a_replacement() -> None:
    assert [word for word, instead in WORD.items() if not instead] == []
