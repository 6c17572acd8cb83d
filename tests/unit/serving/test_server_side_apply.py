"""What is remembered of objects goes with them."""

import asyncio
from typing import TYPE_CHECKING, cast

from harness.fakes.api_server import with_metadata
from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.server_side_apply import Applier, digest
from kubedl.serving.naming import APPLIED
from tests.training_builders import NAMESPACE
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import inference, version

if TYPE_CHECKING:
    from kubedl.kube.client import Client

BODY = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "one", "namespace": NAMESPACE},
    "spec": {},
}


def test_of_what_is_gone_nothing_is_remembered(runner: asyncio.Runner) -> None:
    """Else an operator would remember every object that it ever made; what is only changed stays known."""
    stage = Stage(runner, inference(), version())
    applier = Applier(cast("Client", stage.client), Expectations({}), APPLIED)
    made = runner.run(applier.apply(stage.inference, DEPLOYMENTS, BODY, None))
    assert stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, "one")).metadata.annotations[APPLIED] == digest(BODY)
    touched = with_metadata(made, generation=made.metadata.generation + 1)
    applier.forget(made, touched)
    assert not applier.is_current(BODY, touched)
    applier.forget(touched, None)
    assert applier.is_current(BODY, touched)
