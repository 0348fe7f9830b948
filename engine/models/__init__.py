"""Statistical models that mechanisms and measures rest on."""
