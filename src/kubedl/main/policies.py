"""What an administrator allows, and what his cluster demands of every pod: flags of the operator."""

from argparse import ArgumentParser, ArgumentTypeError

from kubedl.api.model_volumes import FileSystems
from kubedl.cache.host_paths import HostPaths


def add_options(parser: ArgumentParser) -> None:
    """What an administrator may set."""
    parser.add_argument(
        "--efs-file-systems",
        type=FileSystems.parse,
        default="",
        help="file systems of AWS EFS in which models may lie, with commas: fs-1 in every namespace, team/fs-1 in one "
        "(default: none)",
    )
    parser.add_argument(
        "--cache-host-paths",
        type=_host_paths,
        default="",
        help="directories of nodes, with commas, below which CacheBackends may read (local://) and keep data "
        "(cachePath); memory, /dev/shm, needs no leave (default: none)",
    )
    parser.add_argument(
        "--omit-run-as-user",
        action="store_true",
        help="leave it to the cluster as whom our own containers run, as OpenShift wants it",
    )


def _host_paths(text: str) -> HostPaths:
    try:
        return HostPaths.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
