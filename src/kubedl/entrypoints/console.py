"""The web console, `kubedl console`: a process of its own, which the operator does not need.

In a cluster people sign in through a proxy or with a token; on a laptop `kubedl open` starts it for one person.
"""

import argparse
import asyncio
import os
import secrets
import sys
import time
import webbrowser
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

import structlog

from kubedl.cli.release import VERSION
from kubedl.console import gpu_use, measuring
from kubedl.console.access import Access, LocalAccess, ProxyAccess, TokenAccess
from kubedl.console.assets import Assets
from kubedl.console.cache import Cache
from kubedl.console.feed import Feed
from kubedl.console.gpu_use import GpuUse
from kubedl.console.history_source import History, opened
from kubedl.console.journal import Journal
from kubedl.console.kinds import FOLLOWED, PODS, job_resources
from kubedl.console.measuring import Measuring
from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.reviews import TokenReviews, access_review, own_access_review, who_am_i
from kubedl.console.rights import YES_SECONDS, Question, Review, Rights
from kubedl.console.server import Console, serve
from kubedl.console.sessions import KeyFileError, OneTimeCode, Seal, Tries, key_from
from kubedl.console.stored_logs import reading
from kubedl.entrypoints.process import configure_log, until_signalled
from kubedl.history.observed_pods import EVENTS
from kubedl.kube import credentials
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.client import Client
from kubedl.kube.credentials import Credentials
from kubedl.kube.errors import ApiError
from kubedl.kube.kubeconfig import Choice, CredentialsError
from kubedl.runtime import health
from kubedl.runtime.metrics import Metrics

