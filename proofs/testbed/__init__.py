"""Measurements of the test bed."""
