"""Files, and the coded records that a study sees of them."""
