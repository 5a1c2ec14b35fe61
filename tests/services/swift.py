"""A real object store that speaks S3: OpenStack's Swift from Debian's package (python3-swift) with its s3api, in one process.

Account, container, object and proxy server share it; what they keep is in a temporary folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.servers import free_port, server

PYTHON = "/usr/bin/python3"  # Debian's, which has the package
USER, SECRET = "tests:reader", "only-for-tests"
_STORES = ("account", "container", "object")
_PIPELINE = ("catch_errors", "gatekeeper", "healthcheck", "cache", "listing_formats", "s3api", "tempauth", "copy", "slo", "dlo")
_SERVERS = """
import eventlet, json, sys
eventlet.monkey_patch()
from eventlet import wsgi
from swift.common import utils
folder, ports = sys.argv[1], json.loads(sys.argv[2])
utils.set_swift_dir(folder)
from swift.common.ring import RingBuilder
from swift.common.wsgi import loadapp
for name in ("account", "container", "object"):
    rings = RingBuilder(2, 1, 1)
    place = {"ip": "127.0.0.1", "port": ports[name], "replication_ip": "127.0.0.1", "replication_port": ports[name]}
    rings.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1.0, "device": "d1", "meta": "", **place})
    rings.rebalance()
    rings.get_ring().save(f"{folder}/{name}.ring.gz")
quiet = {"log_output": False, "debug": False}
for name, port in ports.items():
    eventlet.spawn(wsgi.server, eventlet.listen(("127.0.0.1", port)), loadapp(f"{folder}/{name}.conf"), **quiet)
while True:
    eventlet.sleep(60)
"""


def there() -> bool:
    """Whether the package is installed."""
    probe = [PYTHON, "-c", "import swift.common.middleware.s3api"]
    return Path(PYTHON).exists() and subprocess.run(probe, capture_output=True, check=False).returncode == 0


@contextmanager
def object_store() -> Iterator[str]:
    """The address of a running one; `credentials` opens it."""
    folder = Path(tempfile.mkdtemp(prefix="wellread-swift-"))
    ports = {name: free_port() for name in (*_STORES, "proxy")}
    (folder / "devices" / "d1").mkdir(parents=True)
    (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = tests\n[storage-policy:0]\nname = one\n")
    shared = f"[DEFAULT]\nswift_dir = {folder}\ndevices = {folder}/devices\nmount_check = false\nlog_level = ERROR\n"
    for name in _STORES:
        last = f"[pipeline:main]\npipeline = {name}-server\n[app:{name}-server]\nuse = egg:swift#{name}\n"
        (folder / f"{name}.conf").write_text(shared + last)
    (folder / "proxy.conf").write_text(shared + _proxy())
    base = f"http://127.0.0.1:{ports['proxy']}"
    listed = str(ports).replace("'", '"')
    try:
        with server([PYTHON, "-c", _SERVERS, str(folder), listed], f"{base}/healthcheck", folder / "log", {"PYTHONPATH": ""}):
            yield base
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def address(base: str, path: str) -> str:
    """Of something in this store, without the keys."""
    return f"s3://{path}?scheme=http&endpoint_override={base.removeprefix('http://')}&region=us-east-1"


def credentials() -> dict[str, str]:
    """The environment that opens it."""
    return {
        "AWS_ACCESS_KEY_ID": USER,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",  # this Swift is older than the checksums that are sent otherwise
        "no_proxy": ",".join(filter(None, (os.environ.get("no_proxy"), "127.0.0.1"))),
    }


def _proxy() -> str:
    filters = "".join(f"[filter:{name}]\nuse = egg:swift#{_egg(name)}\n{_settings(name)}" for name in _PIPELINE)
    app = "[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\nallow_account_management = true\n"
    return f"[pipeline:main]\npipeline = {' '.join(_PIPELINE)} proxy-server\n{app}{filters}"


def _egg(name: str) -> str:
    return "memcache" if name == "cache" else name


def _settings(name: str) -> str:
    known = {"cache": "memcache_servers = 127.0.0.1:9\n", "tempauth": f"user_{USER.replace(':', '_')} = {SECRET} .admin\n"}
    return known.get(name, "")
