"""Queues of Kueue: a job with a queue waits until its Workload is admitted, and gives its quota back when evicted."""
