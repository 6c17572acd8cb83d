"""Everybody listens at its own entry of TF_CONFIG and connects to every other one; done when all have met.

A port that somebody else on the node listens at is an error at once.
"""

import json
import os
import socket
import time

PATIENCE = 240.0  # seconds: images may still be on their way to a node


def main() -> None:
    config = json.loads(os.environ["TF_CONFIG"])
    workers, own = config["cluster"]["worker"], config["task"]["index"]
    port = int(workers[own].rpartition(":")[2])
    deadline = time.monotonic() + PATIENCE
    with socket.create_server(("", port), backlog=64) as server:
        print(f"worker {own} listens at {port}", flush=True)
        made = [connect(address, deadline) for number, address in enumerate(workers) if number != own]
        for connection in made:
            connection.sendall(b"%d\n" % own)
        met: set[int] = set()
        while len(met) < len(made):
            server.settimeout(max(0.1, deadline - time.monotonic()))
            peer, _ = server.accept()
            met.add(int(peer.makefile().readline()))
        print(f"worker {own} met {sorted(met)}", flush=True)
        if met != set(range(len(workers))) - {own}:
            raise SystemExit("somebody else called")


def connect(address: str, deadline: float) -> socket.socket:
    """Try until the other one is there."""
    host, _, port = address.rpartition(":")
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=5)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main()
