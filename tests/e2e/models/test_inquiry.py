"""What a build says about itself, asked of a real kubelet through a real API server."""

import asyncio

from harness.drivers.operator_process import USER, kubeconfig_of
from kubedl.api.model import BuildProgress
from kubedl.kube import credentials
from kubedl.kube.client import Client
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectKey
from kubedl.models.build_diagnostics import BuildDiagnostics, fetch_diagnostics
from testbed.waiting import until
from tests.builders import pod
from tests.e2e.workspace import Workspace

SPEAK = "echo starting; echo 'progress 5/10 weights.bin'; exec sleep 600"


async def test_progress_is_the_last_line_of_the_log(workspace: Workspace, base_image: str) -> None:
    """While the pod runs."""
    builder = pod("build", base_image).running("sh", "-c", SPEAK)
    body = builder.build()
    body["spec"]["containers"][0]["name"] = "packer"
    workspace.create("pods", body)
    workspace.running("build")
    until("it to speak", lambda: "progress" in workspace.heard("build"), deadline=30)
    expected = BuildDiagnostics(progress=BuildProgress(bytes_done=5, bytes_total=10))
    async with asyncio.timeout(60):
        while await heard(workspace, "build") != expected:  # a slow kubelet is not waited for long: one asks again
            pass


async def heard(workspace: Workspace, name: str) -> BuildDiagnostics:
    """What the operator is told."""
    client = Client(credentials.load(str(kubeconfig_of(workspace.cluster, USER))))
    try:
        return await fetch_diagnostics(client, await client.get(PODS, ObjectKey(workspace.namespace, name)))
    finally:
        await client.close()
