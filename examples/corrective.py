"""Grade what a folder of your own says; where it is poor, look in a second source too."""

import sys
import tempfile
from pathlib import Path

import wellread

question = " ".join(sys.argv[1:]) or "How long do we keep search results?"
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "caching.md").write_text("On 3 May we decided to keep search results for an hour.\n", encoding="utf-8")
    answer = wellread.ask(question, strategy="corrective", sources=[f"files:{folder}"], fallback="library")
print(answer.text or answer.reason)
