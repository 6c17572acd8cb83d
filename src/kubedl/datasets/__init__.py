"""Datasets cached close to the pods that read them: CacheBackends, implemented with Fluid."""
