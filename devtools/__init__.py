"""What developers of KubeDL run besides the tests: locking, generating, house rules."""
