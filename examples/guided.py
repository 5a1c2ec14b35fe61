"""One model call on the chain of passages that the small model in the package has found."""

import sys

import wellread

question = " ".join(sys.argv[1:]) or "In which town was the author of Hamlet born?"
answer = wellread.ask(question, strategy="guided", max_tokens=20_000)
print(answer.text or answer.reason)
print(f"{answer.usage.model_calls} calls, {answer.usage.input_tokens + answer.usage.output_tokens:,} tokens")
