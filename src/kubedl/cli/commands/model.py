"""`kubedl model`: models and their versions."""

from typing import TYPE_CHECKING

import click

from kubedl.cli.lazy_group import group
from kubedl.cli.rows import FORMATS, name_column, print_objects, print_one, print_rows, since
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubedl.client import Model, ModelVersion

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
    with settings.client() as client:
        models = client.models.list(all_namespaces=all_namespaces)
    if output:
        print_objects([one.manifest for one in models], output, "model")
        return
    columns = [name_column("MODEL"), Column("LATEST"), Column("BUILT", right=True), Column("SIZE", right=True, rank=2)]
    columns += [Column("VERSIONS", right=True, rank=1), Column("SERVED BY"), Column("FROM")]
    rows = [[one.name, *_latest(one), str(len(one.versions)), _served_by(one), _origin(one.versions)] for one in models]
    if all_namespaces:
        columns.insert(0, Column("NAMESPACE"))
        rows = [[one.namespace, *row] for one, row in zip(models, rows, strict=True)]
    print_rows(settings, columns, rows, f"no models in {'any namespace' if all_namespaces else client.namespace}")


def _served_by(model: "Model") -> str:
    return "not allowed" if model.served_by is None else ", ".join(model.served_by) or "-"


def _latest(model: "Model") -> list[str]:
    version = model.latest
    return [version.name, _built(version), size_of(version.size)] if version is not None else ["-", "-", "-"]


def _built(version: "ModelVersion") -> str:
    if version.is_built:
        return since(version.status.get("finishTime"))
    return f"{100 * version.progress:.0f} %" if version.progress is not None else version.phase or "-"


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


def _origin(versions: "Sequence[ModelVersion]") -> str:
    if not versions:
        return "-"
    newest = versions[0]
    parts = (f"job {newest.job}" if newest.job else "", f"git {newest.revision[:7]}" if newest.revision else "")
    return ", ".join(part for part in parts if part) or "-"


@declare("get", short_help="Show the versions of a model")
@click.argument("name", metavar="MODEL")
@click.option("-o", "--output", type=FORMATS, help="The object itself, to apply again.")
def get_command(settings: Settings, name: str, output: str | None) -> None:
    """Show a model and its versions, newest first. MODEL may be the name of a version."""
    from kubedl.client.objects import MODELS

    with settings.client() as client:
        if output:
            found, word = client.objects.get_if_there(MODELS, name), "model"
            if found is None:
                found, word = dict(client.models.get_version(name).manifest), "modelversion"
            print_one(found, output, word)
            return
        model = client.models.get(name)
    columns = [name_column("VERSION"), Column("PHASE"), Column("BUILT", right=True), Column("SIZE", right=True, rank=1)]
    columns += [Column("FROM", rank=2), Column("IMAGE")]
    rows = [_version_row(one) for one in model.versions]
    print_rows(settings, columns, rows, f"{model.name} has no versions")


def _version_row(one: "ModelVersion") -> list[str]:
    what = one.image or one.message or "-"
    return [one.name, one.phase or "-", _built(one), size_of(one.size), _origin([one]), what]


@declare("lineage", short_help="Show where a version comes from")
@click.argument("name", metavar="VERSION")
def lineage_command(settings: Settings, name: str) -> None:
    """Show where a version comes from: the job, its code and images, and the digest of the model image."""
    from kubedl.cli.terminal import printable

    with settings.client() as client:
        version = client.models.get_version(name)
    terminal, spec, status, origin = settings.terminal(), version.spec, version.status, version.origin
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
            terminal.write(f"{terminal.paint(f'{word:8}', 'dim')}  {printable(str(value))}")


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
    with settings.client() as client:
        for name in names:
            client.models.delete_version(name)
            click.echo(f"modelversion/{name} deleted from {client.namespace}; its image stays in the registry")
