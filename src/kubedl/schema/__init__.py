"""CRDs with validation, and RBAC, generated from Python structs. Independent of workloads."""
