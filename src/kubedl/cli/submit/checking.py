"""`submit --check`: whether jobs would start, without creating them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kubedl.cli import failures
from kubedl.cli.settings import Settings
from kubedl.cli.terminal import printable
from kubedl.client import AlreadyExists, Forbidden, Invalid, TrainingClient

if TYPE_CHECKING:
    from kubedl.why.fitting import Fit

WOULD_WAIT = 3
CODES = {"yes": 0, "wait": WOULD_WAIT, "unknown": WOULD_WAIT, "no": failures.REFUSED}
COLORS = {"yes": "green", "wait": "yellow", "unknown": "yellow", "no": "red"}


def check_jobs(settings: Settings, client: TrainingClient, manifests: Sequence[dict[str, Any]], form: str) -> int:
    """Print an answer for each job, and return the worst exit code: never, then later, then now."""
    codes = []
    for manifest in manifests:
        try:
            found = client.check_job(manifest)
        except (AlreadyExists, Invalid, Forbidden) as error:
            failures.print_error(error.message, error.why, error.next)
            return failures.REFUSED
        _print(settings, manifest, found, form, named=len(manifests) > 1)
        codes.append(CODES[found.answer])
    return failures.REFUSED if failures.REFUSED in codes else max(codes)


def _print(settings: Settings, manifest: dict[str, Any], found: "Fit", form: str, *, named: bool) -> None:
    from kubedl.cli.outputs import fit_check  # noqa: PLC0415 - people read text
    from kubedl.cli.structured import print_object  # noqa: PLC0415

    if form:
        print_object(fit_check(manifest, found), form)
        return
    terminal = settings.terminal()
    who = f"{manifest['metadata']['name']} " if named else ""
    terminal.write(f"{who}{terminal.paint(f'{found.answer}:', COLORS[found.answer])} {printable(found.first)}")
    below = [*found.supporting, *found.denied.items(), *([("next", found.next)] if found.next else [])]
    width = max((len(label) for label, _ in below), default=0)
    for label, text in below:
        terminal.write(f"  {label:{width}}  {printable(text)}")
