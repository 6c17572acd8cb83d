"""Commands that are offered can be run: what does not exist is not asked about, and a name is one word of a shell."""

import pytest

from kubedl.why.facts import registry_of
from kubedl.why.judging import judge
from kubedl.why.rules import ALL
from tests.unit.why.building import Case, condition, inference, job, waiting, waits
from tests.unit.why.cases_running import CASES as RUNNING
from tests.unit.why.cases_waiting import CASES as WAITING


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("ModelNotBuilt", "kubedl why modelversion/flowers-v2"),
        ("ModelVersionNotFound", "kubectl get modelversions -n "),
    ],
)
def test_a_model_version_that_does_not_exist_is_not_asked_about(reason: str, command: str) -> None:
    diagnosis = judge(Case("", inference(reason=reason, message="words")).evidence(), ALL)
    assert diagnosis.rule == "serve.version"
    assert len(diagnosis.tries) == 1
    assert diagnosis.tries[0].command.startswith(command)


def test_a_name_that_somebody_else_chose_runs_nothing() -> None:
    """A variable may name a Secret as it likes, and a file of evidence anything."""
    case = Case("", waits("x", "…"), {"pods": [waiting("CreateContainerConfigError", 'secret "a; id" not found')]})
    (create,) = judge(case.evidence(), ALL).tries
    assert create.command == "kubectl create secret generic 'a; id' -n team --from-literal=KEY=VALUE"
    held = job("Suspended", spec={"suspend": True}, metadata={"name": "$(id)"})
    assert judge(Case("", held).evidence(), ALL).tries[0].command == "kubedl resume '$(id)' -n team"
    unknown = judge(Case("", job("Running", ready="1/4", metadata={"name": "$(id)"})).evidence(), ALL)
    assert unknown.tries[0].command == "kubedl why '$(id)' -o evidence > '$(id).json'"


def test_a_queue_is_started_in_its_namespace() -> None:
    (start,) = judge(WAITING["queue.stopped"].evidence(), ALL).tries
    assert start.command.startswith("kubectl patch ClusterQueue team-a -n team --type merge -p ")


def test_a_queue_that_nobody_stopped_is_not_started() -> None:
    """Its flavors are missing, for example, and Kueue says that it is inactive."""
    case, said = WAITING["queue.stopped"], "Can't admit new workloads: references missing ResourceFlavor(s): a100"
    shared = {"spec": {"stopPolicy": "None"}, "status": {"conditions": [condition("Active", "False", "x", said)]}}
    found = judge(Case("", case.manifest, {**case.parts, "clusterqueue": shared}).evidence(), ALL)
    assert (found.first, found.tries) == ("Queue team-a is not active: nothing in it starts.", [])
    assert ("Kueue", said) in found.supporting


def test_logs_are_those_of_one_service() -> None:
    """Predictors of others may have the same name, which is `main` by default."""
    (logs,) = judge(RUNNING["serve.unready"].evidence(), ALL).tries
    assert logs.command.endswith(" -l serving.kubedl.io/inference=flowers,serving.kubedl.io/predictor=main")


def test_a_secret_for_an_image_names_its_registry() -> None:
    (create,) = judge(RUNNING["image.unauthorized"].evidence(), ALL).tries
    assert " --docker-server=docker.io " in create.command


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("python:3", "docker.io"),
        ("team/torch:2", "docker.io"),
        ("registry.example/team/torch", "registry.example"),
        ("registry:5000/torch", "registry:5000"),
        ("localhost/torch", "localhost"),
    ],
)
def test_the_registry_of_an_image(image: str, registry: str) -> None:
    assert registry_of(image) == registry
