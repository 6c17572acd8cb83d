"""The sinks that KubeDL ships."""
