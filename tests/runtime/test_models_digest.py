"""A file is hashed once, and again when there is a reason."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mtp.errors import CacheError, ModelError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.digest import Digests
from pytest_mtp.runtime.models.ledger import Ledger
from pytest_mtp.runtime.models.meter import Meter, bar_class

DAY_S = 24 * 3600.0

WRITER = """
import sys
from pathlib import Path
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.ledger import Ledger

for number in range(20):
    Ledger(Cache(Path(sys.argv[1])), "thing", str).put({f"{sys.argv[2]}-{number}": sys.argv[2]})
"""


class Bench:
    """A file, a cache, and a clock that stands until it is moved."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "m.gguf"
        self.file.write_bytes(b"one")
        self.now = 1_000_000.0
        self.said: list[str] = []
        self.digests = Digests(Cache(folder / "cache"), lambda: self.now)

    def hash(self, *, verify: bool = False) -> str:
        return self.digests.sha256(self.file, self.said.append, verify=verify)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_hash_is_of_the_bytes_and_computed_once(bench: Bench) -> None:
    assert bench.hash() == bench.hash() == hashlib.sha256(b"one").hexdigest()
    assert bench.said == ["hashing m.gguf"]


def test_a_hash_is_remembered_in_the_cache_for_another_run(bench: Bench) -> None:
    bench.hash()
    again = Digests(bench.digests.cache, lambda: bench.now)
    again.sha256(bench.file, bench.said.append)
    assert len(bench.said) == 1


def test_a_link_is_known_by_what_it_points_to(bench: Bench) -> None:
    link = bench.file.with_name("link.gguf")
    link.symlink_to(bench.file)
    bench.hash()
    bench.digests.sha256(link, bench.said.append)
    assert len(bench.said) == 1


def test_another_size_is_hashed_again(bench: Bench) -> None:
    stat = bench.file.stat()
    bench.hash()
    bench.file.write_bytes(b"three")
    os.utime(bench.file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert bench.hash() == hashlib.sha256(b"three").hexdigest()


def test_another_time_of_change_is_hashed_again(bench: Bench) -> None:
    bench.hash()
    bench.file.write_bytes(b"two")
    os.utime(bench.file, ns=(0, 1))
    assert bench.hash() == hashlib.sha256(b"two").hexdigest()


@pytest.mark.parametrize(("days", "times"), [(6.9, 1), (7.0, 2), (-0.1, 2)])
def test_a_hash_holds_for_a_week_and_not_when_the_clock_was_set_back(bench: Bench, days: float, times: int) -> None:
    bench.hash()
    bench.now += days * DAY_S
    bench.hash()
    assert len(bench.said) == times


def test_a_hash_is_computed_on_demand(bench: Bench) -> None:
    bench.hash()
    bench.hash(verify=True)
    assert len(bench.said) == 2


def test_a_file_that_changes_meanwhile_is_refused(bench: Bench) -> None:
    def grow(_: str) -> None:
        bench.file.write_bytes(b"more and more")

    with pytest.raises(ModelError, match="changed while it was read"):
        bench.digests.sha256(bench.file, grow)


def test_what_cannot_be_read_is_said(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be read: Is a directory\. Mend its rights"):
        bench.digests.sha256(tmp_path, bench.said.append)


def test_two_writers_keep_each_others_entries(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(Ledger(Cache(tmp_path), "thing", str).entries()) == 40


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "cannot be read: .*Delete it"),
        ('{"entries": {}}', "cannot be read: 'version'"),
        ('{"version": 1, "entries": {"x": 5}}', "cannot be read: Expected `str`"),
        ('{"version": 2, "entries": 7}', "is of version 2, not 1: update pytest-mtp, or delete it"),
    ],
)
def test_a_ledger_that_is_not_ours_to_read_is_refused(tmp_path: Path, text: str, why: str) -> None:
    ledger = Ledger(Cache(tmp_path), "thing", str)
    ledger.path.parent.mkdir()
    ledger.path.write_text(text)
    with pytest.raises(CacheError, match=why):
        ledger.get("x")


def test_a_ledger_is_a_file_with_a_version(tmp_path: Path) -> None:
    ledger = Ledger(Cache(tmp_path), "thing", str)
    ledger.put({"a": "b"})
    assert json.loads((tmp_path / "models" / "thing.json").read_text()) == {"version": 1, "entries": {"a": "b"}}


def test_progress_is_said_at_most_once_a_second() -> None:
    said: list[str] = []
    clock = iter([0.0, 0.5, 1.0, 1.9, 2.0])
    meter = Meter("x", 8_000_000, said.append, lambda: next(clock))
    for _ in range(4):
        meter.add(2_000_000)
    assert said == ["x: 50 % of 8.00 MB, 4.00 MB/s", "x: 100 % of 8.00 MB, 4.00 MB/s"]


def test_the_hubs_bar_counts_the_file_and_not_its_transfer() -> None:
    clock = iter([0.0, 2.0, 4.0])
    said: list[str] = []
    with bar_class(Meter("x", 1000, said.append, lambda: next(clock)))(desc="y", total=5, unit="B") as bar:
        bar.update(500)
        bar.update_transfer(100)
        bar.set_transfer_postfix_str("z", refresh=False)
        bar.update(-500)
    assert said == ["x: 50 % of 1 kB, 250 B/s", "x: 0 % of 1 kB, 0 B/s"]
