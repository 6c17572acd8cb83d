"""Every rule has a case, every case is won by its own rule, and no part that is missing makes a rule fail."""

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from kubedl.why import bundle, report
from kubedl.why.judging import judge
from kubedl.why.rules import ALL
from tests.unit.why.building import Case, ended, failed, job, restarting
from tests.unit.why.cases_running import CASES as RUNNING
from tests.unit.why.cases_waiting import CASES as WAITING

CASES = WAITING | RUNNING
BUNDLES = 1000


def test_every_rule_has_a_case() -> None:
    assert sorted(CASES) == sorted(rule.id for rule in ALL)
    assert len(ALL) >= 60


@pytest.mark.parametrize("rule", CASES)
def test_a_case_is_won_by_its_own_rule(rule: str) -> None:
    """All rules judge it, so a new one cannot take the case of another."""
    diagnosis = judge(CASES[rule].evidence(), ALL)
    assert (diagnosis.first, diagnosis.rule) == (CASES[rule].first, rule)
    assert diagnosis.is_known


@pytest.mark.parametrize("rule", CASES)
def test_asking_everything_changes_nothing_about_the_answer(rule: str) -> None:
    assert judge(CASES[rule].evidence(), ALL, ask_all=True).rule == rule


@pytest.mark.parametrize("rule", CASES)
def test_texts_are_complete(rule: str) -> None:
    """No text has a value that no match gives, except where one may be missing."""
    diagnosis = judge(CASES[rule].evidence(), ALL)
    for line in report.lines(diagnosis):
        assert not re.search(r"\{[a-z_]+\}", line)
        assert line.strip()


@pytest.mark.parametrize("rule", CASES)
def test_a_bundle_gives_the_same_text(rule: str) -> None:
    evidence = CASES[rule].evidence()
    live = judge(evidence, ALL)
    again = bundle.read(json.dumps(bundle.to_plain(evidence)).encode())
    assert report.lines(judge(again, ALL)) == report.lines(live)


def test_those_who_lost_the_first_that_failed_are_not_the_cause() -> None:
    """Their peers say that a connection was closed, whatever closed it."""
    lost = "RuntimeError: [../third_party/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4242"
    pods = [ended(1, index=0, minutes=2), ended(1, index=2, minutes=3)]
    logs = {"bert-worker-0": [lost], "bert-worker-2": ["ValueError: no such column"]}
    found = judge(Case("", job("Failed"), {"pods": pods, "logs": logs}).evidence(), ALL)
    assert found.first.startswith("Failed: worker 2 failed first with exit code 1")


def test_a_sidecar_that_ends_with_its_pod_is_not_the_cause() -> None:
    """It is an init container that runs on, and is killed when the others have ended."""
    pod = ended(1, message="ValueError: no such column")
    pod["status"]["initContainerStatuses"] = [{"name": "proxy", "state": {"terminated": {"exitCode": 143}}}]
    assert judge(Case("", job("Failed"), {"pods": [pod]}).evidence(), ALL).rule == "run.exit"


def test_a_job_that_asks_for_gpus_is_not_told_to() -> None:
    case, said = CASES["run.cuda-missing"], ("asks", "the job asks for no GPU")
    assert said in judge(case.evidence(), ALL).supporting
    manifest = json.loads(json.dumps(case.manifest))
    for role in manifest["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    assert said not in judge(Case("", manifest, case.parts).evidence(), ALL).supporting


def test_a_pod_that_was_removed_after_its_node_was_lost_with_it() -> None:
    """Kubernetes removes pods whose node is no more."""
    gone = restarting(reason="DeletionByPodGC", message="was disrupted", container="")
    found = judge(Case("", gone).evidence(), ALL)
    assert (found.rule, found.first) == ("node.lost", "Worker 2 was lost with node gpu-04 3m ago.")


@pytest.mark.parametrize(
    ("reason", "said", "first"),
    [
        ("PoolNotFound", "there is no pool a", "Failed at once: spec.spot cannot be used: there is no pool a."),
        ("SpotInvalid", "no date", "Failed at once: spec.spot cannot be used: no date."),
        ("Unsupported", "annotation a: no", "Failed at once: an annotation cannot be used: annotation a: no."),
        ("Unsupported", "spec.elastic: no", "Failed at once: what it asks for cannot be used: spec.elastic: no."),
    ],
)
def test_what_a_job_cannot_have(reason: str, said: str, first: str) -> None:
    found = judge(Case("", failed(reason, said)).evidence(), ALL)
    assert (found.rule, found.first) == ("held.unsupported", first)


def test_newer_words_of_the_scheduler() -> None:
    """Kubernetes 1.36 words two reasons in another way."""
    case = CASES["volume.zone"]
    said = (
        "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) didn't match PersistentVolume's "
        "node affinity."
    )
    pod = {**case.parts["pods"][0]}
    pod["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "message": said}]}
    assert judge(Case("", case.manifest, {"pods": [pod]}).evidence(), ALL).rule == "volume.zone"


def test_parts_removed_at_random() -> None:
    """A thousand bundles with holes: no rule raises, and an answer is always given."""
    rng = random.Random(1)  # noqa: S311 - not a secret
    names = sorted(CASES)
    for _ in range(BUNDLES):
        case = CASES[rng.choice(names)]
        holed = replace(case, manifest=_holed(case.manifest, rng), parts=_holed(dict(case.parts), rng))
        assert judge(holed.evidence(), ALL, ask_all=rng.random() < 0.5).first


def _holed(value: Any, rng: random.Random) -> Any:  # noqa: ANN401 - JSON
    """The value with fields left out, or of another type."""
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if name == "kind" or rng.random() > 0.1}
        return {name: _spoiled(_holed(inner, rng), rng) if name != "kind" else inner for name, inner in kept.items()}
    if isinstance(value, list):
        return [_spoiled(_holed(one, rng), rng) for one in value if rng.random() > 0.1]
    return value


def _spoiled(value: Any, rng: random.Random) -> Any:  # noqa: ANN401 - JSON
    return rng.choice([None, 7, "x", [], {}, True]) if rng.random() < 0.03 else value


def test_a_rule_that_needs_a_part_that_may_not_be_read_says_nothing_wrong() -> None:
    """Without nodes the shortage is known and who holds them is not; without logs an exit code is still one."""
    case = CASES["fit.gpu-shortage"]
    blind = Case("", case.manifest, {"pods": case.parts["pods"]})
    assert judge(blind.evidence(), ALL).first == "No node has 8 GPUs free."
    case = CASES["run.cuda-oom"]
    blind = Case("", case.manifest, {"pods": case.parts["pods"]})
    assert judge(blind.evidence(), ALL).rule == "run.exit"
