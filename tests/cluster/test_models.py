"""Model versions on a real API server: what it refuses, what is made, and what is left when they go."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.drivers.cluster_watcher import MODEL
from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.build import BUILT, DIGEST, PlayedBuild
from harness.scenarios.driver import ScenarioDriver
from harness.scenarios.models import CLAIM, EFS
from kubedl.api.model import MODEL_VERSIONS
from kubedl.kube import codec
from kubedl.models import build_pod
from testbed import namespaces
from testbed.api import ApiError, Object
from testbed.cluster import Cluster

VERSIONS = f"{MODEL}/namespaces/{{}}/modelversions"
MODELS = f"{MODEL}/namespaces/{{}}/models"
TRY = "dryRun=All&fieldValidation=Strict"
LOCAL = {"localStorage": {"path": "/models/resnet", "nodeName": "nowhere"}}
NFS = {"nfs": {"server": "nas.example.internal", "path": "/foo", "mountPath": "/kubedl/models"}}
MANIFEST = Path(__file__).parents[1] / "manifests" / "modelversion.yaml"


@pytest.fixture
def world(ready_stage: Stage, namespace: str) -> Iterator[ScenarioDriver]:
    """A namespace that an operator serves."""
    yield from served(ready_stage, namespace)


@pytest.fixture
def restricted(cluster: Cluster, ready_stage: Stage) -> Iterator[ScenarioDriver]:
    """One that admits only what PodSecurity *restricted* allows."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    with namespaces.fresh(cluster.api, "restricted", labels) as namespace:
        yield from served(ready_stage, namespace)


def served(stage: Stage, namespace: str) -> Iterator[ScenarioDriver]:
    """An operator for a namespace."""
    arguments = ("--no-leader-election", "--namespace", namespace)
    with ProxiedOperator(stage, namespace, arguments) as operator:
        operator.start()
        yield ScenarioDriver(stage.watcher, namespace, stage.node, tend=operator.insist)


def body(**spec: object) -> Object:
    """A version as its user writes it."""
    whole = {"modelName": "resnet", "imageRepo": "hub/resnet", "imageTag": "v1", "storage": CLAIM, **spec}
    return {
        "apiVersion": MODEL_VERSIONS.api_version,
        "kind": MODEL_VERSIONS.kind,
        "metadata": {"name": "version"},
        "spec": {name: deepcopy(value) for name, value in whole.items() if value is not None},
    }


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"modelName": None}, "spec.modelName: Invalid value: the name of the Model"),
        ({"modelName": "ResNet"}, "spec.modelName: Invalid value: the name of the Model"),
        ({"imageRepo": None}, "spec.imageRepo: Invalid value: the repository to push the image to"),
        ({"imageRepo": "https://hub/resnet"}, "spec.imageRepo: Invalid value: the repository"),
        ({"imageTag": "v 1"}, "spec.imageTag: Invalid value: a tag"),
        ({"parent": "hub/resnet:v0"}, "spec.parent: Invalid value: a model image by digest"),
        ({"storage": None}, "spec.storage: Required value: the storage of the model files"),
        ({"storage": {}}, "spec.storage: Invalid value: set exactly one of localStorage, nfs, AWSEfs and claim"),
        (
            {"storage": LOCAL | NFS},
            "spec.storage: Invalid value: set exactly one of localStorage, nfs, AWSEfs and claim",
        ),
        ({"storage": {"localStorage": {"path": "/m"}}}, "localStorage.nodeName: Required value: the node of the"),
        (
            {"storage": {"localStorage": {"path": "/m", "nodeName": "Node 1!"}}},
            "localStorage.nodeName: Invalid value: a value of the node label kubernetes.io/hostname",
        ),
        (
            {"storage": {"localStorage": {"path": "m", "nodeName": "a"}}},
            "localStorage.path: Invalid value: an absolute",
        ),
        ({"storage": {"nfs": {"server": "a", "path": "/a/../b"}}}, "storage.nfs.path: Invalid value: an absolute path"),
        ({"storage": {"nfs": {"server": ""}}}, "spec.storage.nfs.server in body should be at least 1 chars long"),
        ({"storage": {"claim": {"claimName": "c", "subPath": "../x"}}}, "claim.subPath: Invalid value: a path inside"),
        ({"storage": {"AWSEfs": {}}}, "spec.storage.AWSEfs.volumeHandle: Required value"),
        ({"registry": {"credentials": {}}}, "spec.registry.credentials.secretName: Required value"),
        ({"registry": {"authority": {}}}, "spec.registry.authority.secretName: Required value"),
        (
            {"registry": {"insecure": True, "authority": {"secretName": "ca"}}},
            "spec.registry.authority: Invalid value: insecure disables the check of the certificate",
        ),
        ({"registry": {"password": "x"}}, 'unknown field "spec.registry.password"'),
    ],
)
def test_a_version_that_cannot_be_built_is_refused(
    ready_stage: Stage, namespace: str, spec: dict[str, Any], text: str
) -> None:
    """With the field, at admission."""
    with pytest.raises(ApiError) as refused:
        ready_stage.cluster.api.create(f"{VERSIONS.format(namespace)}?{TRY}", body(**spec))
    assert text in str(refused.value)


