#!/bin/sh
# Make the virtual environment, with a clear line where Debian has split venv off Python.
set -eu
python=$1
venv=$2
[ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && exit 0
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "wellread needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …" >&2
  exit 1
}
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing $package …" >&2
    apt-get update -qq && apt-get install -y -qq "$package" >/dev/null
  else
    echo "Python's venv is missing: sudo apt-get install $package" >&2
    exit 1
  fi
fi
exec "$python" -m venv "$venv"
