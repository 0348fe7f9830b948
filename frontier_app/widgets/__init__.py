"""Elements that several pages draw."""
