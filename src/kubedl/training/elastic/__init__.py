"""Elastic jobs on spot nodes: pure functions that decide and count. The operator does not call them yet."""
