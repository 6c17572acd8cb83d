"""A training job as a step of a pipeline, `kubedl pipeline-step`: submit it, wait, hand on the model version.

The logs of the job go to standard output, and the names that the next step needs to files. The exit code is that of
the replica that failed first, as of `kubedl wait`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kubedl.cli import durations, failures
from kubedl.cli.terminal import printable
from kubedl.client.errors import KubedlError
from kubedl.client.log_line import LogLine
from kubedl.client.pipelines import StepResult, run_step
from kubedl.client.training_client import TrainingClient

LARGEST = 2**20  # bytes of a manifest: what the API server takes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the step."""
    options = parser().parse_args(arguments)
    return failures.code_of_job(lambda: _run(options))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="kubedl pipeline-step", description=__doc__)
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("--job", help="manifest of the job, as YAML or JSON")
    job.add_argument("--job-file", type=Path, help="file with the manifest of the job")
    parser.add_argument("--run", default="", help="run of the pipeline: a step that starts again finds its job by it")
    parser.add_argument("--namespace", default="", help="namespace of the job (default: that of the pod)")
    parser.add_argument("--timeout", type=_seconds, help="how long to wait, such as 6h")
    parser.add_argument("--kubeconfig", help="run outside the cluster with the current context of this kubeconfig")
    parser.add_argument("--no-logs", action="store_true", help="do not print the logs of the job")
    for name in ("job-name", "model-version", "model-image"):
        parser.add_argument(f"--write-{name}", type=Path, help=f"file for the {name.replace('-', ' ')}")
    return parser


def _seconds(text: str) -> float | None:
    """Return a duration; a pipeline passes an empty text if its author gave none."""
    if not text:
        return None
    try:
        return float(durations.parse(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _run(options: argparse.Namespace) -> None:
    manifest = _manifest(options)
    with TrainingClient(namespace=options.namespace or None, config_file=options.kubeconfig) as client:
        result = run_step(
            client, manifest, run=options.run, timeout=options.timeout, on_line=None if options.no_logs else _print
        )
    _write(options, result)
    print(f"{result.job} succeeded{f', model version {result.model_version}' if result.model_version else ''}")


def _manifest(options: argparse.Namespace) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - help needs none

    try:
        text = options.job if options.job is not None else options.job_file.read_text()
        found = yaml.safe_load(text[:LARGEST])
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise KubedlError("the manifest of the step cannot be read", " ".join(str(error).split())[:300]) from error
    if not isinstance(found, dict):
        raise KubedlError("the manifest of the step is no object", "it has apiVersion, kind, metadata and spec")
    return found


def _print(line: LogLine) -> None:
    print(printable(f"[{line.replica}] {line}"), flush=True)


def _write(options: argparse.Namespace, result: StepResult) -> None:
    places = {
        options.write_job_name: result.job,
        options.write_model_version: result.model_version,
        options.write_model_image: result.model_image,
    }
    for place, value in places.items():
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)  # pipelines name files in directories that are not there
            place.write_text(value)


if __name__ == "__main__":
    sys.exit(main())
