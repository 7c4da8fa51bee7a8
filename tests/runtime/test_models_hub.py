"""Models of the hub, fetched by the real huggingface_hub from a hub on this machine."""

import errno
import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import filelock
import pytest

from pytest_mtp.core.hub_refusal import Refusal
from pytest_mtp.core.model import Model, content_identity, parse_model
from pytest_mtp.errors import ModelError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.hub import HubFetcher
from pytest_mtp.runtime.models.hub_client import HubClient
from pytest_mtp.runtime.models.hub_refusal import refused
from tests.fakes.gguf_file import small_model, split_model
from tests.fakes.hub import COMMIT, NEWER, FakeHub, Reply, serving

OLD, NEW = small_model("old"), small_model("newer")
REPO, NAME = "o/r", "m.gguf"
SPEC = f"hf:{REPO}/{NAME}"
BLOBS = Path("hub") / "models--o--r" / "blobs"
TOKEN = "hf_of_the_test_and_of_nobody"


class Bench:
    """A hub with one file, a cache of ours and one of the hub's, and what was said."""

    def __init__(self, hub: FakeHub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.said: list[str] = []
        self.client = HubClient(endpoint=hub.endpoint, cache_dir=folder / "hub", waits_s=())
        hub.publish(REPO, {NAME: OLD})

    def fetch(self, text: str = SPEC, *, refresh: bool = False, verify: bool = False) -> Model:
        cache, fetcher = Cache(self.folder / "ours"), HubFetcher(self.client)
        return fetcher.fetch(parse_model(text), cache, self.said.append, refresh=refresh, verify=verify)

    def refusal(self, text: str = SPEC, *, refresh: bool = False) -> str:
        with pytest.raises(ModelError) as caught:
            self.fetch(text, refresh=refresh)
        return str(caught.value)

    def unplug(self, port: int) -> None:
        self.client = replace(self.client, endpoint=f"http://127.0.0.1:{port}")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    import huggingface_hub

    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    huggingface_hub.close_session()
    with serving() as hub:
        yield hub
        huggingface_hub.close_session()


@pytest.fixture
def bench(hub: FakeHub, tmp_path: Path) -> Bench:
    return Bench(hub, tmp_path)


def test_a_file_is_downloaded_checked_and_known_by_hash_and_commit(bench: Bench) -> None:
    model = bench.fetch()
    assert model.path.read_bytes() == OLD
    assert model.identity == f"sha256-{hashlib.sha256(OLD).hexdigest()}"
    assert (model.commit, model.label, model.size) == (COMMIT, f"m.gguf @ {COMMIT[:7]}", len(OLD))


def test_a_cached_file_needs_no_request(bench: Bench) -> None:
    first = bench.fetch()
    bench.hub.requests.clear()
    bench.said.clear()
    assert (bench.fetch(), bench.hub.requests, bench.said) == (first, [], [])


def test_a_branch_stays_at_its_first_commit_until_a_newer_one_is_asked_for(bench: Bench) -> None:
    first = bench.fetch()
    bench.hub.publish(REPO, {NAME: NEW}, NEWER)
    assert bench.fetch() == bench.fetch(f"{SPEC}@main") == first
    newer = bench.fetch(refresh=True)
    assert (newer.commit, newer.path.read_bytes()) == (NEWER, NEW)
    assert bench.fetch() == newer


def test_a_pin_outlives_the_hubs_cache(bench: Bench) -> None:
    bench.fetch().path.unlink()
    bench.hub.publish(REPO, {NAME: NEW}, NEWER)
    assert bench.fetch().commit == COMMIT


def test_a_whole_commit_hash_is_never_asked_for_again(bench: Bench) -> None:
    bench.fetch(f"{SPEC}@{COMMIT}")
    bench.hub.requests.clear()
    assert bench.fetch(f"{SPEC}@{COMMIT}", refresh=True).commit == COMMIT
    assert bench.hub.requests == []


def test_a_refresh_that_fails_leaves_the_pin(bench: Bench, unused_port: int) -> None:
    first, endpoint = bench.fetch(), bench.hub.endpoint
    bench.unplug(unused_port)
    assert "cannot be reached" in bench.refusal(refresh=True)
    bench.client = replace(bench.client, endpoint=endpoint)
    bench.hub.publish(REPO, {NAME: NEW}, NEWER)
    bench.hub.told_size[NAME] = 10**18
    assert "The download needs" in bench.refusal(refresh=True)
    assert bench.fetch() == first


def test_a_file_from_another_host_gets_no_token(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    bench.hub.token, bench.hub.redirect = TOKEN, True
    assert bench.fetch().path.read_bytes() == OLD
    sent = {request.split()[1].startswith("/cdn/"): "+token" in request for request in bench.hub.requests}
    assert sent == {True: False, False: True}


def test_all_parts_are_of_one_commit_and_each_is_checked(bench: Bench) -> None:
    parts = {f"sub/m-0000{part}-of-00002.gguf": data for part, data in enumerate(split_model(2), 1)}
    bench.hub.publish(REPO, parts)
    model = bench.fetch(f"hf:{REPO}/sub/m-00002-of-00002.gguf")
    assert model.path.name == "m-00001-of-00002.gguf"
    assert model.path.with_name("m-00002-of-00002.gguf").is_file()
    assert model.size == sum(map(len, parts.values()))
    assert model.identity == content_identity([hashlib.sha256(data).hexdigest() for data in parts.values()])
    bench.hub.requests.clear()
    assert bench.fetch(f"hf:{REPO}/sub/m-00001-of-00002.gguf") == model
    assert bench.hub.requests == []


def test_a_part_that_the_hub_lacks_is_named(bench: Bench) -> None:
    bench.hub.publish(REPO, {"m-00001-of-00002.gguf": b"GGUF"})
    sentence = bench.refusal(f"hf:{REPO}/m-00001-of-00002.gguf")
    assert f"o/r has no file m-00002-of-00002.gguf at {COMMIT}; it has m-00001-of-00002.gguf" in sentence
    assert bench.hub.count("GET /o/r") == 0


def test_wrong_bytes_of_the_right_size_are_found_and_the_blob_is_named(bench: Bench) -> None:
    bench.hub.wrong_bytes[NAME] = wrong = b"x" * len(OLD)
    right, actual = hashlib.sha256(OLD).hexdigest(), hashlib.sha256(wrong).hexdigest()
    sentence = bench.refusal()
    assert f"its sha256 is {actual}, the hub's is {right}" in sentence
    (bench.folder / BLOBS / right).unlink()
    assert f"Delete {bench.folder / BLOBS / right} and run again" in sentence
    bench.hub.wrong_bytes.clear()
    assert bench.fetch().path.read_bytes() == OLD


def test_damage_of_later_is_found_when_it_is_looked_for(bench: Bench) -> None:
    path = bench.fetch().path.resolve()
    stat = path.stat()
    path.write_bytes(OLD.replace(b"old", b"bad"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    bench.fetch()
    with pytest.raises(ModelError, match="is damaged in the hub's cache"):
        bench.fetch(verify=True)


def test_the_hash_of_a_blob_that_is_itself_a_link_is_still_the_hubs(bench: Bench) -> None:
    blob = bench.fetch(f"{SPEC}@{COMMIT}").path.resolve()
    store = blob.rename(bench.folder / "store")
    blob.symlink_to(store)
    store.write_bytes(b"GGUF bad")
    (bench.folder / "ours" / "models" / "pins.json").unlink()
    assert f"the hub's is {blob.name}.\nDelete {store} and run again" in bench.refusal(f"{SPEC}@{COMMIT}")


def test_a_file_that_is_not_gguf_is_refused(bench: Bench) -> None:
    bench.hub.publish(REPO, {NAME: b"<html>"})
    assert "is not a GGUF file" in bench.refusal()


def test_another_size_than_announced_is_said(bench: Bench) -> None:
    bench.hub.wrong_bytes[NAME] = OLD + b"more"
    assert "came with another size than the hub announced" in bench.refusal()


def test_a_connection_that_breaks_goes_on_where_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
    bench.hub.publish(REPO, {NAME: (data := small_model("long " * 10_000))})
    bench.hub.cuts = [10_000]
    assert bench.fetch().path.read_bytes() == data
    assert bench.hub.requests[-1].endswith("Range")


def test_a_connection_that_breaks_again_and_again_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    bench.hub.cuts = [3] * 20
    assert "The connection broke while o/r/m.gguf was downloaded" in bench.refusal()
    assert list((bench.folder / BLOBS).iterdir()) == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("hf:o/none/m.gguf", "The hub shows no repository o/none without a token"),
        ("hf:-o/r/m.gguf", "-o/r/m.gguf at main cannot be had from the hub (Repo id must use"),
        (f"{SPEC}@v9", "o/r has no branch, tag or commit v9"),
        ("hf:o/r/n.gguf", "o/r has no file n.gguf at main; it has m.gguf"),
    ],
)
def test_what_is_not_there_is_said(bench: Bench, text: str, cause: str) -> None:
    assert cause in bench.refusal(text)


def test_names_are_not_offered_when_they_cannot_be_had(bench: Bench) -> None:
    bench.hub.replies["GET"] = [Reply(429, {"Retry-After": "999"})]
    assert "o/r has no file n.gguf at main.\n" in bench.refusal("hf:o/r/n.gguf")


def test_a_pinned_commit_that_is_gone_is_said_with_the_way_out(bench: Bench) -> None:
    bench.fetch().path.unlink()
    bench.hub.publish(REPO, {NAME: NEW}, NEWER)
    del bench.hub.repos[REPO].files[COMMIT]
    pins = bench.folder / "ours" / "models" / "pins.json"
    assert f"main was pinned to that commit by an earlier run; delete {pins} to ask anew" in bench.refusal()


@pytest.mark.parametrize(
    ("known", "sent", "cause"),
    [
        (None, None, "is gated: its terms must be accepted, and no token was sent"),
        (TOKEN, TOKEN, "is gated, and the account of the token that was sent has no access"),
        ("hf_another", TOKEN, "The hub refuses the token that was sent for o/r"),
    ],
)
def test_a_gated_repository_tells_no_token_from_one_without_access(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, known: str | None, sent: str | None, cause: str
) -> None:
    bench.hub.repos[REPO].gated, bench.hub.token = True, known
    if sent:
        monkeypatch.setenv("HF_TOKEN", sent)
    sentence = bench.refusal()
    assert cause in sentence
    assert TOKEN not in sentence + "".join(bench.said)


def test_a_private_repository_is_not_shown_to_another_account(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    bench.hub.token = TOKEN
    assert "shows no repository o/none to the token that was sent" in bench.refusal("hf:o/none/m.gguf")


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Reply(401), "The hub wants a token for o/r, and none was sent"),
        (Reply(403, {"X-Error-Message": "not for you"}), "The hub forbids to read o/r/m.gguf (403 not for you)"),
        (Reply(403, {"X-Error-Message": "Access to this resource is disabled."}), "o/r was disabled on the hub"),
        (Reply(429, {"Retry-After": "300"}), "The hub answers 429 to o/r/m.gguf: .* and asks to wait 300 s"),
        (Reply(503), "The hub failed when it was asked for o/r/m.gguf (503 Service Unavailable)"),
        (Reply(418), "cannot be had from the hub (418 I'm a Teapot)"),
    ],
)
def test_every_other_answer_has_its_sentence(bench: Bench, reply: Reply, cause: str) -> None:
    bench.hub.replies["HEAD"] = [reply]
    start, _, end = cause.partition(".* ")
    sentence = bench.refusal()
    assert start in sentence
    assert end in sentence


