"""Real servers for the tests, each started once: MediaWiki, searx and Datasette, all on loopback.

A fixture gives the server's base URL. Where a package is missing its tests are skipped, or fail when
`WELLREAD_REQUIRE_SERVICES=1`.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path

import pytest
from tests.services.blog import ENTRIES, NOTES
from tests.services.web import DOCUMENTS
from tests.services.wiki import PAGES

Need = Callable[[bool, str], None]
MEDIAWIKI = Path("/usr/share/mediawiki")
SEARX = Path("/usr/lib/python3/dist-packages/searx")


# Proxies of the environment must not come between a test and its server.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(url: str, seconds: float = 30) -> HTTPResponse:
    """GET from a server on loopback."""
    return _direct.open(url, timeout=seconds)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def server(command: list[str], url: str, log: Path, env: dict[str, str] | None = None, seconds: float = 60) -> Iterator[str]:
    """Run a server until the block ends; yields when `url` answers."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **(env or {})}, start_new_session=True)
        try:
            _wait(process, url, log, seconds)
            yield url
        finally:
            _end(process)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with fetch(url):
                return
        except urllib.error.HTTPError as answer:
            answer.close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, 15)  # its own group, so that worker processes go too
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait(10)


@pytest.fixture(scope="session")
def mediawiki(need: Need, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A MediaWiki with the pages of `wiki.PAGES` and the TextExtracts extension."""
    yield from _wiki(need, tmp_path_factory.mktemp("wiki"), "TextExtracts,ParserFunctions,Cite")


@pytest.fixture(scope="session")
def bare_mediawiki(need: Need, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same wiki without TextExtracts: texts must come from parsed pages."""
    yield from _wiki(need, tmp_path_factory.mktemp("bare"), "ParserFunctions,Cite")


def _wiki(need: Need, folder: Path, extensions: str) -> Iterator[str]:
    php = shutil.which("php")
    need(php is not None and (MEDIAWIKI / "api.php").exists(), "mediawiki with php-cli and php-sqlite3")
    assert php is not None
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    env = {"MW_CONFIG_FILE": str(folder / "LocalSettings.php")}
    (folder / "data").mkdir()
    pages = folder / "pages"
    pages.mkdir()
    for title, text in PAGES.items():
        (pages / f"{title}.wiki").write_text(text.strip() + "\n", encoding="utf-8")
    install = ["install.php", "--dbtype", "sqlite", "--dbpath", str(folder / "data"), "--dbname", "wiki"]
    install += ["--confpath", str(folder), "--server", base, "--scriptpath", "", "--pass", "only-for-tests-1"]
    install += ["--extensions", extensions, "--skins", ""]
    _php(php, [*install, "Testwiki", "Admin"], {})
    with (folder / "LocalSettings.php").open("a") as settings:
        settings.write('\n$wgDefaultSkin = "fallback";\n$wgMainCacheType = CACHE_NONE;\n')
    _php(php, ["importTextFiles.php", "--user", "Admin", "--overwrite", *map(str, sorted(pages.iterdir()))], env)
    _php(php, ["rebuildtextindex.php"], env)
    command = [php, "-S", f"127.0.0.1:{port}", "-t", str(MEDIAWIKI)]
    with server(command, f"{base}/api.php", folder / "server.log", {**env, "PHP_CLI_SERVER_WORKERS": "4"}):
        yield base


def _php(php: str, arguments: list[str], env: dict[str, str]) -> None:
    command = [php, str(MEDIAWIKI / "maintenance" / arguments[0]), *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=120, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")


SETTINGS = """
use_default_settings: False
general: {{debug: False, instance_name: tests, contact_url: False, enable_stats: False}}
brand: {{git_url: "", git_branch: "", issue_url: "", docs_url: "", public_instances: "", wiki_url: "", twitter_url: ""}}
search: {{safe_search: 0, autocomplete: "", default_lang: "", ban_time_on_fail: 0, max_ban_time_on_fail: 0,
  formats: [html, json]}}
server: {{port: {port}, bind_address: 127.0.0.1, secret_key: only-for-the-tests, base_url: False, image_proxy: False,
  http_protocol_version: "1.0", method: GET, default_http_headers: {{}}}}
ui: {{static_path: /usr/share/python3-searx/static, templates_path: /usr/share/python3-searx/templates, default_theme: oscar,
  default_locale: "", theme_args: {{oscar_style: logicodev}}}}
outgoing: {{request_timeout: 2.0, useragent_suffix: "", pool_connections: 10, pool_maxsize: 2}}
engines:
  - {{name: shelf, engine: sqlite, shortcut: sh, database: "{database}", result_template: default.html, categories: general,
     query_str: "select title, url, content from pages where content || title like '%' || :query || '%'",
     limit: 10, timeout: 5.0}}
  - {{name: archive, engine: sqlite, shortcut: ar, database: "{database}", result_template: default.html, categories: general,
     query_str: "select title, url, content from pages where title like '%' || :query || '%' order by title",
     limit: 10, timeout: 5.0}}
  - {{name: broken, engine: sqlite, shortcut: br, database: "{database}", result_template: default.html, categories: general,
     query_str: "select title from there_is_no_such_table where :query = 1", limit: 10, timeout: 5.0, disabled: True}}
locales: {{en: English}}
doi_resolvers: {{none: "http://127.0.0.1:9/"}}
default_doi_resolver: none
"""


@pytest.fixture(scope="session")
def searx(need: Need, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's searx with three offline engines over `web.DOCUMENTS`: `shelf`, `archive` and `broken`."""
    need(SEARX.is_dir(), "searx")
    folder = tmp_path_factory.mktemp("searx")
    with sqlite3.connect(folder / "web.db") as database:
        database.execute("create table pages (title, url, content)")
        database.executemany("insert into pages values (?, ?, ?)", DOCUMENTS)
    database.close()
    port = free_port()
    (folder / "settings.yml").write_text(SETTINGS.format(port=port, database=folder / "web.db"))
    env = {"SEARX_SETTINGS_PATH": str(folder / "settings.yml"), "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
    with server(["/usr/bin/python3", "-m", "searx.webapp"], f"http://127.0.0.1:{port}/healthz", folder / "log", env):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def datasette_blog(need: Need, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Datasette with a database `blog`: FTS5 on `blog_entry`, FTS4 on `note`, a table without an index."""
    need(shutil.which("datasette", path=str(Path(sys.executable).parent)) is not None, "datasette")
    folder = tmp_path_factory.mktemp("datasette")
    make_blog(folder / "blog.db")
    port = free_port()
    command = [sys.executable, "-m", "datasette", "serve", str(folder / "blog.db"), "--port", str(port)]
    with server(command, f"http://127.0.0.1:{port}/-/versions.json", folder / "log"):
        yield f"http://127.0.0.1:{port}"


def make_blog(path: Path) -> None:
    database = sqlite3.connect(path)
    with database:
        database.execute("create table blog_entry (id integer primary key, title text, slug text, body text, created text)")
        database.execute("create virtual table blog_entry_fts using fts5 (title, body, content='blog_entry', content_rowid='id')")
        database.executemany("insert into blog_entry (title, slug, body, created) values (?, ?, ?, ?)", ENTRIES)
        database.execute("insert into blog_entry_fts (rowid, title, body) select id, title, body from blog_entry")
        database.execute("create table note (day text, text text)")
        database.execute("create virtual table note_fts using fts4 (text, content='note')")
        database.executemany("insert into note values (?, ?)", NOTES)
        database.execute("insert into note_fts (docid, text) select rowid, text from note")
        database.execute("create table tag (name text)")
    database.close()
