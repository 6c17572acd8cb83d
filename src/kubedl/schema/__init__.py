"""From our structs to what the API server is told: CRDs with their checks, and RBAC. Knows no workload."""
