"""Controller runtime: informer caches, work queues, and controllers.

It knows nothing about workloads. Controllers read from caches; a controller reconciles a key only after the caches show
its own last writes.
"""
