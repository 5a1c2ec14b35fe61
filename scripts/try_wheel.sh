#!/bin/sh
# Installs the wheel in dist and what is pinned into an empty environment, far from the repository, and asks it something.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
"${1:-python3}" -m venv "$away/environment"
"$away/environment/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$here/requirements/core.txt"
"$away/environment/bin/pip" install --quiet --disable-pip-version-check --no-deps "$here"/dist/*.whl
cd "$away"
"$away/environment/bin/wellread" ask Who wrote Hamlet --json | grep -q '"short": "William Shakespeare"'
OPENAI_API_KEY=none "$away/environment/bin/wellread" ask Who --model openai:none 2>&1 | grep -q 'pip install "wellread\[openai\]"'
echo "the wheel works: $(du -m "$here"/dist/*.whl | cut -f1) MB, $(du -sm "$away/environment" | cut -f1) MB installed with all it needs"
