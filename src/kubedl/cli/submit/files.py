"""Jobs from files: manifests as people write them for kubectl."""

import sys
from pathlib import Path
from typing import Any

import click

from kubedl.cli.settings import Settings
from kubedl.cli.submit.flags import Sending
from kubedl.cli.submit.submission import submit_jobs

GROUP = "training.kubedl.io/"
MOST_BYTES = 4 * 2**20
MOST_JOBS = 1000


def submit_files(settings: Settings, files: tuple[str, ...], **sending: Any) -> int:  # noqa: ANN401 - of Sending
    """Create the jobs of these files."""
    if not files:
        raise click.UsageError("submit needs a kind or a file\nnext  kubedl submit pytorch --help, or -f FILE")
    manifests = [job for file in files for job in read_jobs(file)]
    for one in manifests:
        check_namespace(settings, one)
    return submit_jobs(settings, manifests, Sending(**sending))


def check_namespace(settings: Settings, one: dict[str, Any]) -> None:
    """Refuse an object of another namespace than that of the flag."""
    named = one["metadata"].get("namespace")
    if settings.namespace and named and named != settings.namespace:
        what = f"{one['kind'].lower()}/{one['metadata']['name']}"
        raise click.UsageError(
            f"{what} is in {named}, and -n is {settings.namespace}\nnext  -n {named}, or take it out of the file"
        )


def read_jobs(file: str) -> list[dict[str, Any]]:
    """Return the jobs of a YAML or JSON file; raises UsageError if it holds anything else."""
    jobs = read_objects(file)
    for job in jobs:
        if not str(job.get("apiVersion", "")).startswith(GROUP):
            kind = job["kind"][:63]
            raise click.UsageError(f"{file} holds a {kind}, which is no training job\nnext  kubedl apply -f {file}")
        if not isinstance(job.get("spec"), dict):
            raise click.UsageError(f"{file}: a {job['kind'][:63]} without spec\nnext  add it")
    return jobs


def read_objects(file: str) -> list[dict[str, Any]]:
    """Return the objects of a YAML or JSON file, each with kind and name."""
    import yaml  # noqa: PLC0415 - help needs none

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = sys.stdin.read(MOST_BYTES + 1) if file == "-" else _read(file)
        if len(text) > MOST_BYTES:
            raise click.UsageError(f"{file} is larger than 4 MiB\nnext  send its objects in parts")
        found = [one for one in yaml.load_all(text, loader) if one is not None]
    except OSError as error:
        raise click.UsageError(
            f"cannot read {file}: {error.strerror}\nnext  -f FILE, or - for standard input"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise click.UsageError(f"{file} is no YAML: {reason}\nnext  correct the file") from error
    jobs = [job for one in found for job in (one["items"] if _is_list(one) else [one])]
    for job in jobs:
        _check(file, job)
    if not 0 < len(jobs) <= MOST_JOBS:
        raise click.UsageError(f"{file} has {len(jobs)} objects\nnext  a file with 1 to {MOST_JOBS}")
    return jobs


def _read(file: str) -> str:
    with Path(file).open(encoding="utf-8") as opened:
        return opened.read(MOST_BYTES + 1)


def _is_list(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("items"), list)


def _check(file: str, job: object) -> None:
    metadata = job.get("metadata") if isinstance(job, dict) else None
    if not isinstance(job, dict) or not isinstance(metadata, dict) or not isinstance(job.get("kind"), str):
        raise click.UsageError(
            f"{file} holds something that is no object of Kubernetes\nnext  apiVersion, kind, metadata"
        )
    if not isinstance(metadata.get("name"), str):
        raise click.UsageError(f"{file}: a {job['kind'][:63]} without metadata.name\nnext  add it")
