"""Kubernetes API client: credentials, requests, watches, and typed errors."""