def test_what_is_no_hub_is_said(bench: Bench) -> None:
    bench.hub.commit_told = False
    assert f"What answers at {bench.hub.endpoint} is no hub" in bench.refusal()


@pytest.mark.parametrize("reply", [Reply(429, {"Retry-After": "0"}), Reply(503), Reply(408)])
def test_what_passes_is_asked_again(bench: Bench, reply: Reply) -> None:
    bench.client = replace(bench.client, waits_s=(0.0, 0.0))
    bench.hub.replies["HEAD"] = [reply, reply]
    assert bench.fetch().path.read_bytes() == OLD
    assert [text.startswith(f"the hub: {reply.status} ") for text in bench.said[:3]] == [True, True, False]


def test_a_wait_that_is_too_long_is_not_waited(bench: Bench) -> None:
    bench.client = replace(bench.client, waits_s=(0.0,), patience_s=60.0)
    bench.hub.replies["HEAD"] = [Reply(429, {"RateLimit": '"resolvers";r=0;t=61'})]
    assert "asks to wait 61 s" in bench.refusal()
    assert bench.hub.count("HEAD") == 1


def test_a_hub_that_is_not_there_is_asked_a_bounded_number_of_times(bench: Bench, unused_port: int) -> None:
    bench.unplug(unused_port)
    bench.client = replace(bench.client, waits_s=(0.0, 0.0))
    sentence = bench.refusal()
    assert f"http://127.0.0.1:{unused_port} cannot be reached (" in sentence
    assert f"is not in the hub's cache {bench.folder / 'hub'}" in sentence
    assert len(bench.said) == 2


