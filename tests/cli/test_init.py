"""`wellread init`: the file says what is in force, and can be used as it is or with its lines let in."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from wellread import settings
from wellread.cli.main import app
from wellread.server import options
from wellread.settings import Settings


def init(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["init", *map(str, arguments)])


def test_as_it_is_it_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    assert init(path).exit_code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert settings.load({}, {"WELLREAD_CONFIG": str(path)}) == Settings()


def test_every_line_can_be_let_in(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = re.sub(r"^# (?=\[|\w+ = )", "", init("--print").stdout, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    loaded = settings.load({}, {"WELLREAD_CONFIG": str(path)})
    assert set(tomllib.loads(text)) == {field.name for field in fields(Settings)}
    assert (loaded.effort, loaded.max_seconds, loaded.hops) == (Settings().effort, Settings().max_seconds, Settings().hops)
    served = options.load(loaded, environ={})
    assert (served.port, served.retention_days) == (options.ServerOptions().port, options.ServerOptions().retention_days)
    assert set(loaded.server) == set(options.ServerOptions.__slots__) - {"token"}


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("hops = 2\n", encoding="utf-8")
    with pytest.raises(Exception, match="--force"):
        raise init(path).exception or AssertionError
    assert path.read_text(encoding="utf-8") == "hops = 2\n"
    assert init(path, "--force").exit_code == 0
    assert path.read_text(encoding="utf-8").startswith("# Settings of wellread")
