"""Logs of finished containers, kept in S3-compatible storage."""