def cached_by_another_program(bench: Bench) -> None:
    from huggingface_hub import hf_hub_download

    hf_hub_download(REPO, NAME, endpoint=bench.hub.endpoint, cache_dir=bench.folder / "hub")


def test_a_file_that_another_program_cached_does_without_the_hub(bench: Bench, unused_port: int) -> None:
    cached_by_another_program(bench)
    bench.unplug(unused_port)
    assert bench.fetch().commit == COMMIT
    assert bench.said[0] == "the hub: not reachable; aaaaaaa in its cache is used, not pinned"
    assert not (bench.folder / "ours" / "models" / "pins.json").exists()


def test_an_old_copy_is_no_answer_to_who_asks_for_the_newest(bench: Bench, unused_port: int) -> None:
    cached_by_another_program(bench)
    bench.unplug(unused_port)
    assert "cannot be reached" in bench.refusal(refresh=True)


def test_an_old_copy_is_no_answer_when_the_hub_says_no(bench: Bench) -> None:
    cached_by_another_program(bench)
    bench.hub.repos[REPO].gated = True
    assert "is gated" in bench.refusal()


def test_offline_a_pinned_file_is_used_and_another_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.fetch()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert bench.fetch().commit == COMMIT
    assert "HF_HUB_OFFLINE forbids to ask the hub, and o/r/n.gguf" in bench.refusal("hf:o/r/n.gguf")


