"""How the model gets into pods, as the controller decides it."""

import asyncio
from typing import Any

from kubedl.serving.loading import Program
from kubedl.serving.objects import DEPLOYMENTS
from tests.unit.serving.inferences import NAME, inference, predictor, version
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


def registry() -> dict[str, Any]:
    """One with a certificate of the company's own authority."""
    return {"authority": {"secretName": "company"}}
