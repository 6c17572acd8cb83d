"""What the site makes of a page, and what is noticed about a site."""

from pathlib import Path

from devtools.link_check import complaints
from devtools.mkdocs_hooks import labelled, moved


def test_links_out_of_docs_lead_to_the_copies() -> None:
    page = "[a](../../CONTRIBUTING.md#rules), [b](../../examples/tfjob.yaml), [c](other.md), [d](https://e.org/x)"
    found = "[a](../contributing.md#rules), [b](../examples/tfjob.yaml), [c](other.md), [d](https://e.org/x)"
    assert moved(page, "how-to/page.md") == found
    assert moved("[a](docs/limits.md)", "contributing.md") == "[a](limits.md)"
    assert moved("[a](../src/x.py)", "page.md") == "[a](../src/x.py)"  # a warning of mkdocs, on purpose


def test_each_cell_says_of_which_column_it_is() -> None:
    row = "<tr>\n<td>a pod</td>\n<td>b</td>\n<td></td>\n</tr>"
    head = "<tr>\n<th>what <em>breaks</em></th>\n<th></th>\n<th>left</th>\n</tr>"
    found = '<tr>\n<td data-column="what breaks">a pod</td>\n<td>b</td>\n<td data-column="left"></td>\n</tr>'
    assert labelled(f"<table>{head}{row}</table>{row}") == f"<table>{head}{found}</table>{row}"


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#x"></a><a href="c.html"></a><a href="#top"></a>'
    )
    (tmp_path / "b.html").write_text("<img src='gone.svg'>")
    assert list(complaints(tmp_path)) == [
        "a.html: b.html#x: no such place in that page",
        "a.html: c.html: no such file",
        "b.html: gone.svg: no such file",
    ]


def test_what_comes_from_outside_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.example/x.js"></script><link rel="stylesheet" href="//fonts.example/f.css">'
        '<a href="https://example.org">a link may lead out</a>'
    )
    (tmp_path / "a.css").write_text("@import 'https://x.example/y.css'; a { background: url(//z.example/i.png) }")
    assert list(complaints(tmp_path)) == [
        "a.html: loads https://cdn.example/x.js",
        "a.html: loads //fonts.example/f.css",
        "a.css: loads https://x.example/y.css",
        "a.css: loads //z.example/i.png",
    ]
