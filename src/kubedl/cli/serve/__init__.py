"""Manifests of services from flags."""
