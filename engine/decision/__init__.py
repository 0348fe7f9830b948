"""The recorded choice, its states, comparisons, altered groups, bounds that nothing meets, and disclosing texts."""
