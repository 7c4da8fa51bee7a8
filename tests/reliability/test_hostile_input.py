"""Whatever is given to read: a value or one clear MtpError; no traceback, no hang, no memory beyond a stated bound."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtp.core.baseline import BASELINE_VERSION
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.history import Entry
from pytest_mtp.errors import InputError, MtpError, SettingsError
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.history import IMPORTED_VERSION, History, ImportedFile
from pytest_mtp.runtime.profiles import effective, load_profile
from pytest_mtp.runtime.store import Baselines, encoded, load_baseline
from tests.laboratory.fuzz import one_change
from tests.laboratory.readers import Reader, readers
from tests.reliability.bounded import LARGE, SPARSE, outcome
from tests.reports_of_runs import MACHINE, run_report

READERS = readers()
_LONGEST_MESSAGE = 10_000
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def read(reader: Reader, data: bytes, folder: Path) -> str | None:
    """The sentence of a refusal; ``None``: it gave a value."""
    try:
        reader.read(data, folder)
    except MtpError as error:
        return str(error)
    return None


def documents(reader: Reader) -> st.SearchStrategy[bytes]:
    changed = st.integers(0, 2**32).map(lambda seed: one_change(reader, Random(seed)))
    return changed | changed | st.binary(max_size=300) | _JSON.map(lambda value: msgspec.json.encode(_plain(value)))


def _plain(value: object) -> object:
    """Without halves of characters, which cannot be encoded; the changed documents have them."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {_plain(key): _plain(one) for key, one in value.items()}
        case int() if not isinstance(value, bool):
            return max(min(value, 2**64 - 1), -(2**63))
    return value


@pytest.mark.parametrize("name", READERS)
def test_whatever_is_read_gives_a_value_or_a_sentence(name: str, folder: Path) -> None:
    reader = READERS[name]

    @settings(max_examples=25 if reader.slow else 100, derandomize=True, deadline=None, database=None)
    @given(documents(reader))
    def holds(data: bytes) -> None:
        said = read(reader, data, folder)
        assert said is None or 0 < len(said) < _LONGEST_MESSAGE

    holds()


@pytest.mark.parametrize("name", READERS)
def test_sound_documents_are_read(name: str, tmp_path: Path) -> None:
    told = [read(READERS[name], sound, tmp_path) for sound in READERS[name].sound()]
    # took.json is no bisect.json, nor the other way round.
    assert [said for said in told if said is not None] == ([] if name != "bisect" else [told[-1]])


@pytest.mark.parametrize("name", SPARSE)
def test_no_header_takes_half_a_gib_or_a_minute(name: str) -> None:
    assert outcome(name).startswith("MtpError: ")


@pytest.mark.parametrize("name", LARGE)
def test_a_large_document_takes_no_more_than_32_times_its_bytes(name: str) -> None:
    told = outcome(name)
    assert told == "value" or (told.startswith("MtpError: ") and len(told) < _LONGEST_MESSAGE)


# What fuzzing found, each as small as it was made by hand afterwards.
FOUND: tuple[tuple[str, bytes, str], ...] = (
    ("profile", b"a = " + b"9" * 5000, r"p\.toml cannot be read: Exceeds the limit"),
    ("profile", b"[" + b"a." * 2000 + b"a]", "key of more than 32 parts"),
    ("profile", b'extends = "phantom"\n[server]\ntemp = nan\n', r"server\.temp is nan"),
    ("profile", b'extends = "phantom"\n[request]\ntimeout_s = inf\n', r"request\.timeout_s is inf"),
    ("override", b"server.ctx=" + b"9" * 5000, "holds a number too long"),
    ("override", b"server.ctx=\xff", "half a character"),
    ("override", b"a." * 2000 + b"a=1", "nested too deep"),
    ("acknowledged", b"a = " + b"9" * 5000, r"acknowledged\.toml cannot be read"),
    ("curve", b'{"version": 99}', r"c\.json is not a CurveReport"),
    ("published", b"[]", ""),
    ("published", b'[{"device":"d","model":"m","n_max":3,"source":"s","harness":"h","rows":[]}]', "has no rows"),
    ("llama-bench", b"[" * 100_000, "not what llama-bench"),
    (
        "llama-bench",
        b'[{"n_prompt":1e400,"n_gen":0,"n_batch":4,"n_threads":1,"samples_ns":[1]}]',
        "not what llama-bench",
    ),
    ("llama-bench", b'[{"n_prompt":1,"n_gen":0,"n_batch":4,"n_threads":1,"samples_ns":[0]}]', "no count or time"),
    ("bisect", b"[" * 100_000, r"bisect\.json cannot be read"),
    ("bisect", b'{"good": 1}', r"bisect\.json cannot be read"),
    ("bisect", b"\xff", r"bisect\.json cannot be read"),
    ("log", b"a model buffer size = 1.2.3 MiB", ""),
    ("log", b"offloaded " + b"9" * 5000 + b"/1 layers to GPU", ""),
    ("openai stream", b"data: " + b"[" * 100_000 + b"\n\n", "no JSON"),
    (
        "openai events",
        b'[{"choices": [{"text": "a", "finish_reason": "length"}], "usage": {"completion_tokens": 1e400}}]',
        "usage says",
    ),
    (
        "openai events",
        b'[{"choices": [{"text": "a", "finish_reason": "length"}], "usage": {"completion_tokens": 2000000000}}]',
        "no answer has above",
    ),
    ("ollama events", b'[{"done": true, "eval_count": NaN}]', "eval_count nan"),
    ("ollama events", b'[{"done": true, "eval_count": 2, "prompt_eval_duration": ' + b"9" * 400 + b"}]", "nanoseconds"),
    ("sglang events", b'[{"meta_info": {"finish_reason": 1, "completion_tokens": 1e400}}]', "completion_tokens inf"),
    ("engine documents", b'{"slots": [{"speculative": []}]}', ""),
    ("vllm metrics", b'# TYPE a counter\na{b="1", =""} 1\n', "no Prometheus text"),
    ("chat completion", b'{"' + b"x" * 20_000 + b'": 1}', "no choice with a message"),
)


