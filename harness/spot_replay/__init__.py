"""Elastic jobs in virtual time on recorded spot markets: `kubedl.training.elastic` and what it is compared with."""
