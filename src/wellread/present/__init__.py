"""Presenting an answer: taken apart once (`sections`), then shown in a terminal, as Markdown or as HTML."""
