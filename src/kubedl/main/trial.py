"""The trial: a tiny job from its beginning to its end, one process, `kubedl trial`; `helm test` runs it.

It proves what no probe can: that an operator sees a job, may make its pods, and says how they ended. The job is
deleted in any case: by the trial, also when it is told to stop; or by the operator, if the trial is killed.
"""

import argparse
import asyncio
import signal
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from kubedl.api.pod_security import NOBODY, RESTRICTED
from kubedl.api.training import GROUP, TrainingJob
from kubedl.kube import credentials
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.schema.rbac import Grant
from kubedl.training.kinds.pytorch import PyTorch

KIND = PyTorch()
GRANTS = (Grant(GROUP, (KIND.plural,), ("get", "create", "delete"), "Try whether a job runs."),)
INTERVAL = 0.5
LEFT_FOR = 600  # seconds that a job stays whose trial could not delete it


def main(arguments: Sequence[str] | None = None) -> int:
    """Say what became of the job."""
    options = parser().parse_args(arguments)
    try:
        status = asyncio.run(_tried_until_told(options))
    except asyncio.CancelledError:
        print("kubedl trial: told to stop", file=sys.stderr)
        return 2
    except (ApiError, credentials.CredentialsError) as error:
        print(f"kubedl trial: {error}", file=sys.stderr)
        return 2
    print(status, flush=True)
    return 0 if status.startswith("Succeeded") else 1


def parser() -> argparse.ArgumentParser:
    """What it can be told."""
    made = argparse.ArgumentParser(prog="kubedl trial", description=__doc__)
    made.add_argument("--kubeconfig", help="run outside the cluster, as the current context of this file")
    made.add_argument("--namespace", default="", help="where the job runs (default: one's own)")
    made.add_argument("--image", required=True, help="an image with python3 that nodes can pull")
    made.add_argument("--pull-secret", action="append", default=[], help="by which nodes pull it")
    made.add_argument("--omit-run-as-user", action="store_true", help="the cluster decides as whom the job's pod runs")
    made.add_argument("--seconds", type=float, default=120, help="how long the job may take")
    return made


def job(
    name: str, image: str, pull_secrets: Sequence[str], seconds: float, *, omit_user: bool = False
) -> dict[str, Any]:
    """As small as a job can be, and as PodSecurity *restricted* wants it."""
    user = {} if omit_user else {"runAsUser": NOBODY}
    container = {
        "name": KIND.container,
        "image": image,
        "command": ["python3", "-c", "print('trained')"],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": {**RESTRICTED, **user, "readOnlyRootFilesystem": True},
    }
    secrets = {"imagePullSecrets": [{"name": one} for one in pull_secrets]} if pull_secrets else {}
    template = {"spec": {"automountServiceAccountToken": False, "containers": [container], **secrets}}
    return {
        "apiVersion": KIND.resource.api_version,
        "kind": KIND.kind,
        "metadata": {"name": name},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": max(1, round(seconds)),
            "ttlSecondsAfterFinished": LEFT_FOR,
            KIND.replicas_field: {"Master": {"replicas": 1, "template": template}},
        },
    }


async def _tried_until_told(options: argparse.Namespace) -> str:
    task = asyncio.ensure_future(_tried(options))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


async def _tried(options: argparse.Namespace) -> str:
    client = Client(credentials.load(options.kubeconfig))
    namespace = options.namespace or client.namespace
    try:
        name = f"kubedl-trial-{uuid.uuid4().hex[:8]}"
        body = job(name, options.image, options.pull_secret, options.seconds, omit_user=options.omit_run_as_user)
        made = await client.create(KIND.resource, namespace, body)
        print(f"{KIND.kind} {namespace}/{name} is made", flush=True)
        try:
            return await _ended(client, made, options.seconds)
        finally:
            await client.delete(KIND.resource, made.metadata.key, made.metadata.uid)
    finally:
        await client.close()


async def _ended(client: Client, made: TrainingJob, seconds: float) -> str:
    """How it ended, or where it was when its time was over."""
    loop = asyncio.get_running_loop()
    over = loop.time() + seconds
    key = made.metadata.key
    while True:
        status = (await client.get(KIND.resource, key)).status
        if status.completion_time is not None or loop.time() > over:
            told = "; ".join(f"{one.type}: {one.message}" for one in status.conditions if one.message)
            return f"{status.state or 'nobody has looked at it'} {status.reason} ({told or 'no condition'})"
        await asyncio.sleep(INTERVAL)


if __name__ == "__main__":
    sys.exit(main())
