"""Whether an authority without key usage and key identifiers is trusted: `python -m proofs.defects.bare_authority`.

By every Python at hand, each in its own process: the one that runs this, and those from 3.13 on, whose ssl module is
strict by default, as in the operator's image. The last line is JSON: how many refused our context, and how many their
default one.
"""

import asyncio
import json
import os
import shutil
import ssl
import sys
import tempfile
from pathlib import Path

from harness.drivers.operator_process import ROOT
from tests.authorities import LOOPBACK, BareAuthority, written

CHILD = """
import socket, ssl, sys
from kubedl.kube.tls import client_context
port, authority = int(sys.argv[1]), open(sys.argv[2]).read()
for context in (client_context(authority), ssl.create_default_context(cadata=authority)):
    try:
        with socket.create_connection(("127.0.0.1", port)) as plain:
            context.wrap_socket(plain, server_hostname="127.0.0.1").close()
        print("trusted")
    except ssl.SSLError as error:
        print(error.strerror)
"""
NAMES = ("python3.13", "python3.14")
VERSIONS = ("versions/3.13*/bin/python3", "versions/3.14*/bin/python3")  # where pyenv has them


def _strict() -> list[str]:
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [one for name in NAMES if (one := shutil.which(name)) is not None]
    return found + [str(one) for pattern in VERSIONS for one in home.glob(pattern)]


async def refusals(python: str, port: int, authority: Path) -> list[bool]:
    """Whether this Python refuses the server with our context, and with its own default."""
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], "HOME": str(Path.home())}
    child = await asyncio.create_subprocess_exec(
        python, "-c", CHILD, str(port), str(authority), stdout=asyncio.subprocess.PIPE, env=environment
    )
    said = (await child.communicate())[0].decode().splitlines()
    print(f"{python}: {', '.join(said) or 'does not run'}", file=sys.stderr)
    return [line != "trusted" for line in said]


async def measure() -> dict[str, int]:
    """Of all Pythons."""
    authority = BareAuthority.create()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(*written(authority.issue("api", hosts=[LOOPBACK]), directory, "api"))
        (directory / "ca.crt").write_bytes(authority.certificate)
        server = await asyncio.start_server(lambda _, writer: writer.close(), LOOPBACK, 0, ssl=serving)
        port = server.sockets[0].getsockname()[1]
        asked = [await refusals(python, port, directory / "ca.crt") for python in (sys.executable, *_strict())]
        server.close()
    ran = [one for one in asked if one]
    return {
        "pythons": len(ran),
        "refused": sum(ours for ours, _ in ran),
        "refused by default": sum(default for _, default in ran),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure())))
