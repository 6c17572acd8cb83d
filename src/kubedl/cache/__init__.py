"""Datasets kept near the pods that read them: CacheBackends, made with Fluid."""
