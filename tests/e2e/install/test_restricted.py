"""A namespace that enforces PodSecurity *restricted*: what fits trains, what does not is told so, calmly."""

from collections.abc import Callable
from datetime import timedelta

from harness.drivers import audit_log
from harness.drivers.installation import RESTRICTED, USER, Installation
from testbed import namespaces
from testbed.waiting import until
from tests.e2e.install.jobs import Team, job

WATCHED = 60.0  # seconds
MOST = 12  # tries in that time: later each time, up to once in half a minute


def test_a_job_that_restricted_refuses_says_so_and_waits(
    installation: Installation, base_image: str, record_property: Callable[[str, object], None]
) -> None:
    """Its condition quotes the refusal; its neighbour trains meanwhile."""
    cluster = installation.cluster
    with namespaces.fresh(cluster.api, "team", RESTRICTED) as namespace:
        team = Team(cluster, namespace)
        since = audit_log.now()
        team.create(
            job("fits", base_image, "python3", "-c", "print(sum(range(10)))"),
            job("breaks", base_image, security={"privileged": True, "allowPrivilegeEscalation": True}),
        )
        until(
            "the refusal to be quoted",
            lambda: 'violates PodSecurity "restricted' in team.condition("breaks", "Blocked").get("message", ""),
            deadline=60,
        )
        until("the other to succeed", lambda: team.states()["Succeeded"] == 1, deadline=120)
        until("a minute to pass", lambda: (audit_log.now() - since).total_seconds() > WATCHED, deadline=2 * WATCHED)
        over = since + timedelta(seconds=WATCHED)
        writes = [write for write in audit_log.writes(cluster, USER, since) if write.at < over]
        tries = [write for write in writes if write.namespace == namespace]
        refused = [write for write in tries if (write.verb, write.resource, write.code) == ("create", "pods", 403)]
        record_property("tries", len(refused))
        assert 1 <= len(refused) <= MOST
        assert len([write for write in tries if write.resource == "pytorchjobs/status"]) < 20
