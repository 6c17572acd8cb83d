"""Why an object does not do what it should: evidence, rules about it, and the diagnosis."""
