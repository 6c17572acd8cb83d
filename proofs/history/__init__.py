"""Measurements of schedules."""
