"""KubeDL's operator beside what Kubernetes can do at all, a script that makes the least writes, and its peers.

Every contender meets the same control plane, the same kind of pods and the same clock.
"""
