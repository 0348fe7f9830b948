"""What a candidate release is, and what it changes."""
