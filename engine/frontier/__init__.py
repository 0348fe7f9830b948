"""The risk–utility frontier: maxima, means and errors, dominance, and rules that choose."""
