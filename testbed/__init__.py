"""A real Kubernetes on one Linux machine, for developers and for tests.

`testbed.Cluster` is the whole interface: it starts a control plane, real nodes and simulated
nodes, finds and cleans what a killed run left behind, and ends exactly what it started.
"""

from testbed.cluster import Cluster

__all__ = ["Cluster"]
