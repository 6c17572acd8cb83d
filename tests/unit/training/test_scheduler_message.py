"""What the scheduler says is condensed: in plain words, and in those that people search for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.training.scheduler_message import LONGEST_REASON, MOST_REASONS, explain, trim
from tests.hypothesis_settings import tried

PREEMPTION = " preemption: 0/12 nodes are available: 12 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("said", "plain", "own"),
    [
        (
            "8 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint {pool: infra}." + PREEMPTION,
            "8 without free nvidia.com/gpu, 4 tainted pool=infra",
            "8 Insufficient nvidia.com/gpu, 4 had untolerated taint {pool: infra}",
        ),
        (
            "4 node(s) had untolerated taint(s), 8 Insufficient cpu. no new claims to deallocate," + PREEMPTION,
            "4 tainted, 8 without free cpu",
            "4 had untolerated taint(s), 8 Insufficient cpu",
        ),
        ("12 node(s) had untolerated taint {closed: }.", "12 tainted closed", "12 had untolerated taint {closed: }"),
        (
            "2 Too many pods, 3 node(s) were unschedulable, 7 node(s) didn't match Pod's node affinity/selector.",
            "2 without room for another pod, 3 cordoned, 7 not matched by the node selector or affinity",
            "2 Too many pods, 3 were unschedulable, 7 didn't match Pod's node affinity/selector",
        ),
    ],
)
def test_reasons_of_the_scheduler(said: str, plain: str, own: str) -> None:
    """The plain form is followed by the whole message."""
    whole = f"0/12 nodes are available: {said}"
    assert explain(whole) == f"0/12 nodes: {plain} (scheduler: {whole})"
    assert trim(whole) == f"0/12 nodes: {own}"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("1 needs a, b and 3 c, 2 d.", "1 needs a, b and 3 c, 2 d"),
        ("3 node(s) exceed max volume count.", "3 exceed max volume count"),
        (
            "pod has unbound immediate PersistentVolumeClaims. not found",
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        ('persistentvolumeclaim "a" not found.' + PREEMPTION, 'persistentvolumeclaim "a" not found'),
    ],
)
def test_unknown_reasons_keep_their_words(said: str, line: str) -> None:
    """They are not said twice."""
    whole = f"0/3 nodes are available: {said}"
    assert explain(whole) == trim(whole) == f"0/3 nodes: {line}"


@pytest.mark.parametrize(
    "said",
    [
        "",
        'persistentvolumeclaim "a" not found. not found',
        "no nodes available to schedule pods",
        "0/2 nodes are available: ",
        "x/2 nodes are available: 2 Insufficient cpu.",
        "0/² nodes are available: 2 Insufficient cpu.",
        "waiting for minCount pods from a gang to appear in scheduling queue",
        "3/4 tasks in gang unschedulable: pod group is not ready",
    ],
)
def test_messages_of_another_form_stay(said: str) -> None:
    assert explain(said) == trim(said) == said


@given(
    st.lists(st.text(max_size=300), max_size=40),
    st.sampled_from(["", "0/5 nodes are available: ", "0/99999999999 nodes are available: "]),
)
@tried(200)
def test_any_message_is_read_and_bounded(parts: list[str], head: str) -> None:
    said = head + ", ".join(parts)
    assert len(trim(said)) <= max(len(said), 40 + MOST_REASONS * (LONGEST_REASON + 12))
    assert explain(said) == said or explain(said).startswith("0/5 nodes: ")


def test_many_reasons_are_counted() -> None:
    said = "0/9 nodes are available: " + ", ".join(f"1 reason{number}" for number in range(MOST_REASONS + 2))
    assert trim(said).endswith("1 reason7 and 2 more reasons")
