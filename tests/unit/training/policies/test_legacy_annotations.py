"""What the first KubeDL could do and this version cannot."""

import pytest

from kubedl.training.policies.legacy_annotations import NOT_YET, unsupported


@pytest.mark.parametrize("name", NOT_YET)
def test_a_wish_that_would_be_ignored_is_refused_by_name(name: str) -> None:
    """With what to do about it."""
    words = unsupported({"other": "1", name: NOT_YET[name][0]})
    assert words is not None
    assert name in words
    assert "remove the annotation" in words


@pytest.mark.parametrize("value", ["false", "", "False", "pod", "{}"])
@pytest.mark.parametrize("name", NOT_YET)
def test_a_value_that_asks_for_nothing_is_nothing(name: str, value: str) -> None:
    """Manifests of the first KubeDL may say "false"."""
    assert unsupported({name: value}) is None


@pytest.mark.parametrize("annotations", [{}, {"kubedl.io/other": "x"}, {"network-mode": "host"}])
def test_other_annotations_are_nobodys_business(annotations: dict[str, str]) -> None:
    """They may be anybody's."""
    assert unsupported(annotations) is None
