"""KEDA's ScaledObject, so that what is made for it is held against its own schema."""

from harness.fakes.third_party_crds import ForeignKinds

KEDA = ForeignKinds(
    "github.com/kedacore/keda/v2@v2.21.0",
    "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=",
    "keda.sh",
    ("scaledobjects",),
)
