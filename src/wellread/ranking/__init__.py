"""Judging passages: rank fusion, the evaluator, cross-encoders and graders."""
