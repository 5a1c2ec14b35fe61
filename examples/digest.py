"""Read documents, digest each, answer from the digests."""

import sys

import wellread

question = " ".join(sys.argv[1:]) or "Who discovered Titan?"
answer = wellread.ask(question, strategy="digest", sources=["library"])
print(answer.text or answer.reason)
for sentence in answer.sentences:
    print("carried" if sentence.supported else "NOT carried", "|", sentence.text)
