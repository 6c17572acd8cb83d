"""How the claims about the kinds of job are measured, where no benchmark, test or harness does it already."""
