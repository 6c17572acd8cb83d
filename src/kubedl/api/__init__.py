"""KubeDL's custom resources, one module per API group. The CRDs are generated from these structs."""