ADDRESS = "127.0.0.1:8443"
PATH = BoundedPattern(r"(/[A-Za-z0-9._~-]+)+", 200)
Asked = tuple[History, Measuring, GpuUse]
LOG_LEVELS = ("debug", "info", "warning", "error")

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    options = parser().parse_args(arguments)
    configure_log(options.log_format, options.log_level)
    try:
        asyncio.run(until_signalled_console(options))
    except (ApiError, CredentialsError, KeyFileError, OSError) as error:
        print(f"kubedl console: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="kubedl console", description=__doc__)
    parser.add_argument(
        "--mode",
        choices=("proxy", "token", "local"),
        default="token",
        help="proxy: a proxy in front adds each person's bearer token; token: people paste one; local: for the owner "
        "of the kubeconfig alone, on this machine",
    )
    parser.add_argument("--address", default=ADDRESS, help="bind address of the console; *:8443 binds all")
    parser.add_argument(
        "--path",
        type=url_path,
        default="",
        help="path under which browsers have the console, such as /kubedl, if a proxy in front has more than one "
        "program on its host; whether the proxy removes it does not matter (default: the whole host)",
    )
    parser.add_argument("--health-address", default="", help="bind address of /healthz, /readyz and /metrics")
    parser.add_argument("--cluster", default="", help="name of the cluster that the console shows")
    parser.add_argument("--kubeconfig", help="run outside the cluster with this kubeconfig")
    parser.add_argument("--context", default="", help="context of the kubeconfig (default: the current one)")
    parser.add_argument("--namespace", default="", help="show this namespace only (default: all)")
    parser.add_argument(
        "--history-cluster",
        default="",
        help="name of the cluster in the history, whose database is in the environment variable "
        "KUBEDL_HISTORY_DATABASE (default: KUBEDL_HISTORY_CLUSTER, or kubedl)",
    )
    parser.add_argument(
        "--logs-endpoint",
        default="",
        help="URL of the S3-compatible storage with the logs that the recorder archives (default: they are not shown); "
        "credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
    )
    parser.add_argument("--logs-region", default="us-east-1", help="region that requests to it are signed for")
    parser.add_argument(
        "--logs-ca-file", default="", help="CA certificates of that storage (default: those of the system)"
    )
    parser.add_argument(
        "--prometheus",
        default="",
        help="URL of the Prometheus with the metrics of the gateway and of GPUs (default: none is asked)",
    )
    parser.add_argument(
        "--analysis-queries",
        default="",
        metavar="{traefik,istio,FILE}",
        help="PromQL queries about a version, as of the operator (default: traefik)",
    )
    parser.add_argument(
        "--session-key-file",
        default="",
        help="file with 32 bytes as base64 that encrypt sign-ins of mode token (default: a new key for each process)",
    )
    parser.add_argument(
        "--rights-seconds",
        type=float,
        default=YES_SECONDS,
        help="seconds for which an answer about a token or a right is remembered, at most 55",
    )
    parser.add_argument("--browser", action="store_true", help="mode local: open the browser")
    parser.add_argument(
        "--log-format", choices=("json", "console"), default="json", help="log format; console is for terminals"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="lowest log level")
    return parser


def url_path(text: str) -> str:
    """Return a path without a slash at its end; empty for the root."""
    path = text.rstrip("/")
    if path and PATH.fullmatch(path) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no path such as /kubedl, of letters, digits and . _ ~ -")
    return path


async def until_signalled_console(options: argparse.Namespace) -> None:
    """Run the console until it is told to end."""
    identity = credentials.load(options.kubeconfig, Choice(context=options.context))
    metrics = Metrics(leader="console_leader")
    client = Client(identity, on_request=metrics.observe_request)
    try:
        await until_signalled(
            _local(options, identity, client)
            if options.mode == "local"
            else _shared(options, identity, client, metrics)
        )
    finally:
        await client.close()


async def _shared(options: argparse.Namespace, identity: Credentials, client: Client, metrics: Metrics) -> None:
    """Serve many people, with the account of the console for the cache and their tokens for all else."""
    clock = asyncio.get_running_loop().time
    reviews = TokenReviews(client, clock, _rights_seconds(options))
    server = identity.without_identity()
    access: Access = ProxyAccess(reviews, server)
    if options.mode == "token":
        access = TokenAccess(
            reviews, server, Seal(key_from(options.session_key_file), time.time), Tries(clock), options.path
        )
    cache = Cache(client, options.namespace)
    async with _asked(options, options.namespace) as asked:
        console = _console(options, cache, access, access_review(client), asked)
        async with serve(console, options.address) as address, _health(options.health_address, cache, metrics):
            log.info("started", address=address, mode=options.mode, built=console.assets.built, pid=os.getpid())
            await cache.run()


async def _local(options: argparse.Namespace, identity: Credentials, client: Client) -> None:
    """Serve the owner of a kubeconfig, who does everything with it: the cache too."""
    caller = Caller(await who_am_i(client), identity)
    namespace = options.namespace or await _scope(caller)
    cache = Cache(client, namespace, without=await _not_for(caller, namespace))
    code = OneTimeCode()
    access = LocalAccess(caller, code, f"kubedl-local-{secrets.token_hex(4)}")
    async with (
        _asked(options, namespace) as asked,
        serve(_console(options, cache, access, own_access_review, asked), options.address) as address,
    ):
        if not address.startswith(("127.0.0.1:", "localhost:", "[::1]:")):
            raise CredentialsError(f"mode local serves this machine only, not {address}; use --address 127.0.0.1:PORT")
        page = f"http://{address}{options.path}/#code={code.code}"
        print(f"The console is at {page}\nThe address works once. End with Ctrl C.", flush=True)
        if options.browser:
            await asyncio.to_thread(webbrowser.open, page)
        await cache.run()


@asynccontextmanager
async def _asked(options: argparse.Namespace, namespace: str) -> AsyncIterator[Asked]:
    """Yield who is asked beside the API server: the history, and a Prometheus."""
    archived = reading(options.logs_endpoint, options.logs_region, options.logs_ca_file)
    async with (
        opened(options.history_cluster, namespace, archived) as history,
        measuring.opened(options.prometheus, options.analysis_queries, namespace) as measured,
        gpu_use.opened(options.prometheus) as used,
    ):
        yield history, measured, used


def _console(options: argparse.Namespace, cache: Cache, access: Access, review: Review, asked: Asked) -> Console:
    clock = asyncio.get_running_loop().time
    feed, rights = Feed(cache.stores, Journal(clock)), Rights(review, clock, _rights_seconds(options))
    pages = Pages(cache.stores, feed, rights, partial(datetime.now, UTC), *asked)
    local = access.mode == "local"
    named = options.cluster, VERSION
    return Console(access, pages, Assets(), cache.signs_of_life, *named, loopback_only=local, path=options.path)


def _rights_seconds(options: argparse.Namespace) -> float:
    """Return how long answers are remembered; never longer than a minute allows, whatever was asked for."""
    return float(min(max(options.rights_seconds, 0.0), YES_SECONDS))


async def _scope(caller: Caller) -> str:
    """Return the namespace to follow: all of them if the person may list everything everywhere, else the context's."""
    for name in (*(resource.name for resource in job_resources().values()), PODS.name, EVENTS.name):
        plural, _, group = name.partition(".")
        if not await own_access_review(caller, Question("list", group, plural, "")):
            log.info("showing one namespace", namespace=caller.credentials.namespace, missing=f"list {name}")
            return caller.credentials.namespace
    return ""


async def _not_for(caller: Caller, namespace: str) -> list[str]:
    """Return the resources beside jobs that a person may not list: their pages say so, and they are not followed."""
    asked = [(one, Question("list", one.group, one.plural, namespace if one.namespaced else "")) for one, _ in FOLLOWED]
    return [one.name for one, question in asked if not await own_access_review(caller, question)]


@asynccontextmanager
async def _health(address: str, cache: Cache, metrics: Metrics) -> AsyncIterator[None]:
    if not address:
        yield
        return
    async with health.serve(address, dead=lambda: (), missing=cache.unsynced, metrics=metrics.render):
        yield


if __name__ == "__main__":
    sys.exit(main())
