"""Run by Alembic, with the connection of `kubedl.history.migrate`."""

from alembic import context

from kubedl.history.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, transaction_per_migration=True
)
with context.begin_transaction():
    context.run_migrations()
