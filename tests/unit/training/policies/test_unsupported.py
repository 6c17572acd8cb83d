"""What the first KubeDL could do and this version cannot."""

import pytest

from kubedl.api.training import JobSpec
from kubedl.training.policies.unsupported import NOT_YET, unsupported
from kubedl.wire.codec import Opaque

PLAIN = JobSpec()


@pytest.mark.parametrize("name", NOT_YET)
def test_a_wish_that_would_be_ignored_is_refused_by_name(name: str) -> None:
    """With what to do about it."""
    words = unsupported({"other": "1", name: "{}"}, PLAIN)
    assert words is not None
    assert name in words
    assert "remove the annotation" in words


@pytest.mark.parametrize("annotations", [{}, {"kubedl.io/other": "x"}, {"network-mode": "host"}])
def test_other_annotations_are_nobodys_business(annotations: dict[str, str]) -> None:
    """They may be anybody's."""
    assert unsupported(annotations, PLAIN) is None


@pytest.mark.parametrize("given", [{}, {"name": "data", "mountPath": "/data"}])
def test_a_job_that_counts_on_a_cache_is_not_run_without(given: dict[str, object]) -> None:
    """Its data would not be there."""
    words = unsupported({}, JobSpec(cache_backend=Opaque.of(given)))
    assert words is not None
    assert words.startswith("spec.cacheBackend: ")
