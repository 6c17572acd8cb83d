"""What `make prove-defects` measures: known defects, each with the test that keeps it from coming back."""
