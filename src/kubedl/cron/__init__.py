"""Schedules: the controller of Crons, and that of jobs with a cronPolicy."""
