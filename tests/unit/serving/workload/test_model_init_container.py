"""How the model gets into pods, as the controller decides it."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from kubedl.kube.errors import ForbiddenError
from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.kube.types.core import PODS, SERVICE_ACCOUNTS, PullSecret, ServiceAccount
from kubedl.kube.types.meta import ObjectMeta
from kubedl.serving.workload.deployment import IMAGE, LOADER
from kubedl.serving.workload.model_init_container import Program
from tests.training_builders import NAMESPACE
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import DIGEST, NAME, OTHER, inference, predictor, version, waiting_pod

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


@pytest.mark.parametrize(("way", "named"), [("ImageVolume", ["regcred", "hub"]), ("InitCopy", ["hub"])])
def test_the_loaders_image_is_pulled_with_the_administrators_secrets(
    runner: asyncio.Runner, way: str, named: list[str]
) -> None:
    """Beside those of the account, which a pod with its own does not get."""
    stage = Stage(runner, inference(predictor(loader=way)), version())
    stage.api.put(SERVICE_ACCOUNTS, account("company"))
    stage.program = Program("packer:1", pull_secrets=("hub",))
    stage.start()
    stage.look()
    assert pull_secrets(stage) == ["company", *named]


@pytest.mark.parametrize("way", ["ImageVolume", "InitCopy"])
def test_a_new_secret_of_the_administrator_reaches_pods_that_cannot_pull(runner: asyncio.Runner, way: str) -> None:
    """And no others: an upgrade restarts no server."""
    stage = Stage(runner, inference(predictor(loader=way)), version())
    stage.look()
    before = pull_secrets(stage)
    stage.program = Program("packer:1", pull_secrets=("hub",))
    stage.start()
    stage.settle()
    assert pull_secrets(stage) == before
    stage.api.put(PODS, waiting_pod("ImagePullBackOff"))
    stage.settle()
    assert pull_secrets(stage) == [*before, "hub"]


def test_a_copys_password_is_not_the_administrators_secret(runner: asyncio.Runner) -> None:
    """That Secret is for KubeDL's image; the model may be in another registry."""
    stage = Stage(runner, inference(predictor(loader="InitCopy")), version())
    stage.program = Program("packer:1", pull_secrets=("hub",))
    stage.start()
    stage.look()
    volumes = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]["spec"]["volumes"]
    assert [volume["secret"]["secretName"] for volume in volumes if "secret" in volume] == ["regcred"]


@pytest.mark.parametrize("strips", [False, True])
@pytest.mark.parametrize(
    ("strategy", "image"), [({"type": "Recreate"}, OTHER), ({"maxUnavailable": 1, "maxSurge": 0}, OTHER), ({}, DIGEST)]
)
def test_a_full_quota_does_not_stop_an_update_that_frees_it(
    runner: asyncio.Runner, strategy: dict[str, Any], image: str, strips: bool
) -> None:
    """The model gets into the new pods as into the old ones; without room for any pod the refusal is told."""
    stage = Stage(runner, inference(predictor(strategy=strategy)), version(), version("v2", OTHER))
    stage.client.strips = strips
    stage.look()
    before = stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"]
    stage.serves(MAIN)
    stage.settle()
    stage.client.full = True
    stage.edit(inference(predictor(strategy=strategy, modelVersion="v2")))
    with suppress(ForbiddenError):
        stage.look()
    notes = stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"]
    assert (notes[IMAGE], notes[LOADER]) == (f"hub/resnet@{image}", before[LOADER])
    assert before[LOADER] == ("InitCopy" if strips else "ImageVolume")


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
