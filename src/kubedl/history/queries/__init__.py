"""Questions to the history, for command line, client and dashboard. Every answer is bounded in rows and in work.

Lists are pages in the order of creation, newest first, with a cursor instead of a page number: page 1,000 costs as much
as the first, and rows that arrive meanwhile move nothing. Nothing here counts all rows of a table.

Callers decide which namespaces a user may see, and pass them.
"""
