"""What the first KubeDL could do and this version, or this kind, cannot."""

import pytest

from kubedl.training.policies.legacy_annotations import NOT_YET, unsupported
from tests.training_builders import JobBuilder, mpi_job, tf_job

NETWORK = "kubedl.io/network-mode"
JOB, MPI = tf_job().workers(1), mpi_job().launcher().workers(1)


def words(job: JobBuilder, **annotations: str) -> str | None:
    return unsupported(job.with_metadata(annotations=annotations).build(), job.kind)


@pytest.mark.parametrize("name", NOT_YET)
def test_a_wish_that_would_be_ignored_is_refused_by_name(name: str) -> None:
    """With what to do about it."""
    said = words(JOB, other="1", **{name: NOT_YET[name][0]})
    assert said is not None
    assert name in said
    assert "remove the annotation" in said


def test_the_host_network_is_refused_for_kinds_that_cannot_use_it() -> None:
    said = words(MPI, **{NETWORK: "host"})
    assert said == (
        f"annotation {NETWORK}: MPIJob does not support the host network; remove the annotation to run without it"
    )
    assert words(JOB, **{NETWORK: "host"}) is None


@pytest.mark.parametrize("value", ["false", "", "False", "pod", "{}"])
@pytest.mark.parametrize("name", [*NOT_YET, NETWORK])
def test_a_value_that_asks_for_nothing_is_nothing(name: str, value: str) -> None:
    """Manifests of the first KubeDL may say "false"."""
    assert words(MPI, **{name: value}) is None


@pytest.mark.parametrize("annotations", [{}, {"kubedl.io/other": "x"}, {"network-mode": "host"}])
def test_other_annotations_are_nobodys_business(annotations: dict[str, str]) -> None:
    """They may be anybody's."""
    assert words(MPI, **annotations) is None
