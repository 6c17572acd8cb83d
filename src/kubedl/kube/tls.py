"""How a server's certificate is verified, by whoever opens a connection: to the API server, a registry, a Prometheus.

As Go and curl do it: the chain, the dates and the host name. Python 3.13 also wants every certificate to keep to RFC
5280 (VERIFY_X509_STRICT), and so refuses an authority without key usage or key identifiers. Many clusters have one:
EKS, kubeadm and GKE clusters of some age, MicroK8s.
"""

import ssl


def client_context(authorities: str | None = None) -> ssl.SSLContext:
    """Verifies servers by these authorities (PEM), or by those of the system."""
    context = ssl.create_default_context(cadata=authorities)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
