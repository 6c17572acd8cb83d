"""How the model gets into pods, as the controller decides it."""

import asyncio
from typing import Any

import pytest

from kubedl.serving.deployment import LOADER
from kubedl.serving.loading import Program
from kubedl.serving.objects import DEPLOYMENTS, SERVICE_ACCOUNTS, PullSecret, ServiceAccount
from kubedl.wire.core import PODS
from kubedl.wire.meta import ObjectMeta
from tests.training_builders import NAMESPACE
from tests.unit.serving.inferences import NAME, inference, predictor, version, waiting_pod
from tests.unit.serving.stage import Stage

MAIN = f"{NAME}-main"


def loader(stage: Stage) -> dict[str, Any]:
    """The init container, as it was last sent."""
    container: dict[str, Any] = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]["spec"]["initContainers"][0]
    return container


def test_a_copy_comes_from_a_registry_behind_a_proxy_and_an_authority(runner: asyncio.Runner) -> None:
    """Of the version and of the operator, as the build pod has them."""
    stage = Stage(runner, inference(predictor(loader="InitCopy")), version(registry=registry()))
    stage.program = Program("packer:1", {"HTTPS_PROXY": "http://proxy:3128"})
    stage.start()
    stage.look()
    told = {variable["name"]: variable["value"] for variable in loader(stage)["env"]}
    assert told == {"HTTPS_PROXY": "http://proxy:3128", "SSL_CERT_FILE": "/kubedl/authority/ca.crt"}


def account(*secrets: str) -> ServiceAccount:
    """The ServiceAccount of pods that name none."""
    meta = ObjectMeta(name="default", namespace=NAMESPACE, uid="account")
    return ServiceAccount(metadata=meta, image_pull_secrets=tuple(PullSecret(name=name) for name in secrets))


def pull_secrets(stage: Stage) -> list[str]:
    """Of the pods, as they were last sent."""
    found = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]["spec"].get("imagePullSecrets") or ()
    return [one["name"] for one in found]


def test_a_mounted_model_costs_a_pod_none_of_its_accounts_secrets(runner: asyncio.Runner) -> None:
    """A pod that names a pull secret gets none of its account's, so they are named beside regcred."""
    stage = Stage(runner, inference(), version())
    stage.api.put(SERVICE_ACCOUNTS, account("company"))
    stage.look()
    assert pull_secrets(stage) == ["company", "regcred"]


def test_an_account_that_is_put_right_reaches_pods_that_cannot_pull(runner: asyncio.Runner) -> None:
    """And no others: a server that runs has its images."""
    stage = Stage(runner, inference(), version())
    stage.look()
    assert pull_secrets(stage) == ["regcred"]
    stage.api.put(SERVICE_ACCOUNTS, account("company"))
    stage.settle()
    assert pull_secrets(stage) == ["regcred"]
    stage.api.put(PODS, waiting_pod("ImagePullBackOff"))
    stage.settle()
    assert pull_secrets(stage) == ["company", "regcred"]


def test_a_copy_leaves_pull_secrets_to_the_account(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(predictor(loader="InitCopy")), version())
    stage.look()
    assert pull_secrets(stage) == []


def registry() -> dict[str, Any]:
    """One with a certificate of the company's own authority."""
    return {"authority": {"secretName": "company"}}


OLD_RUNTIME = 'failed to generate container "x" spec: failed to mkdir "": mkdir : no such file or directory'


@pytest.mark.parametrize(
    ("reason", "message", "way"),
    [
        ("CreateContainerError", OLD_RUNTIME, "InitCopy"),
        ("ImageVolumeMountFailed", "no such snapshot", "InitCopy"),
        ("CreateContainerError", "context deadline exceeded", "ImageVolume"),
        ("ImagePullBackOff", "back-off", "ImageVolume"),
    ],
)
def test_a_node_that_cannot_mount_images_gets_a_copy(
    runner: asyncio.Runner, reason: str, message: str, way: str
) -> None:
    """The API server knows image volumes and the node's runtime does not, so the loader never runs."""
    stage = Stage(runner, inference(), version())
    stage.look()
    stage.api.put(PODS, waiting_pod(reason, message))
    stage.settle()
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"][LOADER] == way


def test_where_a_volume_was_wished_it_is_told_what_nodes_need(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(predictor(loader="ImageVolume")), version())
    stage.look()
    stage.api.put(PODS, waiting_pod("CreateContainerError", OLD_RUNTIME))
    stage.settle()
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"][LOADER] == "ImageVolume"
    assert stage.ready == ("False", "CreateContainerError")
    assert "image volumes need containerd 2.1" in stage.condition().message
