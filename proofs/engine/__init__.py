"""How the claims about the engine are measured, where no benchmark or test does it already."""
