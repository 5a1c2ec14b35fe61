"""Citation checking: markers, evidence, vetoes, verdicts."""
