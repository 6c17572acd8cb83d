"""Whatever a reader may copy is accepted by the real API server, unknown fields refused."""

import json

import pytest

from harness.drivers.operator_process import install_custom_resources
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from tests import doc_manifests
from tests.doc_manifests import Manifest


@pytest.fixture
def reader(cluster: Cluster, namespace: str) -> "Reader":
    """Somebody with a namespace of his own."""
    install_custom_resources(cluster)
    return Reader(cluster, namespace)


class Reader:
    """Tries what he has read."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace

    def applies(self, *objects: Object) -> list[str]:
        """Everything at once, as a dry run on the server; returns what was accepted."""
        mine = [{**one, "metadata": _without_namespace(one["metadata"])} for one in objects]
        options = ("--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts", "--output=name")
        written = "\n---\n".join(json.dumps(one) for one in mine)
        said = self._cluster.kubectl(f"--namespace={self._namespace}", "apply", *options, "--filename=-", given=written)
        return said.splitlines()


@pytest.mark.parametrize("manifest", doc_manifests.examples(), ids=str)
def test_an_example_is_accepted(reader: Reader, manifest: Manifest) -> None:
    assert len(reader.applies(*manifest.objects)) == len(manifest.objects)


@pytest.mark.parametrize("manifest", doc_manifests.blocks(), ids=str)
def test_a_block_of_the_docs_is_accepted(reader: Reader, manifest: Manifest) -> None:
    assert len(reader.applies(*manifest.objects)) == len(manifest.objects)


def test_a_field_that_is_not_there_is_found(reader: Reader) -> None:
    """Else the tests above would pass whatever the docs say."""
    example = next(one for manifest in doc_manifests.examples() for one in manifest.objects if one["kind"] == "JAXJob")
    with pytest.raises(TestbedError, match="field not declared in schema"):
        reader.applies({**example, "spec": {**example["spec"], "replicas": 3}})


def _without_namespace(metadata: Object) -> Object:
    """The one that a page names is not in this cluster."""
    return {key: value for key, value in metadata.items() if key != "namespace"}
