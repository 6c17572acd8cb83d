"""The worked example of each kind does what its page says: it is applied, trains, and succeeds."""

from collections.abc import Callable, Iterator

import pytest

from devtools.kind_pages import IMAGE, can_run
from devtools.lint_repo import ROOT
from harness.drivers.operator_process import Operator
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from testbed import namespaces
from testbed.api import is_true
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.e2e.training.observed import START
from tests.e2e.workspace import Workspace


def example(kind: Kind) -> str:
    return (ROOT / "examples" / f"{kind.kind.lower()}.yaml").read_text()


RUNNABLE = [kind for kind in all_kinds() if can_run(example(kind))]


@pytest.fixture
def plain_workspace(cluster: Cluster, operator: Operator) -> Iterator[Workspace]:
    """A namespace as people have them, since examples say nothing of security."""
    operator.insist()
    with namespaces.fresh(cluster.api, "e2e") as name:
        yield Workspace(cluster, name)


@pytest.mark.parametrize("kind", RUNNABLE, ids=lambda kind: kind.kind)
def test_the_example_succeeds(plain_workspace: Workspace, image: Callable[[str], str], kind: Kind) -> None:
    """As it stands, but for the images."""
    text = IMAGE.sub(lambda found: image(found[1]), example(kind))
    plain_workspace.cluster.kubectl(f"--namespace={plain_workspace.namespace}", "apply", "--filename=-", given=text)
    api, place = plain_workspace.cluster.api, kind.resource.path(plain_workspace.namespace)

    def succeeded() -> bool:
        [job] = api.list(place)
        assert not is_true(job, "Failed"), job["status"]
        return is_true(job, "Succeeded")

    until(f"the {kind.kind} of examples/ to succeed", succeeded, deadline=START)
