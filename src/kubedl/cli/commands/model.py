"""`kubedl model`: models and their versions."""

from collections.abc import Mapping
from typing import Any

import click

from kubedl.cli.lazy_group import group
from kubedl.cli.rows import FORMATS, name_column, print_objects, print_one, print_rows, since
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

command = group(
    "model",
    "Models: versions, where they come from, and who serves them.",
    __name__,
    {
        "list": "List models with their newest version",
        "get": "Show the versions of a model",
        "lineage": "Show where a version comes from: job, code, image",
        "build": "Make a version from files on a claim",
        "delete": "Delete a version",
    },
)


@declare("list", short_help="List models")
@click.option("-A", "--all-namespaces", is_flag=True, help="Models of all namespaces.")
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def list_command(settings: Settings, all_namespaces: bool, output: str | None) -> None:
    """List models: the newest version, how large it is, where it comes from, and who serves it."""
    from kubedl.client.objects import INFERENCES, MODELS, VERSIONS

    with settings.client() as client:
        models = client.objects.list_all(MODELS, all_namespaces=all_namespaces)
        if output:
            print_objects(models, output, "model")
            return
        versions = client.objects.list_all(VERSIONS, all_namespaces=all_namespaces)
        served = _servers(client.objects.list_if_served(INFERENCES, all_namespaces=all_namespaces))
    by_model: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for version in versions:
        key = (version["metadata"]["namespace"], str(version["spec"].get("modelName") or ""))
        by_model.setdefault(key, []).append(version)
    columns = [name_column("MODEL"), Column("LATEST"), Column("BUILT", right=True), Column("SIZE", right=True, rank=2)]
    columns += [Column("VERSIONS", right=True, rank=1), Column("SERVED BY"), Column("FROM")]
    rows = []
    for model in models:
        meta = model["metadata"]
        known = sorted(by_model.get((meta["namespace"], meta["name"]), ()), key=_created, reverse=True)
        users = sorted({user for one in known for user in served.get((meta["namespace"], one["metadata"]["name"]), ())})
        rows.append([meta["name"], *_latest(model, known), str(len(known)), ", ".join(users) or "-", _origin(known)])
    if all_namespaces:
        columns.insert(0, Column("NAMESPACE"))
        rows = [[one["metadata"]["namespace"], *row] for one, row in zip(models, rows, strict=True)]
    print_rows(settings, columns, rows, f"no models in {'any namespace' if all_namespaces else client.namespace}")


def _created(version: Mapping[str, Any]) -> str:
    return str(version["metadata"].get("creationTimestamp") or "")


