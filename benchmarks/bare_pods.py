"""Pods alone: how many POSTs of a small pod the API server takes a second, with 64 in flight.

No operator can be faster than this, so every later figure is printed beside it.
"""

import asyncio
import ssl
import time

import aiohttp

from testbed.cluster import Cluster

IN_FLIGHT = 64


async def pods_per_second(cluster: Cluster, namespace: str, count: int) -> float:
    """Create `count` pods and return the rate."""
    context = ssl.create_default_context(cafile=str(cluster.authority.certificate))
    context.load_cert_chain(*cluster.authority.files("admin"))
    url = f"{cluster.instance.server}/api/v1/namespaces/{namespace}/pods"
    numbers = iter(range(count))
    connector = aiohttp.TCPConnector(limit=IN_FLIGHT, ssl=context)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def worker() -> None:
            for number in numbers:
                async with session.post(url, json=_pod(number)) as response:
                    response.raise_for_status()
                    await response.read()

        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(worker())
        return count / (time.monotonic() - began)


def _pod(number: int) -> dict[str, object]:
    return {
        "metadata": {"name": f"pod-{number}", "labels": {"benchmark": "bare-pods"}},
        "spec": {
            "containers": [{"name": "main", "image": "none", "command": ["true"]}],
            "schedulingGates": [{"name": "benchmark.kubedl.io/never"}],  # nodes would cost what is not measured
        },
    }
