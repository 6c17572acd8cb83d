"""Smoke test: runs a small job from start to end; one process, `kubedl smoke-test`, which `helm test` runs.

It verifies what a probe cannot: the operator sees a job, may create its pods, and reports the result. The job is
deleted in any case: by the smoke test, also on a signal, or by its TTL if the smoke test is killed.
"""

import argparse
import asyncio
import signal
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from kubedl.api.training import GROUP, TrainingJob
from kubedl.kube import credentials
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.podspec.security import NOBODY, RESTRICTED
from kubedl.schema.grants import Grant
from kubedl.training.kinds.pytorch import PyTorch

KIND = PyTorch()
GRANTS = (Grant(GROUP, (KIND.plural,), ("get", "create", "delete"), "Run a test job."),)
INTERVAL = 0.5
LEFT_FOR = 600  # seconds: TTL of a job whose smoke test could not delete it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job and print the result."""
    options = parser().parse_args(arguments)
    try:
        status = asyncio.run(_run_until_signalled(options))
    except asyncio.CancelledError:
        print("kubedl smoke-test: stopped by a signal", file=sys.stderr)
        return 2
    except (ApiError, CredentialsError) as error:
        print(f"kubedl smoke-test: {error}", file=sys.stderr)
        return 2
    print(status, flush=True)
    return 0 if status.startswith("Succeeded") else 1


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="kubedl smoke-test", description=__doc__)
    parser.add_argument("--kubeconfig", help="run outside the cluster with the current context of this kubeconfig")
    parser.add_argument("--namespace", default="", help="namespace of the job (default: the pod's own)")
    parser.add_argument("--image", required=True, help="image with python3 that nodes can pull")
    parser.add_argument("--pull-secret", action="append", default=[], help="image pull secret")
    parser.add_argument("--omit-run-as-user", action="store_true", help="do not set runAsUser on the job's pod")
    parser.add_argument("--seconds", type=float, default=120, help="timeout of the job in seconds")
    return parser


def job(
    name: str, image: str, pull_secrets: Sequence[str], seconds: float, *, omit_user: bool = False
) -> dict[str, Any]:
    """Return the smallest possible job, valid under Pod Security *restricted*."""
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


async def _run_until_signalled(options: argparse.Namespace) -> str:
    task = asyncio.ensure_future(_run(options))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


async def _run(options: argparse.Namespace) -> str:
    client = Client(credentials.load(options.kubeconfig))
    namespace = options.namespace or client.namespace
    try:
        name = f"kubedl-smoke-test-{uuid.uuid4().hex[:8]}"
        body = job(name, options.image, options.pull_secret, options.seconds, omit_user=options.omit_run_as_user)
        resource = await client.create(KIND.resource, namespace, body)
        print(f"{KIND.kind} {namespace}/{name} created", flush=True)
        try:
            return await _ended(client, resource, options.seconds)
        finally:
            await client.delete(KIND.resource, resource.metadata.key, resource.metadata.uid)
    finally:
        await client.close()


async def _ended(client: Client, resource: TrainingJob, seconds: float) -> str:
    """Return the result of the job, or its last state at the timeout."""
    loop = asyncio.get_running_loop()
    over = loop.time() + seconds
    key = resource.metadata.key
    while True:
        status = (await client.get(KIND.resource, key)).status
        if status.completion_time is not None or loop.time() > over:
            message = "; ".join(
                f"{condition.type}: {condition.message}" for condition in status.conditions if condition.message
            )
            return f"{status.state or 'no status'} {status.reason} ({message or 'no condition'})"
        await asyncio.sleep(INTERVAL)


if __name__ == "__main__":
    sys.exit(main())
