"""Worker threads, and their end in a forked child."""
