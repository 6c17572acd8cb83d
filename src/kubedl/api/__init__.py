"""Our own objects, one module per API group. CRDs are generated from these structs; nothing else defines them."""
