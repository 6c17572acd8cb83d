"""`kubedl run --rm`: what is deleted has ended."""

import threading

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer, running, until

JOB = "/apis/training.kubedl.io/v1alpha1/namespaces/team/pytorchjobs/x"
RUN = ("run", "--name", "x", "--image", "i", "--no-code", "--rm", "--", "true")


def test_a_job_that_cannot_be_followed_goes_on(run: Run, api: ApiServer) -> None:
    """Whoever may not read logs has not seen its end."""
    api.pod("x", "master", 0, **running())
    api.refusals["GET /api/v1/namespaces/team/pods/x-master-0/log"] = (
        403,
        {"kind": "Status", "reason": "Forbidden", "code": 403, "message": "no logs for you"},
    )
    assert run(*RUN).code == 125
    assert JOB in api.objects


@pytest.mark.parametrize(("state", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_a_job_that_has_ended_is_deleted(run: Run, api: ApiServer, state: str, code: int) -> None:
    def end() -> None:
        until("the job", lambda: JOB in api.objects)
        status = {"state": state, "conditions": [{"type": state, "status": "True"}]}
        api.put(JOB, {**api.objects[JOB], "status": status})

    threading.Thread(target=end).start()
    assert run(*RUN).code == code
    assert JOB not in api.objects
