"""Every page of the console in every state that it can be in, by real faults: `python -m proofs.console.states`.

The console or the API server stands still or is dead, the database and Prometheus are down, rights and accounts are
taken away, parts are not installed, and there is nothing yet. In each of these every page must say the right words, the
rest of it must live, and no figure that is not known may be drawn as 0. Chromium, on a real control plane. With names
of faults as arguments, only these, and what they need. The last line is JSON.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.drivers.console_process import ConsoleProcess
from harness.drivers.databases import Postgres, create_tables
from harness.drivers.prometheus import RealPrometheus
from proofs.console.states_faults import FAULTS, MEMORY, Play, Sources, empty, not_installed, signed_out, well
from proofs.console.states_pages import GONE, TEAM, pages
from proofs.console.states_scene import Scene, new_scene
from proofs.console.states_table import Table
from proofs.console.windows import Windows
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

ALL = ("empty", *FAULTS, "signed_out", "not_installed")


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m proofs.console.states", description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="fault", help=f"only these of {', '.join(ALL)}")
    wanted = parser.parse_args().faults or ALL
    if unknown := set(wanted) - set(ALL):
        parser.error(f"there is no fault {', '.join(unknown)}")
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        cluster_lock.turn(cluster, alone=True),
        Connection(cluster) as connection,
        namespaces.fresh(cluster.api, TEAM) as namespace,
        tempfile.TemporaryDirectory(prefix="kubedl-console-states-") as directory,
    ):
        console_objects.define(cluster)
        scene = new_scene(cluster, connection, namespace)
        table = Table(pages(namespace, scene.uid))
        try:
            run(wanted, table, scene, Path(directory))
        finally:
            console_objects.define(cluster)
            scene.remove_queues()
    print(json.dumps(table.figures()))
    return 0


def run(wanted: Collection[str], table: Table, scene: Scene, directory: Path) -> None:
    """One fault after the other."""
    with Postgres() as database, RealPrometheus() as prometheus, scene.person("ada") as (ada, _):
        create_tables(database.url())
        sources = Sources(database, prometheus)
        with ConsoleProcess(scene.cluster, directory, *sources.asked, history=database.url()) as console:
            if "empty" in wanted:
                with Windows(console.url) as windows:
                    empty(Play(table, windows, console, scene, sources), ada)
            with scene.nodes():  # before pods: those of a node that is not there are deleted
                scene.fill()
                scene.record_past(database.url())
                until("the history to be read again", lambda: _recorded(console, ada), deadline=MEMORY)
                scene.add_queues()
                with Windows(console.url) as windows:
                    play = Play(table, windows, console, scene, sources)
                    well(play, ada)
                    for name, fault in FAULTS.items():
                        if name in wanted:
                            fault(play, ada)
                if "signed_out" in wanted:
                    signed_out(table, scene, directory / "token", sources)
                console.stop()
                if "not_installed" in wanted:
                    not_installed(table, scene, directory, ada)


def _recorded(console: ConsoleProcess, token: str) -> bool:
    """Whether the console knows of the deleted job: it remembers for a while which namespaces the history has."""
    return GONE.encode() in console.get("/api/v1/history/jobs", token).body


if __name__ == "__main__":
    sys.exit(main())