def test_manifests_of_the_first_kubedl_are_accepted(ready_stage: Stage, namespace: str) -> None:
    """Unchanged."""
    for document in yaml.safe_load_all(MANIFEST.read_text()):
        place = MODELS if document["kind"] == "Model" else VERSIONS
        document["metadata"]["namespace"] = namespace
        made = ready_stage.cluster.api.create(f"{place.format(namespace)}?{TRY}", document)
        assert made["spec"] == document["spec"]


def test_a_version_is_made_once(ready_stage: Stage, namespace: str) -> None:
    """No part of its spec changes, by an edit or by an addition; labels do."""
    place = VERSIONS.format(namespace)
    ready_stage.cluster.api.create(place, body())
    server = ready_stage.watcher.connection
    for change in (
        {"imageTag": "v2"},
        {"imageTag": None},
        {"createdBy": "me"},
        {"storage": {"claim": {"claimName": "other"}}},
        {"registry": {"insecure": True}},
    ):
        with pytest.raises(ApiError, match="immutable: create a new ModelVersion"):
            server.patch(f"{place}/version", {"spec": change})
    server.patch(f"{place}/version", {"metadata": {"labels": {"stage": "candidate"}}})


@pytest.mark.parametrize("storage", [CLAIM, EFS, NFS, LOCAL])
def test_the_build_pod_is_one_that_the_api_server_takes(ready_stage: Stage, namespace: str, storage: Object) -> None:
    """Every field by its name, none unknown."""
    api = ready_stage.cluster.api
    more: Object = {"signing": {"secretName": "keys"}, "registry": {"authority": {"secretName": "company"}}}
    made = api.create(f"{VERSIONS.format(namespace)}?{TRY}", body(storage=storage, **more))
    version = MODEL_VERSIONS.decoder.decode(codec.encode(made))
    assert version.spec.storage is not None
    pod = build_pod.render(version, version.spec.storage, 1, build_pod.Packer("packer"))
    api.create(f"/api/v1/namespaces/{namespace}/pods?{TRY}", pod)


def test_a_version_is_built_under_restricted_and_shown(restricted: ScenarioDriver, ready_stage: Stage) -> None:
    """Nothing of the build pod is refused there; kubectl prints what people look for."""
    build = PlayedBuild(restricted, "version")
    build.create(storage=CLAIM, createdBy="user1")
    build.end(1, 0, **BUILT)
    build.until(imageBuildPhase="ImageBuildSucceeded", image=f"hub/resnet@{DIGEST}")
    where = f"--namespace={restricted.namespace}"
    ready_stage.cluster.kubectl(where, "wait", "--for=condition=Ready", "--timeout=10s", "modelversion/version")
    head, line = ready_stage.cluster.kubectl(where, "get", "modelversions").splitlines()
    assert head.split() == ["NAME", "MODEL", "IMAGE", "CREATED-BY", "FINISH-TIME"]
    assert line.split()[:4] == ["version", "resnet", f"hub/resnet@{DIGEST}", "user1"]
    build.until_model(versionCount=1, latestVersion={"modelVersion": "version", "imageName": f"hub/resnet@{DIGEST}"})
    head, line = ready_stage.cluster.kubectl(where, "get", "models").splitlines()
    assert head.split() == ["NAME", "LATEST-VERSION", "LATEST-IMAGE", "VERSIONS", "AGE"]
    assert line.split()[:4] == ["resnet", "version", f"hub/resnet@{DIGEST}", "1"]


