"""An answer printed (`print(answer)`) and in notebooks: as the command line and the Markdown of every other place show it."""

from __future__ import annotations

from wellread.answer_json import AnswerJson
from wellread.present.html import markdown_html
from wellread.present.markdown import markdown
from wellread.present.sections import sections
from wellread.present.terminal import lines
from wellread.types import Answer


def text(answer: Answer) -> str:
    return "\n".join(lines(AnswerJson.of(answer)))


def checked(answer: Answer) -> str:
    return sections(AnswerJson.of(answer)).checked


def in_markdown(answer: Answer) -> str:
    """With how many of its sentences were checked; where there are marks, their legend says it."""
    body = AnswerJson.of(answer)
    parts = sections(body)
    return markdown(body) if parts.legend or not answer.text else f"{markdown(body)}\n\n{parts.checked}"


def in_html(answer: Answer) -> str:
    return markdown_html(in_markdown(answer))
