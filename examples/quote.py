"""An answer without a language model: the sentences that carry it, word for word."""

import sys

import wellread

question = " ".join(sys.argv[1:]) or "Which is the largest moon of Saturn, and who discovered it?"
answer = wellread.ask(question, strategy="quote")
print(answer.short or answer.text or f"No answer: {answer.reason}")
for citation in answer.citations:
    print(f"[{citation.number}] {citation.passage.title}: “{citation.quote}”")
