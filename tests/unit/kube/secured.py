"""A stand-in API server behind TLS, which may be started anew with other certificates on the same port."""

from pathlib import Path

from aiohttp import web

from tests.authorities import LOOPBACK, BareAuthority, served_by
from tests.unit.kube.server import Script


class SecuredServer:
    """Asks for a client's certificate, as `clients` signs them, or for none."""

    def __init__(self, script: Script, directory: Path, port: int = 0) -> None:
        self._script = script
        self._directory = directory
        self._port = port
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self._port}"

    async def start(
        self, authority: BareAuthority, *, clients: BareAuthority | None = None, hosts: tuple[str, ...] = (LOOPBACK,)
    ) -> None:
        """Show a certificate of this authority. Whoever was connected is cut off."""
        await self.stop()
        context = served_by(authority, self._directory, clients=clients, hosts=hosts)
        self._runner = web.ServerRunner(web.Server(self._script.handle), shutdown_timeout=0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, self._port, ssl_context=context, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Cut everybody off."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
