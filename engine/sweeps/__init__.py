"""From a plan to a filled study, and one realisation made again."""
