"""From flags to manifests."""
