"""An answer without a language model: the sentences that carry it, word for word."""

import sys

import wellread

question = " ".join(sys.argv[1:]) or "Which planet has the most moons, and who discovered its largest one?"
answer = wellread.ask(question, strategy="quote")
print(answer.short or answer.text or f"No answer: {answer.reason}")
for citation in answer.citations:
    print(f"[{citation.number}] {citation.passage.title}: “{citation.quote}”")
