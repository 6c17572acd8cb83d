"""YAML that people read and that changes only with its content."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubedl.schema.yaml_documents import NOTICE, to_yaml

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(document=st.dictionaries(st.text(), values, max_size=4))
def test_what_is_written_is_what_is_read(document: dict[str, object]) -> None:
    """Whatever the text: a description may look like YAML."""
    text = to_yaml([document, document])
    assert text.startswith(NOTICE)
    assert list(yaml.safe_load_all(text)) == [document, document]


def test_shared_parts_are_written_out() -> None:
    """Not as an anchor and an alias, which nobody wants to look up."""
    shared = {"type": "object"}
    assert to_yaml([{"b": shared, "a": shared}]) == f"{NOTICE}---\nb:\n  type: object\na:\n  type: object\n"
