"""The pages of the kinds say what their declarations say."""

import pytest

from devtools.kind_pages import can_run, describe_each_kind
from devtools.kinds import describe_kinds, sample
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The page of each kind; making them all takes a while."""
    return describe_each_kind()


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_every_kind_is_on_the_page(kind: Kind, pages: dict[str, str]) -> None:
    """With its roles in order and all that its pods are told on a page of its own."""
    page = pages[kind.kind.lower()]
    places = [page.index(f"| {role.name} | {role.restart_policy} |") for role in kind.roles]
    assert places == sorted(places)
    job = sample(kind)
    told = {name for replica in job.replicas() for name in kind.environment(job, replica)}
    assert [name for name in told if f"| `{name}` |" not in page] == []
    assert f"| `{kind.replicas_field}` | `{kind.container}`" in describe_kinds()


def test_what_only_some_pods_are_told_says_who(pages: dict[str, str]) -> None:
    """And what Kubernetes fills in says from where."""
    mars = pages["marsjob"]
    assert "| `MARS_LOCK_FREE_FILEIO` | `1` | Worker |" in mars
    assert "| `MARS_K8S_POD_NAME` | the pod's `metadata.name` |  |" in mars


def test_rules_and_own_fields_are_told(pages: dict[str, str]) -> None:
    """In the words of the code."""
    xdl = pages["xdljob"]
    assert "(`successPolicy`): Enough workers decide" in xdl
    assert "- `backoffLimit` (default `20`): The number of retries of failed replicas before the job fails." in xdl
    assert "- `minFinishWorkRate`: The percentage of replicas" in xdl


def test_fields_and_refusals_are_those_of_the_definition(pages: dict[str, str]) -> None:
    """Also those inside others; a pod's own fields are left to Kubernetes."""
    page = pages["modelversion"]
    assert "| `claimName` | string | The name of the PersistentVolumeClaim. **Required.** |" in page
    assert "| `spec.storage` | set exactly one of localStorage, nfs, AWSEfs and claim |" in page
    assert "| `replicas` | integer, 0 to 1000 |" in pages["inference"]
    assert "`spec.predictors[].template" not in "".join(
        line for line in pages["inference"].splitlines() if line.startswith("###")
    )


def test_an_example_runs_where_the_test_bed_has_its_images() -> None:
    assert can_run("image: registry.example/torch\n")
    assert not can_run("image: registry.example/torch\nimage: registry.example/mars\n")
