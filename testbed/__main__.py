"""The test bed from a terminal: `python -m testbed up --nodes 2`; the Makefile's targets call this."""

import argparse
import sys
from pathlib import Path

from testbed import cleanup, gateway, tools
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.images import bom
from testbed.images.layout import manifest_digest, size
from testbed.instance import chosen_index


def main() -> int:
    """Run one command; a failure is one message, not a traceback."""
    try:
        arguments = _parser().parse_args()
        code: int = arguments.command(Cluster(arguments.instance, report=_say), arguments)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    return code


def _say(line: str) -> None:
    """Progress is for people; what a shell may read goes to standard output."""
    print(line, file=sys.stderr, flush=True)


def _up(cluster: Cluster, arguments: argparse.Namespace) -> int:
    cluster.up(nodes=arguments.nodes, kwok=arguments.kwok)
    if arguments.gateway:
        cluster.add_gateway()
    record = cluster.record
    version = cluster.api.get("/version")["gitVersion"]
    print(
        f"cluster {cluster.instance.index} is ready: Kubernetes {version}, {record.nodes} nodes, "
        f"{record.kwok} simulated\n\n"
        f"  export KUBECONFIG={cluster.kubeconfig}\n"
        f'  or, for kubectl too:  eval "$(make cluster-env INSTANCE={cluster.instance.index})"\n'
    )
    if record.nodes:
        print(f"  registry for images: {cluster.instance.registry}")
    print(f"  logs: {cluster.instance.state / 'log'}")
    return 0


def _down(cluster: Cluster, _: argparse.Namespace) -> int:
    cluster.down()
    print(f"cluster {cluster.instance.index} is gone")
    return 0


def _status(cluster: Cluster, _: argparse.Namespace) -> int:
    """Everything of the instance that exists on the machine; exit code 3 if there is nothing."""
    found = cleanup.scan(cluster.instance)
    print(found)
    return 0 if found else 3


def _environment(cluster: Cluster, _: argparse.Namespace) -> int:
    """Shell lines that point kubectl at the cluster; where there are nodes to install on, helm is on the PATH too."""
    record = cluster.record
    programs = [tools.binary("kubectl", _say)]
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    if record.nodes:
        print(f"export REGISTRY={cluster.instance.registry}")
        programs.append(tools.binary("helm", _say))
    if gateway.PROGRAM in record.beside:
        print(f"export GATEWAY_ADDRESS={gateway.address(cluster.instance)}")
    print(f"export PATH={':'.join(str(program.parent) for program in programs)}:$PATH")
    return 0


def _prepare(cluster: Cluster, arguments: argparse.Namespace) -> int:
    cluster.parts.prepare(arguments.nodes, arguments.kwok)
    tools.binaries(arguments.programs, _say)
    for name in arguments.images:
        cluster.images.ensure(name)
    return 0


def _tools(_: Cluster, arguments: argparse.Namespace) -> int:
    wanted = arguments.names or [program for tool in tools.catalogue().values() for program in tool.packages]
    for path in tools.binaries(wanted, _say).values():
        print(path)
    return 0


def _image(cluster: Cluster, arguments: argparse.Namespace) -> int:
    for name in arguments.names or cluster.images.names():
        print(cluster.images.ensure(name))
    return 0


def _release(cluster: Cluster, _: argparse.Namespace) -> int:
    """The product's image, and what whoever publishes it needs to know of it."""
    layout = cluster.images.ensure("kubedl")
    print(
        f"image:   {manifest_digest(layout)} ({size(layout) / 1e6:.0f} MB)\n"
        f"bill:    {layout / Path(bom.PLACE).name}\n"
        f"publish: skopeo copy --preserve-digests oci:{layout} docker://REGISTRY/kubedl:VERSION"
    )
    return 0


def _push(cluster: Cluster, arguments: argparse.Namespace) -> int:
    """The last line is the reference that a pod can use."""
    if not cluster.record.nodes:
        raise TestbedError("the cluster has no nodes and so no registry; `make cluster NODES=2` adds them")
    print(cluster.image(arguments.name))
    return 0


def _load(cluster: Cluster, arguments: argparse.Namespace) -> int:
    cluster.load_image(arguments.name, arguments.reference)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    parser.add_argument("--instance", type=int, default=chosen_index(), help="which test bed of those side by side")
    commands = parser.add_subparsers(required=True)
    size = argparse.ArgumentParser(add_help=False)
    size.add_argument("--nodes", type=int, default=0, help="real nodes")
    size.add_argument("--kwok", type=int, default=0, help="simulated nodes")
    up = commands.add_parser("up", parents=[size], help="start a cluster, or grow the one that runs")
    up.add_argument("--gateway", action="store_true", help="and a gateway beside it")
    up.set_defaults(command=_up)
    prepare = commands.add_parser("prepare", parents=[size], help="build what a cluster of this size needs")
    prepare.add_argument("--programs", nargs="*", default=[], help="and these programs that may stand beside it")
    prepare.add_argument("--images", nargs="*", default=[], help="and these test images")
    prepare.set_defaults(command=_prepare)
    environment = commands.add_parser("environment", help="print shell lines that point kubectl at the cluster")
    environment.set_defaults(command=_environment)
    commands.add_parser("down", help="end the cluster").set_defaults(command=_down)
    commands.add_parser("status", help="list what exists of the cluster").set_defaults(command=_status)
    build = commands.add_parser("tools", help="build the Go programs named, or all")
    build.add_argument("names", nargs="*")
    build.set_defaults(command=_tools)
    push = commands.add_parser("push", help="put a test image into the cluster's registry and print its reference")
    push.add_argument("name")
    push.set_defaults(command=_push)
    load = commands.add_parser("load", help="put a test image into every node under a name, as `kind load` does")
    load.add_argument("name")
    load.add_argument("reference", help="as a pod has it, with a tag")
    load.set_defaults(command=_load)
    release = commands.add_parser("release", help="build the product's image and say where it lies")
    release.set_defaults(command=_release)
    image = commands.add_parser("images", help="build the test images named, or all")
    image.add_argument("names", nargs="*")
    image.set_defaults(command=_image)
    return parser


if __name__ == "__main__":
    sys.exit(main())
