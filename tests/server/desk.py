"""A folder of documents, an index of it, an index that is nobody's business, and a server that offers the first two."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.reading.test_pdf import pdf, prose
from tests.server.stage import Live, quoting, running

SECRET = "the colour of the vault is vermilion"
LAMPS = """<html><head><title>The Book of Lamps</title></head><body><main><h1>The Book of Lamps</h1>
<p>Lamps are older than writing. This book tells how they are kept and filled by those who live with them.</p>
<h2 id="oil">Oil</h2><p>Whale oil was burned in the lamps of Skerry until 1860. After that the keeper took paraffin, which
smoked less.<script>document.title = "owned"</script> He wrote &lt;img src=x onerror="document.title='owned'"&gt; in his log.</p>
<h2 id="wicks">Wicks</h2><p>A wick is trimmed each evening before the lamp is lit.</p></main></body></html>"""
NOTES = "# Caching\n\nWe met on Monday.\n\n## What we decided\n\nPages stay in the edge cache for six hours.\n"
STORM = [(50, 640, 10, "F", "The great storm of 1839 put out the light for two nights.")]
ODD = "odd %2e%2e&document=notes.md #'\"<b>.txt"


@dataclass
class Desk:
    """Where everything lies."""

    root: Path

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def files(self) -> str:
        return f"files:{self.docs}"

    @property
    def index(self) -> str:
        return f"index:{self.root / 'index'}"

    @property
    def other(self) -> str:
        return f"index:{self.root / 'other'}"


def furnish(root: Path) -> Desk:
    """Documents, and beside them what nobody may see."""
    desk = Desk(root)
    (desk.docs / "sub").mkdir(parents=True)
    (desk.docs / "lamps.html").write_text(LAMPS)
    (desk.docs / "notes.md").write_text(NOTES)
    (desk.docs / "book.pdf").write_bytes(pdf(prose(780), [*prose(780), *STORM], title="The Log of Skerry"))
    (desk.docs / "sub" / "inner.txt").write_text("The inner room holds forty jars of honey.")
    (desk.docs / ODD).write_text("An odd name harms nobody, and neither does its owner.")
    (desk.docs / "gone.txt").write_text("The ferry to Skerry ran on Tuesdays only.")
    (desk.docs / ".hidden.txt").write_text(SECRET)
    with open(os.fsencode(desk.docs) + b"/caf\xe9.txt", "w") as latin:
        latin.write("The café beside the light sold soup.")
    (root / "private").mkdir()
    (root / "private" / "vault.txt").write_text(SECRET)
    (root / "secret.txt").write_text(SECRET)
    (desk.docs / "link.txt").symlink_to(root / "secret.txt")
    (desk.docs / "up").symlink_to(root)
    (desk.docs / "zero.txt").symlink_to("/dev/zero")
    os.mkfifo(desk.docs / "pipe.txt")
    build(desk.docs, root / "index")
    build(root / "private", root / "other")
    return desk


def build(folder: Path, index: Path) -> None:
    arguments = ["index", "build", str(folder), "--output", str(index), "--words-only"]
    program = "import sys; from wellread.cli.main import main; sys.argv[0] = 'wellread'; main()"
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, timeout=120)


@contextmanager
def serving(desk: Desk, **options: object) -> Iterator[Live]:
    """The folder is the default source; the index can be chosen, the other one not."""
    with running(quoting(sources=(desk.files,)), desk.root, sources=(desk.index,), **options) as live:
        yield live
