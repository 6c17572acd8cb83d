"""The page of the kinds says what their declarations say."""

import pytest

from devtools.kinds import describe_kinds, sample
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_every_kind_is_on_the_page(kind: Kind) -> None:
    """With its roles in order and all that its pods are told."""
    page = describe_kinds()
    section = page.partition(f"\n## {kind.kind}\n")[2].partition("\n## ")[0]
    places = [section.index(f"| {role.name} | {role.restart_policy} |") for role in kind.roles]
    assert places == sorted(places)
    job = sample(kind)
    told = {name for replica in job.replicas() for name in kind.environment(job, replica)}
    assert [name for name in told if f"| `{name}` |" not in section] == []
    assert f"| `{kind.replicas_field}` | `{kind.container}`" in page


def test_what_only_some_pods_are_told_says_who() -> None:
    """And what Kubernetes fills in says from where."""
    mars = describe_kinds().partition("\n## MarsJob\n")[2].partition("\n## ")[0]
    assert "| `MARS_LOCK_FREE_FILEIO` | `1` | Worker |" in mars
    assert "| `MARS_K8S_POD_NAME` | the pod's `metadata.name` |  |" in mars


def test_rules_and_own_fields_are_told() -> None:
    """In the words of the code."""
    page = describe_kinds()
    xdl = page.partition("\n## XDLJob\n")[2].partition("\n## ")[0]
    assert "Done: Enough workers decide" in xdl
    assert "- `backoffLimit` (default `20`): How often failed replicas are tried again before the job fails." in xdl
    assert "- `minFinishWorkRate`: The same in percent" in xdl
