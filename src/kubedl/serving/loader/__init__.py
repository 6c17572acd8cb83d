"""What runs in a predictor's pod before its server does. It imports little: every pod waits for it."""
