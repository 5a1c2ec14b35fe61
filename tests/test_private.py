"""What is kept is for its owner alone: settings with a token, the cache, indexes of folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread import settings
from wellread.core.private_files import cache_folder, private_folder, replace_private
from wellread.embedding.forms import keep
from wellread.errors import SettingsError
from wellread.index.kept import place_for
from wellread.net.transport import _is_usable


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("before", [None, 0o755, 0o777])
def test_folders_of_the_cache_are_closed(before: int | None, tmp_path: Path) -> None:
    environ = {"WELLREAD_CACHE_DIR": str(tmp_path / "cache")}
    if before is not None:
        for name in ("http", "files"):
            (tmp_path / "cache" / name).mkdir(parents=True, mode=before)
    assert _is_usable(cache_folder("http", environ))
    place = place_for("folder", environ)
    keep(tmp_path / "cache" / "models" / "a", b"x")
    found = [tmp_path / "cache" / name for name in ("http", "files", "models")]
    assert [mode(folder) for folder in (*found, place)] == [0o700] * 4
    assert mode(tmp_path / "cache" / "models" / "a") == 0o600


def test_a_folder_that_cannot_be_closed_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o777)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "not yours")

    monkeypatch.setattr(Path, "chmod", refuse)
    assert private_folder(folder) == folder


@pytest.mark.parametrize(
    ("text", "permissions", "complaint"),
    [
        ('[server]\ntoken = "0123456789abcdef"\n', 0o644, "chmod 600"),
        ('[server]\ntoken = "0123456789abcdef"\n', 0o640, "chmod 600"),
        ('[server]\ntoken = "0123456789abcdef"\n', 0o600, None),
        ('effort = "low"\n', 0o666, "chmod go-w"),
        ('effort = "low"\n', 0o644, None),
    ],
)
def test_settings_that_others_could_read_or_change(text: str, permissions: int, complaint: str | None, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    path.chmod(permissions)
    environ = {"WELLREAD_CONFIG": str(path)}
    if complaint is None:
        settings.load(environ=environ)
        return
    with pytest.raises(SettingsError, match=complaint):
        settings.load(environ=environ)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    path.chmod(0o644)
    replace_private(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", 0o600)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        replace_private(path, b"newer")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path], "no draft is left behind"
