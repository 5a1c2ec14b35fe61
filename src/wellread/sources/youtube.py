"""`youtube:URL`: what is said in a video, by its captions; through the package `yt-dlp` (extra `video`)."""

from __future__ import annotations

import asyncio
import logging
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wellread.errors import SourceError, UsageError, optional
from wellread.net.payload import Payload, told
from wellread.parameters import Seconds, fill, param
from wellread.protocols import Parts
from wellread.sources.hits import plain
from wellread.sources.memory import InMemory
from wellread.sources.papers import reference
from wellread.text.dates import iso_date
from wellread.types import Passage, Spec

_HOSTS = ("youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be", "www.youtube-nocookie.com")  # yt-dlp would go anywhere
_LOG = logging.getLogger(__name__)  # in the place of its own lines on the terminal
_LOG.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Options:
    v: str | None = param(None, "the video's id, as it stands in an address: youtube:https://www.youtube.com/watch?v=ID")
    language: str = param("en", "of the captions, the first that there are of these: en,de")
    seconds: Seconds = param(60.0, "of speech in a passage")
    meaning: bool = param(True, "search by meaning too, not by words alone")


class YouTube(InMemory):
    """Captions of a YouTube video: what is said in it."""

    private = False
    hint = "What is said in a video. Words as people speak them; a whole question works too."

    def __init__(self, spec: Spec, kit: Parts) -> None:
        self._options = fill(Options, spec.options, "source youtube")
        given = spec.argument if "://" in spec.argument else f"https://youtu.be/{spec.argument or self._options.v or ''}"
        parts = urlsplit(given)
        video = self._options.v or parts.path.rpartition("/")[2]
        if parts.hostname not in _HOSTS or not re.fullmatch(r"[\w-]{6,20}", video):
            raise UsageError("youtube needs a video: youtube:ID, or youtube:https://youtu.be/ID")
        super().__init__(f"youtube:{video}", kit, meaning=self._options.meaning)
        self._place = f"https://www.youtube.com/watch?v={video}"
        with optional("youtube", "video"):
            self._program: Any = import_module("yt_dlp")

    async def read(self) -> tuple[Sequence[Passage], Sequence[str]]:
        made = self._passages(*await asyncio.to_thread(self._captions))
        return made, [] if made else [f"the video has no captions in {self._options.language}"]

    def _captions(self) -> tuple[Payload, Payload]:
        """Metadata of the video, and its captions as YouTube writes them (json3)."""
        with tempfile.TemporaryDirectory(prefix="wellread-video-") as folder:
            languages = self._options.language.split(",")
            how = {"skip_download": True, "writesubtitles": True, "writeautomaticsub": True, "subtitlesformat": "json3"}
            how |= {"subtitleslangs": languages, "outtmpl": f"{folder}/video.%(ext)s", "noplaylist": True, "logger": _LOG}
            try:
                with self._program.YoutubeDL(how) as program:
                    about = Payload(program.extract_info(self._place, download=True))
            except self._program.utils.DownloadError as problem:
                raise SourceError(self.name, told(str(problem).removeprefix("ERROR: "), ())) from None
            files = (Path(folder) / f"video.{language}.json3" for language in languages)
            found = next((file.read_bytes() for file in files if file.is_file()), b"{}")
            return about, Payload.parse(found)

    def _passages(self, about: Payload, captions: Payload) -> list[Passage]:
        day, title = about.text("upload_date"), about.text("title")
        who = [about.text("uploader")]
        work = reference(title=title, authors=who, year=day, venue="YouTube", url=self._place, kind="motion_picture")
        pieces: dict[int, list[str]] = {}
        for event in captions.items("events"):
            words = "".join(one.text("utf8") for one in event.items("segs")).strip()
            if words:
                pieces.setdefault(int((event.number("tStartMs") or 0) / 1000 // self._options.seconds), []).append(words)
        return [
            Passage(
                id=f"{self.name}#{place}",
                text=plain(" ".join(words)),
                title=work.title or self._place,
                url=f"{self._place}&t={round(place * self._options.seconds)}s",
                published=iso_date(day),
                document=self._place,
                heading=str(timedelta(seconds=int(place * self._options.seconds))),
                reference=work,
            )
            for place, words in sorted(pieces.items())
        ]
