"""Reports: on the page with their contents, section by section while they are written, gone on with, and as files."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from tests.server.stage import HITS, ask, finished, running
from tests.strategies.bench import Shelf

from wellread.engine import Engine
from wellread.models.scripted import ScriptedModel
from wellread.settings import Settings
from wellread.types import Prompt

pytestmark = pytest.mark.slow
QUESTION = "What is known of Saturn?"
PLAN = ["Moons | How many moons has Saturn?", "Titan | Who discovered Titan?"]


class Author:
    """Writes the first section at once, and the second when it is let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.slow = threading.Event()

    def __call__(self, prompt: Prompt) -> str:
        text = "\n".join(message.text for message in prompt.messages)
        if "You lay out a report" in text:
            return json.dumps({"sections": PLAN})
        if "Below are the sections" in text:
            return "<introduction>Saturn has 146 moons. [1]</introduction>"
        title = re.search(r"the section “(\w+)”", text)[1]  # type: ignore[index]
        self.asked.append(title)
        if title == "Titan":
            return "Titan was discovered by Christiaan Huygens in 1655. [2]\nMISSING: what $E=mc^2\\,$ has to do with it"
        return "Saturn has 146 moons. [1]"


def desk(model: ScriptedModel) -> Engine:
    return Engine(Settings(effort="low", embedder="none"), model=model, source=Shelf(HITS))


def test_a_report_has_contents_what_was_not_found_and_files(folder: Path, need: Callable[[bool, str], None]) -> None:
    with running(desk(ScriptedModel(Author())), folder) as live, live.client() as client:
        run = ask(client, QUESTION, strategy="research")
        assert finished(client, run)["outcome"] == "partial"
        page = client.get(f"/r/{run}").text
        contents = page.partition('aria-label="Contents of the report"')[2].partition("</nav>")[0]
        assert re.findall(r'href="#(part-[\w-]+-\d)">([\w ]+)<', contents) == [
            (f"part-{run}-{place}", title) for place, title in enumerate(["Introduction", "Moons", "Titan"], 1)
        ]
        assert f'<h2 id="part-{run}-3">Titan</h2>' in page
        assert "What could not be found</h2><ul><li><p>a part of the question</p>" in page, "it names what nobody has said"
        saved = client.get(f"/r/{run}/report.html")
        assert saved.headers["content-disposition"] == 'attachment; filename="what-is-known-of-saturn.html"'
        assert '<h2 id="part-3">Titan</h2>' in saved.text
        assert "<script" not in saved.text
        assert client.get(f"/r/{run}/report.exe").status_code == 422
        need(importlib.util.find_spec("docx") is not None, "python-docx")
        word = ZipFile(BytesIO(client.get(f"/r/{run}/report.docx").content))
        assert "Christiaan Huygens" in word.read("word/document.xml").decode()
        assert "https://planets.example/titan" in word.read("word/_rels/document.xml.rels").decode()


def test_a_report_that_was_stopped_goes_on_from_the_page(folder: Path) -> None:
    """Stopped when its first section is written: the page has it by then, and the second run asks for the other alone."""
    author = Author()

    class Slow(ScriptedModel):
        async def stream(self, prompt: Prompt) -> Any:
            if "the section “Titan”" in prompt.messages[0].text and not author.slow.is_set():
                await asyncio.sleep(60)
            async for item in super().stream(prompt):
                yield item

    with running(desk(Slow(author)), folder) as live, live.client(follow_redirects=True) as client:
        run = ask(client, QUESTION, strategy="research")
        with client.stream("GET", f"/r/{run}/live") as lines:
            for line in lines.iter_lines():
                if '"draft"' in line and "Saturn has 146 moons" in line:
                    assert "written" in line
                    break
        page = client.get(f"/r/{run}").text
        assert '<li data-state="written">Moons' in page
        assert '<li data-state="searched">Titan' in page
        client.delete(f"/api/runs/{run}")
        page = client.get(f"/r/{run}").text
        assert f'name="resume" value="{run}"' in page
        author.slow.set()
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.partition("Go on")[0].rpartition("<form")[2]))
        last = client.post("/ask", data=fields).url.path.rpartition("/")[2]
        assert "Huygens" in finished(client, last)["answer"]["answer"]
        assert author.asked == ["Moons", "Titan"]
        other = client.post("/api/runs", json={"question": "Another?", "strategy": "research", "resume": run})
        assert other.status_code == 404
