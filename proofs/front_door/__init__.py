"""What is claimed of the first hour: a release in files, and an install from nothing else."""
