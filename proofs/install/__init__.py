"""Commands that measure claims about installing."""
