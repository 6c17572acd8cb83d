"""Lives of model versions: built at once, after a failure, or never; and those that a job leaves behind."""

from harness.fakes.build import BUILT, DIGEST, PlayedBuild
from harness.fakes.kruise import PlayedKruise
from harness.scenarios import scenario
from harness.scenarios.driver import ScenarioDriver

CLAIM = {"claim": {"claimName": "models", "subPath": "resnet"}}
EFS = {"AWSEfs": {"volumeHandle": "fs-1:/resnet"}}
BUILDING, FAILED, SUCCEEDED = "ImageBuilding", "ImageBuildFailed", "ImageBuildSucceeded"


@scenario
def model_version_whole_life(world: ScenarioDriver) -> None:
    """Built at the second attempt; its Model is made and lists it; the pod that built it is gone, a failed one too."""
    build = PlayedBuild(world, "first")
    build.create(storage=CLAIM)
    build.end(1, 1, reason="RegistryDown", message="no answer")
    build.end(2, 0, **BUILT)
    build.until(imageBuildPhase=SUCCEEDED, image=f"hub/resnet@{DIGEST}", attempts=2)
    build.until_no_pod()
    build.until_model(versionCount=1, latestVersion={"modelVersion": "first", "imageName": f"hub/resnet@{DIGEST}"})


@scenario
def model_version_refused_for_good(world: ScenarioDriver) -> None:
    """What trying again cannot help is not tried again, and its pod stays for people to read its log."""
    build = PlayedBuild(world, "second")
    build.create(storage=CLAIM)
    build.end(1, 2, reason="TagConflict", message="take another tag")
    build.until(imageBuildPhase=FAILED, attempts=1, message="take another tag")
    build.until_model(versionCount=1)


@scenario
def model_version_in_efs(world: ScenarioDriver) -> None:
    """A volume and a claim come before the pod, each once; with the version they go, the volume last."""
    build = PlayedBuild(world, "stored")
    build.create(storage=EFS)
    build.end(1, 0, **BUILT)
    build.until(imageBuildPhase=SUCCEEDED)
    build.until_no_pod()
    volumes = f"/api/v1/persistentvolumes?labelSelector=model.kubedl.io/claim-namespace={world.namespace}"
    server = world.watcher.connection
    world.until(
        "its volume to be bound", lambda: [one["status"]["phase"] for one in server.get(volumes)["items"]] == ["Bound"]
    )
    build.delete()
    world.until("its volume to be gone", lambda: server.get(volumes)["items"] == [])
    build.until_no_versions()


@scenario
def model_version_pulled_to_nodes(world: ScenarioDriver) -> None:
    """One ImagePullJob, after the build and not before; what came of it is told, and no second one is made."""
    build, kruise = PlayedBuild(world, "pulled"), PlayedKruise(world, "pulled")
    build.create(storage=CLAIM, preWarm={"nodeSelector": {"pool": "gpu"}})
    build.end(1, 0, **BUILT)
    build.until(imageBuildPhase=SUCCEEDED)
    world.until("the job that pulls it", lambda: kruise.job() is not None)
    kruise.say(desired=2, succeeded=2, completionTime="2026-01-01T00:00:00Z")
    world.until("word of it", lambda: build.condition("PreWarmed").get("reason") == "Pulled")
    kruise.delete()
    build.until_no_pod()
    build.until_model(versionCount=1)


@scenario
def job_leaves_a_model(world: ScenarioDriver) -> None:
    """Exactly one version, when the job has succeeded and not before; its build goes on by itself."""
    wish = {"modelName": "resnet", "imageRepo": "hub/resnet", "imageTag": "v1", "storage": CLAIM}
    job = world.create("TFJob", "leaves", {"Worker": 2}, modelVersion=wish, cleanPodPolicy="None")
    job.until_pods(worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
    build = PlayedBuild(world, str(job.status()["modelVersionName"]))
    build.end(1, 0, **BUILT)
    build.until(imageBuildPhase=SUCCEEDED)
    build.until_no_pod()
    build.until_model(versionCount=1)