def test_a_directory_of_a_node_is_refused_where_pods_are_restricted(
    restricted: ScenarioDriver, ready_stage: Stage
) -> None:
    """In the API server's own words, and without asking it all the time."""
    build = PlayedBuild(restricted, "version")
    build.create(storage=LOCAL)
    restricted.until(
        "the refusal", lambda: 'uses restricted volume type "hostPath"' in build.status().get("message", "")
    )
    assert build.status()["imageBuildPhase"] == "ImageBuilding"
    [ready] = build.status()["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "PodForbidden")
    assert build.pod() is None


def test_a_model_outlives_its_deletion_while_versions_name_it(world: ScenarioDriver) -> None:
    """As it was; and no version goes with it."""
    build = PlayedBuild(world, "version")
    build.create(storage=CLAIM)
    build.until_model(versionCount=1)
    server, place = world.watcher.connection, f"{MODELS.format(world.namespace)}/resnet"
    server.patch(place, {"spec": {"description": "cats, dogs"}})
    before = server.get(place)["metadata"]["uid"]
    server.delete(place)
    world.until("another Model", lambda: _uid(world) not in (None, before))
    assert server.get(place)["spec"] == {"description": "cats, dogs"}
    build.until_model(versionCount=1)
    build.until(imageBuildPhase="ImageBuilding")


def test_deleting_a_version_leaves_nothing_but_its_model(world: ScenarioDriver) -> None:
    """The build pod, the claim and the volume behind it are gone."""
    build = PlayedBuild(world, "version")
    build.create(storage=EFS)
    world.until("its build pod", lambda: build.pod() is not None)
    server = world.watcher.connection
    claims = f"/api/v1/namespaces/{world.namespace}/persistentvolumeclaims"
    volumes = f"/api/v1/persistentvolumes?labelSelector=model.kubedl.io/claim-namespace={world.namespace}"
    assert [len(server.get(path)["items"]) for path in (claims, volumes)] == [1, 1]
    build.delete()
    build.until_no_pod()
    world.until("nothing to be left", lambda: not server.get(claims)["items"] and not server.get(volumes)["items"])


def test_a_job_says_where_its_model_went(world: ScenarioDriver) -> None:
    """The version leads back to it, with the image that it was trained with."""
    wish = {"modelName": "resnet", "imageRepo": "hub/resnet", "storage": CLAIM}
    job = world.create("TFJob", "train", {"Worker": 1}, modelVersion=wish)
    job.until_pods(worker_0=0)
    job.run("worker-0")
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
    name = str(job.status()["modelVersionName"])
    seen = job.seen() or {}
    assert name == f"mv-train-{seen['metadata']['uid'][:5]}"
    found = world.watcher.connection.get(f"{VERSIONS.format(world.namespace)}/{name}")
    assert found["metadata"]["labels"]["training.kubedl.io/job-uid"] == seen["metadata"]["uid"]
    assert "ownerReferences" not in found["metadata"]
    assert (found["spec"]["createdBy"], found["spec"]["origin"]["jobKind"]) == ("train", "TFJob")
    build = PlayedBuild(world, name)
    world.until("its build", lambda: build.pod() is not None)
    pod: Object = build.pod() or {}
    [variable] = pod["spec"]["containers"][0]["env"]
    assert json.loads(variable["value"])["origin"]["jobName"] == "train"


def test_a_job_that_fails_leaves_no_model(world: ScenarioDriver) -> None:
    """Whatever lies in its storage."""
    wish = {"modelName": "resnet", "imageRepo": "hub/resnet", "storage": CLAIM}
    job = world.create("TFJob", "train", {"Worker": {"replicas": 1, "restartPolicy": "Never"}}, modelVersion=wish)
    job.until_pods(worker_0=0)
    job.run("worker-0")
    job.fail("worker-0", 1)
    job.until_status(state="Failed")
    assert "modelVersionName" not in job.status()
    assert world.watcher.all("modelversions", world.namespace) == {}


def test_a_jobs_storage_is_chosen_once(world: ScenarioDriver) -> None:
    """Its pods would write to two places; another tag is fine."""
    wish = {"modelName": "resnet", "imageRepo": "hub/resnet", "storage": CLAIM}
    job = world.create("TFJob", "train", {"Worker": 1}, modelVersion=wish)
    job.change(modelVersion={"imageTag": "v2"})
    for change in ({"storage": {"claim": {"claimName": "other"}}}, None):
        with pytest.raises(ApiError, match="immutable: the storage of the model"):
            job.change(modelVersion=change)


def _uid(world: ScenarioDriver) -> str | None:
    found = world.watcher.get("models", world.namespace, "resnet")
    return found["metadata"]["uid"] if found is not None else None
