"""A controller runtime: caches kept level with the server, queues of keys, and controllers that work them off.

It knows no workload. What a controller reads is a cache; what it writes is waited for before it plans again.
"""
