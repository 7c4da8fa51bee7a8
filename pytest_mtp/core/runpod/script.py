"""The script that sets a pod up, does the work, leaves results and status behind, and deletes a forgotten pod."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mtp.core.runpod.guard import delete_loop
from pytest_mtp.core.runpod.order import WORKSPACE

RESULTS, LOG, STATUS, PID, SCRIPT = "results", "log", "status", "pid", "job.sh"
NOT_SET_UP = 97
"""The status of a script that did not come to its work, so that no verdict is read out of it."""
_STOPPED = 143
"""What a shell reports of a program that SIGTERM ended."""

_HEAD = """\
#!/usr/bin/env bash
# Written by pytest-mtp. Sets up a rented machine and runs: {words}
set -euo pipefail
cd {folder}
echo $$ > {pid}

# Who comes by SSH does not get the container's variables. Keys stay variables of this shell, which no child sees.
unset RUNPOD_API_KEY HF_TOKEN
while IFS= read -r -d '' pair; do
  case $pair in
    RUNPOD_API_KEY=*|RUNPOD_POD_ID=*|HF_TOKEN=*) declare "$pair" ;;
    PATH=*|LD_LIBRARY_PATH=*|CUDA_*=*|HF_HOME=*|UV_CACHE_DIR=*|RUNPOD_DC_ID=*|RUNPOD_GPU_COUNT=*) export "$pair" ;;
  esac
done < {environ}
case ${{HF_TOKEN-}} in
  '{{{{'*) unset HF_TOKEN; echo 'RunPod has no secret of the name given: going on without a token.' ;;
esac

finish() {{
  status=$?
  [ -n "${{began-}}" ] || status={not_set_up}
  trap '' TERM INT HUP
  printf '%s\\n' "$status" > {status}.part
  mv {status}.part {status}
{grace}}}
trap finish EXIT
trap 'exit {stopped}' TERM INT HUP
"""

# Whoever fetches the results deletes the pod. Where nobody comes, it deletes itself.
_GRACE = "  (export RUNPOD_API_KEY; sleep {grace_s}; {loop}) </dev/null >/dev/null 2>&1 &\n"

_SET_UP = """
export DEBIAN_FRONTEND=noninteractive PYTHONUNBUFFERED=1 CCACHE_DIR=${{CCACHE_DIR:-{workspace}/ccache}}
if ! command -v ninja >/dev/null || ! command -v ccache >/dev/null; then
  echo 'Installing ninja and ccache.'
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends ninja-build ccache
fi
command -v uv >/dev/null || python3 -m pip install -q uv
echo 'Installing pytest-mtp.'
uv venv -q --python 3.12 venv
uv pip install -q --python venv/bin/python {package}
mkdir -p {results} work
suites=$(venv/bin/python -c 'import pathlib, pytest_mtp; print(pathlib.Path(pytest_mtp.__file__).with_name("suites"))')
[ ! -d "$suites" ] || cp -r "$suites" work/
cd work
"""

_RUN = """
began=yes
[ -z "${{HF_TOKEN-}}" ] || export HF_TOKEN
echo {told}
set +e
../venv/bin/python -m {words}
exit $?
"""


FOLDER = "/root/mtp"
"""Where a pod keeps what it makes; RunPod's images have no other user."""
ENVIRON = "/proc/1/environ"
"""Where a pod reads the container's own variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a pod is to do, in which of its folders."""

    package: str
    """What is installed, in pip's words."""
    words: tuple[str, ...]
    """A module of Python and its arguments, in the folder ``work``; none to set up alone."""
    api: str
    grace_s: int | None
    """How long a pod stays after its work; ``None`` keeps it to the end of its hours."""
    folder: str = FOLDER
    environ: str = ENVIRON

    def path(self, name: str) -> str:
        """A place in the pod."""
        return f"{self.folder}/{name}"


def pytest_words(words: Sequence[str], folder: str) -> tuple[str, ...]:
    """Pytest with the person's arguments, its reports where they are fetched from."""
    out = f"{folder}/{RESULTS}"
    return ("pytest", *(words or ("--mtp-gpu",)), "--mtp-out", out, "--junitxml", f"{out}/junit.xml")


def serve_words(words: Sequence[str], port: int) -> tuple[str, ...]:
    """The server that the gate would start, on loopback of the pod whatever the arguments say."""
    return ("pytest_mtp.cli", "serve", *words, "--host", "127.0.0.1", "--port", str(port))


def script(job: Job) -> str:
    """The whole script; it says no key and passes none by argument."""
    loop = delete_loop(job.api)
    grace = "" if job.grace_s is None else _GRACE.format(grace_s=job.grace_s, loop=loop)
    told = shlex.join(job.words) or "nothing"
    head = _HEAD.format(
        words=" ".join(told.split()),
        folder=shlex.quote(job.folder),
        pid=PID,
        environ=shlex.quote(job.environ),
        status=shlex.quote(job.path(STATUS)),
        grace=grace,
        stopped=_STOPPED,
        not_set_up=NOT_SET_UP,
    )
    set_up = _SET_UP.format(package=shlex.quote(job.package), results=RESULTS, workspace=WORKSPACE)
    run = _RUN.format(words=told, told=shlex.quote(f"Running {told}")) if job.words else "\nbegan=yes\necho 'Ready.'\n"
    return head + set_up + run


def prepare_words(job: Job) -> str:
    """Shell words that make the folder, without the end of an earlier job in it."""
    return f"mkdir -p {shlex.quote(job.folder)} && rm -f {shlex.quote(job.path(STATUS))} {shlex.quote(job.path(LOG))}"


def start_words(job: Job) -> str:
    """Shell words that start the script in a session of its own, so that it outlives the connection."""
    job_sh, log = shlex.quote(job.path(SCRIPT)), shlex.quote(job.path(LOG))
    return f"setsid -f bash {job_sh} >{log} 2>&1 </dev/null"


def look_words(job: Job, seen: int) -> str:
    """Shell words that write the log's lines after the first ``seen``, then RS, then the status if it has ended."""
    log, status = shlex.quote(job.path(LOG)), shlex.quote(job.path(STATUS))
    return f"tail -n +{seen + 1} {log} 2>/dev/null | head -n 500; printf '\\036'; cat {status} 2>/dev/null; true"


def stop_words(job: Job) -> str:
    """Shell words that ask all of the script's session to end."""
    pid = shlex.quote(job.path(PID))
    return f'kill -TERM -- "-$(cat {pid})" 2>/dev/null; true'
