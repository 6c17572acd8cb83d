"""Policies of a job, one per file: pure functions of the observed state and the time."""
