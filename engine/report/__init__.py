"""Reports on a recommendation: memo, tables and slides for the board, an annex for the analyst.

What is imported from here costs no more than its own module does: most users want a few words, not documents.
"""
