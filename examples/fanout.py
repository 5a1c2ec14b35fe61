"""Many queries at once, ranked by their likeness to a hypothetical answer; limits hold for the whole run."""

import sys

import wellread

question = " ".join(sys.argv[1:]) or "What is known about the moons of the giant planets?"
answer = wellread.ask(question, strategy="fanout", params={"max_queries": 6, "top_k": 5}, max_searches=8, max_seconds=60)
print(answer.text or answer.reason)
for number, passage in answer.passages.items():
    print(f"[{number}] {passage.title} {passage.url or ''}")
