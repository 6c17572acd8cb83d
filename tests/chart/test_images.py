"""Where images come from, and with which pull secrets."""

import re
from typing import Any

import pytest
import yaml

from harness.drivers.helm import CHART, Helm
from kubedl.training.observed import Settings
from testbed.errors import TestbedError
from tests.chart.rendered import arguments, the

TAG = {"tag": "1"}


def images(helm: Helm, values: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The operator's image, and those in its arguments."""
    made = helm.template({"crds": {"install": False}, **values})
    [container] = the(made, "Deployment")["spec"]["template"]["spec"]["containers"]
    [test] = the(made, "Pod")["spec"]["containers"]
    assert test["image"] == container["image"]
    given = [*arguments(made), *test["args"]]
    named = dict(one.removeprefix("--").split("=", 1) for one in given if "image=" in one)
    return container["image"], named


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ({"image": {"repository": "ml/kubedl", **TAG}}, "ml/kubedl:1"),
        ({"image": {"repository": "ml/kubedl", "registry": "hub.example", **TAG}}, "hub.example/ml/kubedl:1"),
        ({"image": {"repository": "kubedl", "registry": "hub.example/a/", **TAG}}, "hub.example/a/kubedl:1"),
        (
            {
                "image": {"repository": "kubedl", "registry": "hub.example", **TAG},
                "global": {"imageRegistry": "mirror.example"},
            },
            "mirror.example/kubedl:1",
        ),
        (
            {"image": {"repository": "hub:5000/kubedl", **TAG}, "global": {"imageRegistry": "mirror.example"}},
            "hub:5000/kubedl:1",
        ),
        (
            {"image": {"repository": "localhost/kubedl", **TAG}, "global": {"imageRegistry": "mirror.example"}},
            "localhost/kubedl:1",
        ),
    ],
)
def test_a_registry_is_put_before_a_repository_without_one(helm: Helm, values: dict[str, Any], image: str) -> None:
    """For all processes, as they are one image."""
    found, named = images(helm, values)
    assert (found, named["packer-image"], named["image"]) == (image, image, image)


def test_a_mirror_has_the_other_images_too(helm: Helm) -> None:
    """Unless they name their registry themselves."""
    mirrored = {"global": {"imageRegistry": "mirror.example/hub"}, "test": {"image": "busybox:1"}}
    _, named = images(helm, {**mirrored, "operator": {"packerImage": "kubedl:2"}})
    assert named == {
        "git-image": f"mirror.example/hub/{Settings.git_image}",
        "packer-image": "mirror.example/hub/kubedl:2",
        "image": "mirror.example/hub/busybox:1",
    }
    own = {"gitImage": "hub.example/git:1", "packerImage": "hub.example/kubedl:2"}
    _, named = images(helm, {**mirrored, "operator": own, "test": {"image": "hub.example/busybox:1"}})
    assert set(named.values()) == {"hub.example/git:1", "hub.example/kubedl:2", "hub.example/busybox:1"}


def test_two_registries_are_refused(helm: Helm) -> None:
    with pytest.raises(TestbedError, match=r"image\.repository names a registry too"):
        helm.template({"image": {"registry": "hub.example", "repository": "other.example/kubedl"}})


def test_the_image_that_fetches_code_has_a_version() -> None:
    """Without one, every node could run another git."""
    assert ":" in Settings.git_image
    assert not Settings.git_image.endswith(":latest")


def test_pull_secrets_of_all_charts_are_used_too(helm: Helm) -> None:
    """As names or as objects, each once; by the operator, by the test and by the job of the test."""
    made = helm.template(
        {"imagePullSecrets": [{"name": "own"}], "global": {"imagePullSecrets": ["shared", {"name": "own"}]}}
    )
    expected = [{"name": "own"}, {"name": "shared"}]
    assert the(made, "Deployment")["spec"]["template"]["spec"]["imagePullSecrets"] == expected
    assert the(made, "Pod")["spec"]["imagePullSecrets"] == expected
    given = the(made, "Pod")["spec"]["containers"][0]["args"]
    assert [one for one in given if "pull-secret" in one] == ["--pull-secret=own", "--pull-secret=shared"]


def test_without_pull_secrets_none_are_named(helm: Helm) -> None:
    """A pod that names some gets none from its ServiceAccount."""
    made = helm.template()
    assert "imagePullSecrets" not in the(made, "Deployment")["spec"]["template"]["spec"]
    assert "imagePullSecrets" not in the(made, "Pod")["spec"]


def test_pull_secrets_of_build_pods_are_named_as_the_page_says(helm: Helm) -> None:
    page = (CHART.parents[1] / "docs/how-to/private-registries.md").read_text()
    [shown] = re.findall(r'```yaml title="values.yaml"\n(.*?)```', page, re.DOTALL)
    assert "--packer-pull-secrets=hub" in arguments(helm.template(yaml.safe_load(shown)))