@pytest.mark.parametrize(("name", "data", "said"), FOUND, ids=[f"{one[0]}-{n}" for n, one in enumerate(FOUND)])
def test_what_was_found_once_is_a_sentence_for_good(name: str, data: bytes, said: str, tmp_path: Path) -> None:
    told = read(READERS[name], data, tmp_path)
    assert (told is None) == (said == "")
    assert told is None or (re.search(said, told) is not None and len(told) < _LONGEST_MESSAGE)


@pytest.mark.parametrize(("what", "name"), [("profile", "../out"), ("profile", "a/b"), ("flag set", "..\\out")])
def test_a_name_that_leaves_the_folder_names_neither_profile_nor_flag_set(what: str, name: str, tmp_path: Path) -> None:
    own = name if what == "profile" else "x"
    flag_set = f"[flag_sets.'{name}']\nn_max = 1\np_min = 0.0\n" if what == "flag set" else ""
    (tmp_path / "p.toml").write_text(f"extends = 'phantom'\nname = '{own}'\ndescription = 'x'\n{flag_set}")
    with pytest.raises(SettingsError, match="cannot name a profile or flag set"):
        load_profile(str(tmp_path / "p.toml"))


def test_a_class_may_have_any_name_since_no_file_has_it(tmp_path: Path) -> None:
    found = effective("phantom", ['classes=[{ name = "../../out", prompt = "a" }]']).profile
    assert [one.name for one in found.classes] == ["../../out"]
    with pytest.raises(InputError, match="no run named"):
        History(tmp_path, tmp_path).report("../../out")


def test_a_profile_of_a_strangers_report_leads_out_of_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no name of a file"):
        Baselines(tmp_path, Fingerprint(MACHINE), "../../out")
    kept = History(tmp_path / "h", tmp_path).add(replace(run_report({"a": [2.0]}), profile="../../out"))
    assert kept.parent == tmp_path / "h"


def test_pruning_removes_files_of_its_folder_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious.json"
    precious.write_text("{}")
    posing = [
        Entry(run=run, at=f"2026-01-0{day}", profile="p", flag_set="n3", build="b", facts={}, classes={})
        for day, run in enumerate(("../precious", "x", "y"), 1)
    ]
    (tmp_path / "h").mkdir()
    file = ImportedFile(version=IMPORTED_VERSION, imported_from="t", imported=tuple(posing))
    (tmp_path / "h/a.json").write_bytes(encoded(file))
    history = History(tmp_path / "h", tmp_path / "cache")
    assert history.prune(1) == ()
    assert precious.exists()
    assert {one.imported_from for one in history.load().entries} == {"t"}


def test_a_baseline_is_not_written_through_a_link_out_of_its_folder(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("mine")
    baselines = Baselines(tmp_path / "baselines", Fingerprint(MACHINE), "p")
    baselines.path.parent.mkdir(parents=True)
    baselines.path.symlink_to(outside)
    with pytest.raises(InputError, match=r"p\.json is a link out of its folder"):
        baselines.save(replace(_NOTHING, profile="p"))
    assert outside.read_text() == "mine"


_NOTHING = Baselines(Path(os.devnull), Fingerprint(MACHINE), "p").load()


def test_a_folder_of_baselines_may_be_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "baselines").symlink_to("shared")
    baselines = Baselines(tmp_path / "baselines", Fingerprint(MACHINE), "p")
    baselines.save(_NOTHING)
    assert baselines.load().version == BASELINE_VERSION
    assert len(list((tmp_path / "shared").rglob("p.json"))) == 1


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _terminal(path: Path) -> None:
    path.symlink_to("/dev/ptmx")


@pytest.mark.parametrize("make", [_pipe, _terminal])
@pytest.mark.parametrize(
    ("read_it", "said"),
    [
        (load_baseline, "is no file"),
        (model_header, "a pipe or a device"),
        (lambda path: load_profile(str(path)), "There is no profile"),
        (lambda path: History(path.parent, path.parent / "cache").load().unreadable[0].why, None),
    ],
    ids=["baseline", "model", "profile", "history"],
)
def test_what_never_ends_is_not_waited_for(
    make: Callable[[Path], None], read_it: Callable[[Path], object], said: str | None, tmp_path: Path
) -> None:
    make(tmp_path / "x.json")
    if said is None:
        assert "It is no file" in str(read_it(tmp_path / "x.json"))
        return
    with pytest.raises(MtpError, match=said):
        read_it(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("profile", b"name = 'a'\nname = 'b'\n", "Cannot overwrite a value"),
        ("acknowledged", b"change = []\nchange = []\n", "Cannot overwrite a value"),
        ("prompts.json", b'{"a": "one", "a": "two"}', "holds one prompt"),
        ("gguf", b"", "not a GGUF file"),
        ("gguf", b"GGUF\x04\x00\x00\x00", r"version 4.*update pytest-mtp"),
    ],
)
def test_a_key_twice_and_a_newer_version_are_named(name: str, data: bytes, said: str, tmp_path: Path) -> None:
    told = read(READERS[name], data, tmp_path)
    assert told is not None
    assert re.search(said, told)
