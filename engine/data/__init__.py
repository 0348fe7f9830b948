"""Files, and the coded records that a study sees of them."""

__all__ = [
    "cell_lookup",
    "domain",
    "edit_rules",
    "frames",
    "grouped_columns",
    "io",
    "labels",
    "microdata",
    "streamed",
    "table",
    "units",
]
