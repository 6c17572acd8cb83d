"""The loader, which runs in an init container of predictor pods. It imports little, as every pod waits for it."""
