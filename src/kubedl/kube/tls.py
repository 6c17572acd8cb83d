"""TLS verification for all connections: to the API server, registries and Prometheus.

Like Go and curl: chain, validity dates and host name. Python 3.13 additionally enforces RFC 5280 (VERIFY_X509_STRICT)
and rejects a CA without key usage or key identifiers. Many clusters have such a CA: EKS, MicroK8s, and older kubeadm
and GKE clusters.
"""

import ssl
from dataclasses import dataclass


def client_context(authorities: str | None = None) -> ssl.SSLContext:
    """Return an SSL context that trusts these CAs (PEM), or those of the system."""
    if authorities is not None:
        # Text between certificates may have any characters, such as the name of a CA; the ssl module refuses them.
        authorities = authorities.encode("ascii", "backslashreplace").decode()
    context = ssl.create_default_context(cadata=authorities)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@dataclass(frozen=True)
class Certificates:
    """The PEM data of an SSL context."""

    authorities: bytes | None = None  # None: the CAs of the system
    certificate: bytes | None = None  # client certificate and key
    key: bytes | None = None
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """Return the SSL context; raises ValueError or OSError if the data is invalid."""
        context = client_context(self.authorities.decode(errors="replace") if self.authorities is not None else None)
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a client certificate needs its key, and vice versa")
        if self.certificate is not None and self.key is not None:
            import tempfile  # noqa: PLC0415 - a client with a token does not need it

            # The ssl module reads client certificates from files only.
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(self.certificate + b"\n" + self.key)
                pair.flush()
                context.load_cert_chain(pair.name)
        return context
