"""What crosses the wire: codecs, and slim frozen structs of the built-in objects that we read.

Structs hold only the fields that somebody reads, and never go back to the server: writes are patches or fresh objects.
"""
