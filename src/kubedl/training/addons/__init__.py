"""Add-ons, one per file: what a job may ask for beside its replicas. `base` says how the engine calls them."""
