"""Elements that several pages draw."""

__all__ = [
    "board_source",
    "candidate_card",
    "candidate_picker",
    "compare_table",
    "disclosure_warnings",
    "elements",
    "error_page",
    "finalists",
    "input_errors",
    "key_table",
    "measures",
    "plan_approval",
    "plan_size",
    "plan_status",
    "recommendation",
    "rules",
    "study_page",
    "tour",
    "workflow",
]
