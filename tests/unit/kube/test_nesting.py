"""What is nested too deep is cut out of JSON, and nothing else is."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube import nesting
from tests.hypothesis_settings import tried

LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(['"', "\\", '\\"', "{[", "]}", '"{'])
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))


def pruned(value: object, levels: int) -> object:
    """The same by recursion."""
    if isinstance(value, dict | list) and levels == 0:
        return json.loads(nesting.CUT)
    if isinstance(value, dict):
        return {key: pruned(one, levels - 1) for key, one in value.items()}
    return [pruned(one, levels - 1) for one in value] if isinstance(value, list) else value


@given(TREES, st.integers(0, 4))
@tried(100)
def test_only_what_is_too_deep_is_cut_out(tree: object, levels: int) -> None:
    """Whatever is in the strings."""
    assert json.loads(nesting.truncate_nesting(json.dumps(tree).encode(), levels)) == pruned(tree, levels)


@pytest.mark.parametrize("text", ["[" * 500_000, '"' + "\\" * 500_000, '{"a":' * 100_000, "]" * 500_000])
def test_the_cost_is_in_proportion_to_the_text(text: str) -> None:
    """Also of a text that is no JSON."""
    began = time.process_time()
    nesting.truncate_nesting(text.encode())
    assert time.process_time() - began < 1
