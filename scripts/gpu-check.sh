#!/usr/bin/env bash
# The whole gate on this machine's card, with nothing but a llama.cpp tree: builds it, writes the phantom, measures.
#
#   scripts/gpu-check.sh PATH-OF-A-LLAMA.CPP-TREE [options of pytest]
#
# Needs a CUDA toolkit (nvcc), CMake, a C++ compiler, and pytest-mtp installed in .venv or in $PYTHON.
# No network, no model download, no hub. Exit status: that of pytest: 0 green, 1 red, 17 no answer, as
# the first time, when there is no baseline yet; 2 when this machine lacks something.
set -euo pipefail

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0"; }

if [ $# -lt 1 ] || [ "$1" = -h ] || [ "$1" = --help ]; then
  usage
  [ $# -ge 1 ] || exit 2
  exit 0
fi
tree=$(realpath "$1") && shift
[ -f "$tree/CMakeLists.txt" ] || { echo "gpu-check: $tree holds no CMakeLists.txt; give the top folder of a llama.cpp tree." >&2; exit 2; }
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
[ -x "$python" ] || python=$(command -v python3)
if ! "$python" -c 'import pytest_mtp' 2>/dev/null; then
  echo "gpu-check: $python has no pytest-mtp. Make one: python3 -m venv .venv && .venv/bin/pip install . (this wants a network), or set PYTHON." >&2
  exit 2
fi

"$python" -m pytest_mtp.cli doctor --profile phantom-gpu --source "dir:$tree" || {
  echo "gpu-check: this machine lacks what is marked above." >&2
  exit 2
}
exec "$python" -m pytest --mtp-gpu --mtp-profile phantom-gpu --mtp-source "dir:$tree" --mtp-json gpu-check.json "$@"
