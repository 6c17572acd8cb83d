"""Sends manifests, and follows the jobs if that is wanted."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import click

from kubedl.cli import failures, following
from kubedl.cli.settings import Settings
from kubedl.cli.structured import applicable, print_object
from kubedl.cli.submit.flags import ONLY_QUEUE, Sending
from kubedl.client import Forbidden, Invalid, Job, KubedlError, TrainingClient
from kubedl.client.job import USER
from kubedl.client.objects import LOCAL_QUEUES

Part = dict[str, Any]


def submit_jobs(settings: Settings, manifests: Sequence[Part], sending: Sending) -> int:
    """Create jobs, or print what would be created; returns the exit code."""
    if sending.timeout is not None and not sending.wait:
        raise click.UsageError("--timeout needs --wait\nnext  add --wait, or --running-timeout for the job itself")
    if sending.check and (sending.wait or sending.dry_run != "none"):
        raise click.UsageError(
            "--check creates nothing, so there is nothing to wait for or to print\nnext  one of them"
        )
    if sending.dry_run == "client":
        _print(settings, manifests, sending)
        return 0
    with settings.client() as client:
        if sending.wait:
            _check_places(client, manifests)
        made: list[Job] = []
        for manifest in manifests:
            _choose_queue(client, manifest)
            name_submitter(client, manifest)
        if sending.check:
            from kubedl.cli.submit.checking import check_jobs  # noqa: PLC0415 - loads rules

            return check_jobs(settings, client, manifests, sending.output or "")
        for manifest in manifests:
            try:
                job = _create(client, manifest, sending)
            except (Invalid, Forbidden) as error:
                failures.print_error(error.message, error.why, error.next)
                return failures.NEVER_RAN if sending.wait else failures.REFUSED
            _say(job, sending)
            made.append(job)
    if not sending.wait or sending.dry_run == "server":
        return 0
    names = [f"{job.word}/{job.name}" for job in made]
    waited = following.Waited("complete", sending.timeout, form=_form_of_result(sending), shows_phases=True)
    return following.wait_for_all(replace(settings, namespace=made[0].namespace), names, waited)


def _check_places(client: TrainingClient, manifests: Sequence[Part]) -> None:
    """Refuse to wait for jobs of several namespaces: names are looked up in one."""
    places = sorted({str(one["metadata"].get("namespace") or client.namespace) for one in manifests})
    if len(places) > 1:
        raise click.UsageError(
            f"--wait is for jobs of one namespace, and these are for {', '.join(places)[:200]}\nnext  submit them apart"
        )


def _form_of_result(sending: Sending) -> str:
    return sending.output if sending.wait and sending.output in ("json", "yaml") else ""


def _create(client: TrainingClient, manifest: Part, sending: Sending) -> Job:
    if sending.code is None or sending.dry_run == "server":
        return client.create_job(manifest, dry_run=sending.dry_run == "server", files=sending.files)
    from kubedl.cli.submit.shipping import create_with_code  # noqa: PLC0415 - packs a directory

    return create_with_code(client, manifest, sending.code, sending.files)


def name_submitter(client: TrainingClient, manifest: Part) -> None:
    """Write into a job who submits it, as the server knows the caller: `list --mine` and the history read it."""
    notes = manifest["metadata"].setdefault("annotations", {})
    if USER not in notes:
        with suppress(KubedlError):  # a server without this question; the job matters more
            notes[USER] = client.whoami()[0]
    if not notes:
        del manifest["metadata"]["annotations"]


def with_files(manifest: Part, files: Mapping[str, bytes]) -> list[Part]:
    """Return what `kubectl apply` would need: the ConfigMap of files, and the job that mounts it."""
    if not files:
        return [manifest]
    from kubedl.client.config_files import mounted  # noqa: PLC0415 - few jobs have some

    return [mounted(manifest, files, ""), manifest]


def _print(settings: Settings, manifests: Sequence[Part], sending: Sending) -> None:
    for number, manifest in enumerate(one for job in manifests for one in with_files(job, sending.files)):
        if settings.namespace:
            manifest["metadata"]["namespace"] = settings.namespace
        if number and sending.output != "json":
            click.echo("---")
        if sending.output == "name":
            click.echo(f"{manifest['kind'].lower()}/{manifest['metadata']['name']}")
        else:
            print_object(manifest, sending.output or "yaml")


def _say(job: Job, sending: Sending) -> None:
    if _form_of_result(sending):
        click.echo(f"{job} created in {job.namespace}", err=True)  # what is printed is how it ends
    elif sending.output == "name":
        click.echo(str(job))
    elif sending.output:
        print_object(applicable(job.manifest), sending.output)
    else:
        click.echo(f"{job} {'would be created' if sending.dry_run == 'server' else 'created'} in {job.namespace}")


def _choose_queue(client: TrainingClient, manifest: Part) -> None:
    """Replace --queue without a name by the only queue of the namespace, or by its default."""
    policy = manifest["spec"].get("schedulingPolicy") or {}
    if policy.get("queue") != ONLY_QUEUE:
        return
    names = [one["metadata"]["name"] for one in client.objects.list_if_served(LOCAL_QUEUES)]
    chosen = names[0] if len(names) == 1 else "default" if "default" in names else ""
    if not chosen:
        known = ", ".join(names[:20]) or "none"
        raise click.UsageError(
            f"--queue needs a name: {client.namespace} has {known}\nnext  --queue NAME, or leave it out"
        )
    policy["queue"] = chosen
