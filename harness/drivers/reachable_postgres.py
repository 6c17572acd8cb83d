"""PostgreSQL that pods of a test bed can reach, as an administrator has one outside the cluster: with a password."""

from harness.drivers.databases import Postgres

PASSWORD = "not-a-secret-of-anybody"  # noqa: S105 - of a server that ends with its test
ALL_TEST_BEDS = "198.18.0.0/15"


class ReachablePostgres(Postgres):
    """Also listens on the address of a test bed's bridge."""

    def __init__(self, address: str) -> None:
        super().__init__("fsync=off", f"listen_addresses=127.0.0.1,{address}")
        self._address = address

    def url_for_pods(self) -> str:
        """The address of the database, for its owner."""
        return f"postgresql://kubedl:{PASSWORD}@{self._address}:{self.port}/history"

    def _create(self) -> None:
        super()._create()
        with (self.directory / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host history kubedl {ALL_TEST_BEDS} scram-sha-256\n")

    def _prepare(self) -> None:
        self.execute(f"CREATE ROLE kubedl LOGIN PASSWORD '{PASSWORD}'")
        self.execute("CREATE DATABASE history OWNER kubedl")
