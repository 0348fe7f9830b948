"""Words and numbers as people read them."""

__all__ = ["figure_text", "markup", "mechanisms", "plan_words", "recognised", "remedies", "text"]
