"""What the machine and the API server can do at all, against which KubeDL is measured."""