def _servers(inferences: list[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Return the services of each version."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in inferences:
        for predictor in one["spec"].get("predictors") or ():
            key = (one["metadata"]["namespace"], str(predictor.get("modelVersion") or ""))
            found.setdefault(key, []).append(one["metadata"]["name"])
    return found


def _latest(model: Mapping[str, Any], versions: list[Mapping[str, Any]]) -> list[str]:
    latest = ((model.get("status") or {}).get("latestVersion") or {}).get("modelVersion")
    version = next((one for one in versions if one["metadata"]["name"] == latest), versions[0] if versions else None)
    if version is None:
        return ["-", "-", "-"]
    status = version.get("status") or {}
    return [version["metadata"]["name"], _built(status), size_of(status.get("size"))]


def _built(status: Mapping[str, Any]) -> str:
    progress = status.get("progress") or {}
    if status.get("image"):
        return since(status.get("finishTime"))
    if progress.get("bytesTotal"):
        return f"{100 * int(progress.get('bytesDone') or 0) // int(progress['bytesTotal'])} %"
    return str(status.get("imageBuildPhase") or "-")


def size_of(count: object) -> str:
    """Return bytes as people read them: 1.2Gi."""
    number = float(count) if isinstance(count, int) else 0.0
    if not number:
        return "-"
    for unit in ("B", "Ki", "Mi", "Gi"):
        if number < 1024:
            return f"{number:.0f}{unit}" if number >= 100 or unit == "B" else f"{number:.1f}{unit}"
        number /= 1024
    return f"{number:.1f}Ti"


def _origin(versions: list[Mapping[str, Any]]) -> str:
    origin = (versions[0]["spec"].get("origin") or {}) if versions else {}
    revision = str(origin.get("codeRevision") or "")[:7]
    job = f"job {origin['jobName']}" if origin.get("jobName") else ""
    return ", ".join(part for part in (job, f"git {revision}" if revision else "") if part) or "-"


@declare("get", short_help="Show the versions of a model")
@click.argument("name", metavar="MODEL")
@click.option("-o", "--output", type=FORMATS, help="The object itself, to apply again.")
def get_command(settings: Settings, name: str, output: str | None) -> None:
    """Show a model and its versions, newest first. MODEL may be the name of a version."""
    from kubedl.client import NotFound
    from kubedl.client.objects import MODELS, VERSIONS

    with settings.client() as client:
        try:
            found, word = client.objects.get(MODELS, name), "model"
        except NotFound:
            found, word = client.objects.get(VERSIONS, name), "modelversion"
        if output:
            print_one(found, output, word)
            return
        model = name if word == "model" else str(found["spec"].get("modelName") or "")
        versions = [one for one in client.objects.list_all(VERSIONS) if one["spec"].get("modelName") == model]
    columns = [name_column("VERSION"), Column("PHASE"), Column("BUILT", right=True), Column("SIZE", right=True, rank=1)]
    columns += [Column("FROM", rank=2), Column("IMAGE")]
    rows = [_version_row(one) for one in sorted(versions, key=_created, reverse=True)]
    print_rows(settings, columns, rows, f"{model} has no versions")


def _version_row(version: Mapping[str, Any]) -> list[str]:
    status = version.get("status") or {}
    phase = str(status.get("imageBuildPhase") or "-")
    image = str(status.get("image") or status.get("message") or "-")
    return [version["metadata"]["name"], phase, _built(status), size_of(status.get("size")), _origin([version]), image]


@declare("lineage", short_help="Show where a version comes from")
@click.argument("name", metavar="VERSION")
def lineage_command(settings: Settings, name: str) -> None:
    """Show where a version comes from: the job, its code and images, and the digest of the model image."""
    from kubedl.client.objects import VERSIONS

    with settings.client() as client:
        version = client.objects.get(VERSIONS, name)
    terminal, spec, status = settings.terminal(), version["spec"], version.get("status") or {}
    origin = spec.get("origin") or {}
    job = (
        f"{origin.get('jobKind', '')} {origin['jobName']} ({origin.get('jobUid', '')})" if origin.get("jobName") else ""
    )
    facts = {
        "model": spec.get("modelName"),
        "image": status.get("image"),
        "artifact": status.get("artifact"),
        "signed": "yes" if status.get("signed") else "no",
        "job": job,
        "trainer": ", ".join(origin.get("trainerImages") or ()),
        "code": f"{origin.get('codeRepository') or ''} {origin.get('codeRevision') or ''}".strip(),
        "parent": spec.get("parent"),
        "author": spec.get("createdBy"),
    }
    for word, value in facts.items():
        if value:
            terminal.write(f"{terminal.paint(f'{word:8}', 'dim')}  {value}")


@declare("build", short_help="Make a version from files")
@click.argument("name", metavar="VERSION")
@click.option("--model", required=True, metavar="NAME", help="Model that it is a version of.")
@click.option("--storage", required=True, metavar="CLAIM[/PATH]", help="Claim with the files.")
@click.option("--repo", required=True, metavar="REPOSITORY", help="Repository of the image.")
@click.option("--tag", metavar="TAG", help="Tag of the image.")
@click.option("--secret", metavar="NAME", help="Secret to push with.")
@click.option("--dry-run", is_flag=True, help="Print the manifest and create nothing.")
def build_command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    name: str,
    model: str,
    storage: str,
    repo: str,
    tag: str | None,
    secret: str | None,
    dry_run: bool,
) -> None:
    """Make a model version from files that exist."""
    from kubedl.cli.submit.values import given, model_storage
    from kubedl.client.objects import VERSIONS

    registry = {"credentials": {"secretName": secret}} if secret else None
    spec = given(modelName=model, imageRepo=repo, imageTag=tag, storage=model_storage(storage), registry=registry)
    body = {"apiVersion": VERSIONS.group, "kind": "ModelVersion", "metadata": {"name": name}, "spec": spec}
    if dry_run:
        print_one(body, "yaml", "modelversion")
        return
    with settings.client() as client:
        client.objects.create(VERSIONS, body)
        click.echo(f"modelversion/{name} created in {client.namespace}; kubedl model get {model} shows its build")


@declare("delete", short_help="Delete versions")
@click.argument("names", metavar="VERSION...", nargs=-1, required=True)
def delete_command(settings: Settings, names: tuple[str, ...]) -> None:
    """Delete versions. Images stay in their registry."""
    from kubedl.client.objects import VERSIONS

    with settings.client() as client:
        for name in names:
            client.objects.delete(VERSIONS, name)
            click.echo(f"modelversion/{name} deleted from {client.namespace}; its image stays in the registry")
