"""From a finished job to an image that a plain pod mounts: the same bytes, whatever storage they lay in."""

from collections.abc import Callable
from pathlib import Path

import yaml

from harness.drivers.operator_process import Operator
from testbed.api import Object, is_true
from testbed.waiting import until
from tests.builders import pod
from tests.e2e.models.observed_version import ObservedVersion, sums_in_image, sums_of
from tests.e2e.training import checkpoints
from tests.e2e.workspace import Workspace

MANIFEST = Path(__file__).parents[2] / "manifests" / "tfjob-with-model.yaml"
SCRIPT = Path(__file__).parent / "workloads" / "export.py"
JOBS = "/apis/training.kubedl.io/v1alpha1/namespaces/{}/tfjobs"
CLAIM = {"claim": {"claimName": checkpoints.CLAIM}}
TRAINED = 420  # seconds: TensorFlow is imported by several pods at once on few cores
PREDICT = "import tensorflow as tf; print(tf.saved_model.load('/image/models')(tf.constant([2.0])).numpy()[0])"


def adapted(image: str, repository: str, directory: Path) -> Object:
    """The manifest of the first KubeDL, with an image, a registry, a node and a script that are there."""
    job: Object = yaml.safe_load(MANIFEST.read_text())
    wish = job["spec"]["modelVersion"]
    wish |= {"imageRepo": repository, "registry": {"insecure": True}}
    wish["storage"]["localStorage"] |= {"path": str(directory), "nodeName": "node1"}
    role = job["spec"]["tfReplicaSpecs"]["Worker"]
    body = pod("x", image).running("python3", "/scripts/export.py").build()["spec"]
    body["containers"][0] |= {"name": "tensorflow", "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}]}
    body["volumes"] = [{"name": "scripts", "configMap": {"name": "scripts"}}]
    role["template"] = {"spec": body}
    return job


def test_a_job_becomes_an_image_that_a_pod_mounts(
    open_workspace: Workspace, operator: Operator, image: Callable[[str], str], empty: Path, base_image: str
) -> None:
    """A real SavedModel: trained on node 1, packed, mounted on node 2, byte by byte the same, and it predicts."""
    operator.insist()
    workspace, tensorflow = open_workspace, image("tensorflow")
    workspace.create("configmaps", {"metadata": {"name": "scripts"}, "data": {"export.py": SCRIPT.read_text()}})
    job = adapted(tensorflow, ObservedVersion(workspace, "").repository, empty)
    place = f"{JOBS.format(workspace.namespace)}/{job['metadata']['name']}"
    workspace.cluster.api.create(JOBS.format(workspace.namespace), job)
    until("the job to succeed", lambda: is_true(workspace.cluster.api.get(place), "Succeeded"), deadline=TRAINED)
    # Nodes of the test bed share the machine's directories, so the model would be found wherever it was written.
    assert workspace.pod(f"{job['metadata']['name']}-worker-0")["spec"]["nodeName"] == "node1"
    done = workspace.cluster.api.get(place)
    version = ObservedVersion(workspace, done["status"]["modelVersionName"])
    reference = version.built()
    assert sums_in_image(workspace, reference, base_image) == sums_of(empty)
    origin = version.body["spec"]["origin"]
    assert (origin["jobName"], origin["jobUid"]) == (job["metadata"]["name"], done["metadata"]["uid"])
    assert "@sha256:" in origin["trainerImages"][tensorflow]
    predictor = pod("predictor", tensorflow).mounting_image(reference, "/image").on("node2")
    workspace.start(predictor.running("python3", "-c", PREDICT))
    workspace.succeeded("predictor", deadline=TRAINED)
    assert abs(float(workspace.logs("predictor").splitlines()[-1]) - 7) < 0.1


def test_a_claim_is_packed_under_restricted_and_reused(
    workspace: Workspace, operator: Operator, directory: Path, base_image: str
) -> None:
    """A second version with one changed file uploads that file; the tag of the first stays as it is."""
    operator.insist()
    with checkpoints.shared(workspace, directory):
        first, second, third = (ObservedVersion(workspace, name) for name in ("first", "second", "third"))
        first.create(CLAIM)
        image = first.built()
        assert sums_in_image(workspace, image, base_image) == sums_of(directory)
        (directory / "variables" / "more.bin").write_bytes(b"another")
        second.create(CLAIM, tag="v2")
        assert second.built() != image
        assert second.status["layersReused"] > 0
        assert second.status["bytesUploaded"] < first.status["bytesUploaded"]
        assert sums_in_image(workspace, second.built(), base_image, "again") == sums_of(directory)
        third.create(CLAIM, tag="v1")
        assert third.failed() == "TagConflict"
        assert "image" not in third.status


def test_a_single_file_of_a_node_keeps_its_name(
    open_workspace: Workspace, operator: Operator, directory: Path, base_image: str
) -> None:
    """Nothing beside it is packed."""
    operator.insist()
    version = ObservedVersion(open_workspace, "file")
    version.create({"localStorage": {"path": str(directory / "weights.bin"), "nodeName": "node2"}})
    sums = sums_of(directory)
    assert sums_in_image(open_workspace, version.built(), base_image) == {"weights.bin": sums["weights.bin"]}


def test_a_secret_that_is_not_there_is_named(workspace: Workspace, operator: Operator, directory: Path) -> None:
    """By the kubelet, whose words are passed on; the build goes on when somebody makes it."""
    operator.insist()
    with checkpoints.shared(workspace, directory):
        version = ObservedVersion(workspace, "waiting")
        version.create(CLAIM, registry={"insecure": True, "credentials": {"secretName": "hub"}})
        version.says("NotStarted", 'secret "hub" not found')
        secret = {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": '{"auths": {}}'}}
        workspace.create("secrets", {"metadata": {"name": "hub"}, **secret})
        version.built()


def test_an_nfs_server_that_cannot_be_mounted_is_told(open_workspace: Workspace, operator: Operator) -> None:
    """Nobody listens there; without the kernel's client the mount fails even before."""
    operator.insist()
    version = ObservedVersion(open_workspace, "far")
    version.create({"nfs": {"server": "127.0.0.1", "path": "/exports"}})
    version.says("NotStarted", 'MountVolume.SetUp failed for volume "modelvolume"')


def test_an_nfs_server_is_refused_where_pods_are_restricted(workspace: Workspace, operator: Operator) -> None:
    """By the API server; a claim is what is allowed there."""
    operator.insist()
    version = ObservedVersion(workspace, "far")
    version.create({"nfs": {"server": "127.0.0.1", "path": "/exports"}})
    version.says("PodForbidden", 'uses restricted volume type "nfs"')
