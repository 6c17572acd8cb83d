"""What counts as the same state."""

from harness.drivers.state_digest import differences, of_pod, repeatable, timeless


def test_moments_count_by_their_presence_only() -> None:
    """When something happened differs from run to run; whether it did must not."""
    first = {"startTime": "2026-01-01T00:00:00Z", "retries": 1}
    second = {"startTime": "2026-01-01T00:00:09Z", "retries": 1}
    assert timeless(first) == timeless(second)
    assert timeless(first) != timeless({"retries": 1})


def test_the_order_of_conditions_does_not_count() -> None:
    """They are a map by type."""
    created, running = {"type": "Created"}, {"type": "Running"}
    assert timeless([created, running]) == timeless([running, created])


def test_a_pod_of_another_job_is_told_apart() -> None:
    """The same labels under a foreign owner are not the same pod."""
    pod = {
        "metadata": {
            "labels": {"training.kubedl.io/job-uid": "1"},
            "ownerReferences": [{"uid": "1"}],
        },
        "status": {"phase": "Running"},
    }
    assert of_pod(pod, {"1": "mine"}) != of_pod(pod, {"2": "mine"})


def test_differences_name_the_place() -> None:
    """A person must see at once what is different."""
    wanted = {"jobs": {"a": {"retries": 1}}}
    found = {"jobs": {"a": {"retries": 2}, "b": {}}}
    assert differences(wanted, found) == [
        "jobs.a.retries: 1 in the undisturbed run, 2 here",
        "jobs.b: None in the undisturbed run, {} here",
    ]


def test_messages_differ_only_in_what_they_say() -> None:
    """Not in when it was, in how long it took, or in the part of a name that is a uid's."""
    first = (
        "4 of 4 replicas succeeded after 1 min 2 s; ModelVersion mv-mnist-5f3c1 created (since 2026-01-01T12:00:00Z)"
    )
    second = "4 of 4 replicas succeeded after 41 s; ModelVersion mv-mnist-0a4b2 created (since 2026-01-01T12:00:09Z)"
    assert repeatable(first) == repeatable(second)
    assert repeatable(first) != repeatable(first.replace("4 of 4", "3 of 4"))
