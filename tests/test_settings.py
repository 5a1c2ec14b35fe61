from __future__ import annotations

from pathlib import Path

import pytest

from wellread import settings
from wellread.errors import SettingsError, UsageError
from wellread.parts import Parts


def environ(tmp_path: Path, text: str | None = None, **variables: str) -> dict[str, str]:
    if text is not None:
        folder = tmp_path / "wellread"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(tmp_path), **variables}


def test_flags_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    text = 'strategy = "react"\nmodel = "ollama:a"\neffort = "low"\n'
    loaded = settings.load({"strategy": "digest", "model": None}, environ(tmp_path, text, WELLREAD_MODEL="ollama:b"))
    assert (loaded.strategy, loaded.model, loaded.effort, loaded.cache) == ("digest", "ollama:b", "low", True)


def test_none_is_a_choice_and_not_the_default(tmp_path: Path) -> None:
    keyed = environ(tmp_path, 'reranker = "none"\n', WELLREAD_GRADER="none", OPENAI_API_KEY="x")
    loaded = settings.load({"model": "none"}, keyed)
    assert (loaded.model, loaded.reranker, loaded.grader, loaded.fallback) == ("none", "none", "none", None)
    kit = Parts(loaded, keyed)
    assert kit.model_spec() is None  # although there is a key
    assert kit.reranker() is None


def test_sources_of_the_environment_are_split_at_blanks(tmp_path: Path) -> None:
    loaded = settings.load({}, environ(tmp_path, WELLREAD_SOURCE="library searxng:http://127.0.0.1:8080?engines=a,b"))
    assert loaded.sources == ("library", "searxng:http://127.0.0.1:8080?engines=a,b")


def test_tables_and_limits(tmp_path: Path) -> None:
    text = "max_searches = 3\nmax_cost = 0.5\n[params.iterative]\nmax_searches = 8\n[server]\nretention_days = 9\n"
    loaded = settings.load({}, environ(tmp_path, text))
    assert loaded.limits.searches == 3
    assert loaded.limits.cost == 0.5
    assert loaded.limits.seconds == 300
    assert loaded.params["iterative"] == {"max_searches": 8}
    assert loaded.server == {"retention_days": 9}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strategy = ", "cannot be read"),
        ("max_searches = " + "9" * 5_000, "cannot be read"),
        ("sources = " + "[" * 5_000, "cannot be read"),
        ('stratgy = "quote"', "unknown setting 'stratgy'"),
        ('max_searches = "many"', "whole number"),
        ("max_searches = -1", "max_searches must be at least 0"),
        ("hops = 3", "hops must be at most 2"),
        ("params = 3", "must be a table"),
        ('effort = "huge"', "one of low, normal, high"),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        settings.load({}, environ(tmp_path, text))
    assert "\n" not in str(caught.value).split("(at line")[0]
    assert "config.toml" in str(caught.value)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        settings.load({}, {"WELLREAD_CONFIG": str(path)})


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such settings file"):
        settings.load({}, {"WELLREAD_CONFIG": str(tmp_path / "none.toml")})


def test_an_empty_name_of_a_file_is_none(tmp_path: Path) -> None:
    assert settings.load({}, environ(tmp_path, WELLREAD_CONFIG="")) == settings.load({}, environ(tmp_path))


def test_a_wrong_flag_is_wrong_usage_not_a_wrong_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="effort") as caught:
        settings.load({"effort": "huge"}, environ(tmp_path))
    assert not isinstance(caught.value, SettingsError)


def test_home_decides_without_xdg(tmp_path: Path) -> None:
    assert settings.config_path({"HOME": str(tmp_path)}) == tmp_path / ".config" / "wellread" / "config.toml"