def test_a_download_that_does_not_fit_is_not_begun(bench: Bench) -> None:
    bench.hub.told_size[NAME] = 10**18
    sentence = bench.refusal()
    assert "The download needs 1000000.00 TB" in sentence
    assert "free" in sentence
    assert bench.hub.count("GET") == 0


def orphan(bench: Bench, name: str, age_s: float) -> Path:
    path = bench.folder / BLOBS / f"{name}.0a1b2c3d.incomplete"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(5000))
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age_s))
    return path


def test_downloads_that_were_given_up_are_swept_after_a_day(bench: Bench) -> None:
    old, young = orphan(bench, "a" * 64, 90_000), orphan(bench, "b" * 64, 80_000)
    bench.fetch()
    assert (old.exists(), young.exists()) == (False, True)
    assert bench.said[0] == "removed downloads of o/r that were never completed: 5 kB freed"


def test_a_download_that_somebody_works_on_is_left(bench: Bench) -> None:
    path = orphan(bench, "a" * 64, 90_000)
    locks = bench.folder / "hub" / ".locks" / "models--o--r"
    locks.mkdir(parents=True)
    with filelock.FileLock(locks / f"{'a' * 64}.lock"):
        bench.fetch()
    assert path.exists()
    bench.fetch()
    assert not path.exists()


def test_leftovers_are_named_where_room_is_missing(bench: Bench) -> None:
    orphan(bench, "a" * 64, 0)
    bench.hub.told_size[NAME] = 10**18
    assert "5 kB there are unfinished downloads" in bench.refusal()


def test_a_cache_that_cannot_be_written_is_said(bench: Bench) -> None:
    (bench.folder / "hub").touch()
    assert f"The hub's cache {bench.folder / 'hub'} cannot be written" in bench.refusal()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), Refusal.DISK_FULL),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), Refusal.DISK_FULL),
        (OSError(errno.EROFS, "Read-only file system"), Refusal.DISK),
        (ConnectionResetError(errno.ECONNRESET, "reset"), Refusal.UNREACHABLE),
        (PermissionError("of a library, without a number"), Refusal.OTHER),
        (ValueError("odd"), Refusal.OTHER),
    ],
)
def test_the_disk_is_told_from_the_network(error: Exception, kind: Refusal) -> None:
    assert refused(error).kind is kind
