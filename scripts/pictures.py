"""The pictures of README and docs, made from the real thing: the command on a terminal of 80 columns, the page in Chromium.

python scripts/pictures.py [--output DIR]
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QUESTION = "Which is the largest moon of Saturn, and who discovered it?"
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WELLREAD = str(Path(sys.executable).parent / "wellread")
WIDTH = 80


def terminal(path: Path) -> None:
    """What `wellread ask` leaves on a terminal, as SVG without fonts from elsewhere."""
    from rich.console import Console
    from rich.text import Text

    shown = ""
    for _ in range(2):  # the first fills the caches of the machine
        shown = _on_a_terminal([WELLREAD, "ask", *QUESTION.split()])
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(f"$ wellread ask {QUESTION}", highlight=False, soft_wrap=False)
    for line in shown.rstrip().splitlines():
        console.print(Text.from_ansi(line.rstrip()))
    drawn = console.export_svg(title="wellread", unique_id="wellread")
    path.write_text(re.sub(r"@font-face \{.*?\}\n?", "", drawn, flags=re.DOTALL), encoding="utf-8")


def _on_a_terminal(command: list[str]) -> str:
    """The output of a command whose stdout is a terminal; progress goes to stderr and is left out."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "WELLREAD_MODEL": "none"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environ) as process:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # the other side has closed
            pass
        process.wait()
    os.close(ours)
    seen = seen.rpartition(b"\x1b[2K")[2]  # what was erased, the draft, a reader does not see any more
    without = re.sub(rb"\x1b\[\??[0-9;]*[A-Zac-ln-z]", b"", seen)  # movements of the cursor; colours end in m
    return without.decode("utf-8").replace("\r", "")


@contextmanager
def _served() -> Generator[str]:
    with tempfile.TemporaryDirectory() as folder:
        command = [WELLREAD, "serve", "--port", "0", "--model", "none", "--history", f"{folder}/history.sqlite"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            said = next(line for line in server.stderr if "listens on" in line)
            try:
                yield re.findall(r"http://\S+/", said)[0]
            finally:
                server.terminate()


MINUTES = "# Minutes of March\n\nThe board met on Monday. The bridge over the Ash is painted green by Ines Holm in May.\n"


def documents(path: Path) -> None:
    """A collection in the page, as PNG."""
    from playwright.sync_api import sync_playwright

    with _served() as address, sync_playwright() as player:
        browser = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1100, "height": 760}, color_scheme="light")
        tab.goto(f"{address}collections")
        tab.get_by_label("Name", exact=True).fill("Minutes of the board")
        months = ("January", "February", "March")
        sent = [{"name": f"{month}.md", "mimeType": "text/markdown", "buffer": MINUTES.encode()} for month in months]
        tab.locator("input[type=file]").set_input_files(sent)  # pyright: ignore[reportArgumentType]
        tab.get_by_role("button", name="Make it").click()
        tab.wait_for_url("**/collections/minutes-of-the-board")
        tab.locator("#collection:not([data-working])").wait_for(timeout=60_000)
        tab.screenshot(path=path)
        browser.close()


HANDBOOK = """<title>Handbook of the boathouse</title><h1>Handbook of the boathouse</h1><h2>Keys</h2>
<p>Every member has a key to the gate. The key of the engine room hangs in the office and is signed out in the book.</p>
<h2>Winter</h2><p>The jetty is taken in before the first frost, and never later than 5 November. Boats over six metres stand
in the long shed. The heater there keeps eight degrees; who finds it cold calls Ines Holm.</p>
<h2>Guests</h2><p>A guest may stay at the jetty for three nights. The fee is twelve euros a night and is paid into the tin.</p>"""


def handbook(path: Path) -> None:
    """A PDF of one's own, opened beside the answer at the words that carry it."""
    from playwright.sync_api import sync_playwright

    with _served() as address, sync_playwright() as player:
        browser = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme="light")
        tab.set_content(f"<style>body {{ font: 15pt/1.6 serif; margin: 3cm }}</style>{HANDBOOK}")
        printed = tab.pdf()
        tab.goto(f"{address}collections")
        tab.get_by_label("Name", exact=True).fill("Boathouse")
        sent = {"name": "Handbook.pdf", "mimeType": "application/pdf", "buffer": printed}
        tab.locator("input[type=file]").first.set_input_files(sent)  # pyright: ignore[reportArgumentType]
        tab.get_by_role("button", name="Make it").click()
        tab.wait_for_url("**/collections/boathouse")
        tab.locator("#collection:not([data-working])").wait_for(timeout=120_000)
        tab.get_by_text("Ask it").click()
        tab.wait_for_load_state("networkidle")
        tab.get_by_role("textbox").first.fill("What is the fee for a guest at the jetty?")
        tab.keyboard.press("Enter")
        tab.locator("article:not([data-state=running]) .answer .cite").first.click(timeout=60_000)
        tab.wait_for_timeout(2000)
        tab.screenshot(path=path)
        browser.close()


def files(folder: Path) -> None:
    """A report without a language model as HTML and as the first page of its PDF."""
    import pypdfium2
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as made, sync_playwright() as player:
        for kind in ("html", "pdf"):
            asked = ["What is known about Titan, the moon of Saturn?", "--model", "none", "-o", f"{made}/report.{kind}"]
            subprocess.run([WELLREAD, "research", *asked], check=True, stdout=subprocess.DEVNULL)
        browser = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 820, "height": 900}, color_scheme="light")
        tab.goto(Path(made, "report.html").as_uri())
        tab.screenshot(path=folder / "report-html.png")
        browser.close()
        page: Any = pypdfium2.PdfDocument(Path(made, "report.pdf"))[0]
        page.render(scale=1.2).to_pil().convert("L").save(folder / "report-pdf.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=FOLDER)
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    terminal(folder / "terminal.svg")
    documents(folder / "documents.png")
    handbook(folder / "handbook.png")
    files(folder)


if __name__ == "__main__":
    main()
