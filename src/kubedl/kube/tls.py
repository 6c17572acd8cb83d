"""TLS verification for all connections: to the API server, registries and Prometheus.

Like Go and curl: chain, validity dates and host name. Python 3.13 additionally enforces RFC 5280 (VERIFY_X509_STRICT)
and rejects a CA without key usage or key identifiers. Many clusters have such a CA: EKS, MicroK8s, and older kubeadm
and GKE clusters.
"""

import ssl


def client_context(authorities: str | None = None) -> ssl.SSLContext:
    """Return an SSL context that trusts these CAs (PEM), or those of the system."""
    context = ssl.create_default_context(cadata=authorities)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
