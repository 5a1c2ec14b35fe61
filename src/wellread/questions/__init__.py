"""Kinds of questions, follow-ups, comparisons, languages."""
