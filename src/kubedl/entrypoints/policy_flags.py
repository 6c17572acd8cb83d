"""Flags for cluster policy: the storage that users may mount, and the security context of KubeDL's containers."""

from argparse import ArgumentParser, ArgumentTypeError

from kubedl.datasets.host_paths import HostPaths
from kubedl.podspec.model_volumes import FileSystems


def add_options(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--efs-file-systems",
        type=FileSystems.parse,
        default="",
        help="AWS EFS file systems for models, comma-separated: fs-1 for all namespaces, team/fs-1 for one (default: "
        "none)",
    )
    parser.add_argument(
        "--cache-host-paths",
        type=_host_paths,
        default="",
        help="node directories, comma-separated, that CacheBackends may read (local://) and cache in (cachePath); "
        "/dev/shm is always allowed (default: none)",
    )
    parser.add_argument(
        "--omit-run-as-user",
        action="store_true",
        help="do not set runAsUser on KubeDL's own containers, as OpenShift requires",
    )


def _host_paths(text: str) -> HostPaths:
    try:
        return HostPaths.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
