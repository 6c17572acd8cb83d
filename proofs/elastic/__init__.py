"""Elastic jobs on recorded spot markets."""
