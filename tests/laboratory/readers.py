"""Everything that reads what strangers wrote, each as one call of bytes, with sound documents to begin from.

A call computes what the program computes of the document, so that a value that is read and cannot be used is found
too. It may end in a value or in an MtpError, and in nothing else.
"""

import argparse
import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_mtp.commands import baseline, curve, history, published, report
from pytest_mtp.core.baseline import BASELINE_VERSION, BaselineFile, Recorded
from pytest_mtp.core.capabilities import parse_help
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.gguf_header import merged, read_header
from pytest_mtp.core.inheritance import override
from pytest_mtp.core.llama_bench import batch_cost, parse_bench
from pytest_mtp.core.mtp_layer import mtp_complaint
from pytest_mtp.core.prompt_file import prompt_classes
from pytest_mtp.core.server_log import debug_build, last_words, logged_memory, lost_its_port, offloaded_layers
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.acknowledged import load_acknowledged
from pytest_mtp.runtime.bisect_state import BisectState, Question
from pytest_mtp.runtime.history import History
from pytest_mtp.runtime.profiles import effective
from pytest_mtp.runtime.store import Baselines, encoded
from tests import curves
from tests.campaigns import around, campaign
from tests.fakes.gguf_file import small_model, split_model
from tests.laboratory.engine_readers import SOUND, engines
from tests.reports_of_runs import MACHINE, run_report
from tests.studies import latency, report_of

_TESTS = Path(__file__).parent.parent
_DATA = _TESTS / "core/data"
_SPEEDUPS = {"code": around(2.0, 0.02), "prose": around(1.2, 0.02)}


class Form(Enum):
    """What a sound document is made of, so what is changed in it."""

    BYTES = "bytes"
    TEXT = "text"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader: its documents are bytes, and it may use a folder of its own."""

    form: Form
    sound: Callable[[], tuple[bytes, ...]]
    read: Callable[[bytes, Path], object]
    slow: bool = field(default=False)
    """Whether a document takes milliseconds, so that a test has fewer of them."""


def readers() -> Mapping[str, Reader]:
    """Every reader by its name."""
    stored = cache(lambda: (encoded(run_report(_SPEEDUPS)), encoded(report_of(latency()))))
    return {
        "gguf": Reader(Form.BYTES, lambda: (small_model(), *split_model(2)), _gguf),
        "help": Reader(Form.TEXT, _helps, _help),
        "log": Reader(Form.TEXT, lambda: (_LOG.encode(),), _log),
        "prompts": Reader(Form.TEXT, lambda: _PROMPTS, _prompts),
        "prompts.json": Reader(Form.JSON, lambda: _PROMPTS[:3], _prompts),
        "profile": Reader(Form.TEXT, _profiles, _profile, slow=True),
        "override": Reader(Form.TEXT, lambda: (b"server.ctx=32768", b'classes.a.prompt="x"'), _override),
        "acknowledged": Reader(Form.TEXT, lambda: (_ACKNOWLEDGED,), _acknowledged),
        "baseline": Reader(Form.JSON, _baseline, _on_record, slow=True),
        "report": Reader(Form.JSON, stored, _report(), slow=True),
        "report --check": Reader(Form.JSON, stored, _report("--check"), slow=True),
        "report --upstream": Reader(Form.JSON, stored, _report("--upstream"), slow=True),
        "report --html": Reader(Form.JSON, stored, _report("--html", "page.html"), slow=True),
        "curve": Reader(Form.JSON, lambda: (encoded(curves.report()),), _curve, slow=True),
        "history": Reader(Form.JSON, stored, _history, slow=True),
        "imported": Reader(Form.JSON, _of_tools, _imported, slow=True),
        "published": Reader(Form.JSON, lambda: ((_DATA / "published_tables.json").read_bytes(),), _published),
        "llama-bench": Reader(Form.JSON, lambda: ((_DATA / "llama_bench/b11434.json").read_bytes(),), _bench),
        "bisect": Reader(Form.JSON, _bisect, _bisected),
        **{name: Reader(Form(form), SOUND[name], read) for name, (form, read) in engines().items()},
    }


def _gguf(data: bytes, _: Path) -> object:
    header = read_header(io.BytesIO(data), len(data))
    header = merged([header]) if header.part is None else header
    mtp_complaint(header)
    return header.quantization, header.unknown_types, header.per_block("feed_forward_length")


def _helps() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(_DATA.glob("help-*.txt")))


def _help(data: bytes, _: Path) -> object:
    found = parse_help(data.decode(errors="replace"))
    return found.mtp, found.kinds, found.chains, [found.values(name) for name in found.names]


def _log(data: bytes, _: Path) -> object:
    text = data.decode(errors="replace")
    return offloaded_layers(text), logged_memory(text), debug_build(text), lost_its_port(text), last_words(text)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError("as whoever reads the file says it") from error


def _prompts(data: bytes, _: Path) -> object:
    return prompt_classes(_text(data))


def _profiles() -> tuple[bytes, ...]:
    shipped = Path(effective.__code__.co_filename).parent.parent / "profiles"
    return ((_TESTS / "real/small.toml").read_bytes(), *(path.read_bytes() for path in sorted(shipped.glob("*.toml"))))


def _profile(data: bytes, folder: Path) -> object:
    (folder / "p.toml").write_bytes(data)
    found = effective(str(folder / "p.toml"))
    profile = found.profile
    specs = [
        profile.server_spec(name, model="m", speculative=speculative)
        for name in profile.measured()
        for speculative in (False, True)
    ]
    return found.origins, specs


def _override(data: bytes, _: Path) -> object:
    assignment = data.decode(errors="surrogateescape")
    override(assignment)
    return effective("phantom", [assignment]).profile


def _acknowledged(data: bytes, folder: Path) -> object:
    (folder / "acknowledged.toml").write_bytes(data)
    return load_acknowledged(folder / "acknowledged.toml")


def _baseline() -> tuple[bytes, ...]:
    recorded = tuple(Recorded("2026-01-01T00:00:00+00:00", "test", campaign(_SPEEDUPS)) for _ in range(2))
    return (encoded(BaselineFile(version=BASELINE_VERSION, profile="p", fingerprint=MACHINE, recorded=recorded)),)


def _on_record(data: bytes, folder: Path) -> object:
    """What ``baseline show`` says, and ``baseline diff`` of a sound run of that machine."""
    run = folder / "run.json"
    if not run.exists():
        run.write_bytes(encoded(run_report(_SPEEDUPS)))
    path = Baselines(folder, Fingerprint(MACHINE), "phantom").path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    shown = _command(baseline, "show", "--baselines", str(folder))
    return shown, _command(baseline, "diff", "--baselines", str(folder), str(run))


def _report(*how: str) -> Callable[[bytes, Path], object]:
    def shown(data: bytes, folder: Path) -> object:
        (folder / "r.json").write_bytes(data)
        place = (str(folder / one) if one.endswith(".html") else one for one in how)
        return _command(report, str(folder / "r.json"), *place)

    return shown


def _curve(data: bytes, folder: Path) -> object:
    (folder / "c.json").write_bytes(data)
    return _command(curve, "--read", str(folder / "c.json"))


def _history(data: bytes, folder: Path) -> object:
    """What ``history`` says of a folder with this file in it, and whether the newest run is judged by it."""
    from pytest_mtp.core.history import series_of
    from pytest_mtp.core.nightly import judge_history

    (folder / "runs").mkdir(exist_ok=True)
    (folder / "runs/a.json").write_bytes(data)
    loaded = History(folder / "runs", folder / "cache").load()
    said = [_command(history, what, "--history", str(folder / "runs")) for what in ("list", "export")]
    return said, [judge_history(series_of(loaded.entries), one.run) for one in loaded.entries[-1:]]


def _of_tools() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted((_DATA / "imported").glob("*.json")))


def _imported(data: bytes, folder: Path) -> object:
    (folder / "theirs.json").write_bytes(data)
    kept = folder / "kept"
    status = _command(
        history, "import", str(folder / "theirs.json"), "--history", str(kept), "--at", "2026-05-06T12:00:00Z"
    )
    listed = _command(history, "list", "--history", str(kept))
    for path in kept.iterdir():
        path.unlink()
    return status, listed


def _published(data: bytes, folder: Path) -> object:
    (folder / "tables.json").write_bytes(data)
    return _command(published, str(folder / "tables.json"))


def _bench(data: bytes, _: Path) -> object:
    return batch_cost(parse_bench(data.decode(errors="replace")), 4)


def _bisect() -> tuple[bytes, ...]:
    question = Question(good="git:x@a", bad="b" * 40, measured="c", words={"find": "slower"}, folder="/")
    return encoded(asdict(question)), encoded({"a" * 40: 1.5})


def _bisected(data: bytes, folder: Path) -> object:
    """Every file of the folder that a bisect reads again."""
    state = BisectState(folder)
    for name in ("bisect.json", "took.json", "x.txt", "stopped.txt"):
        (folder / name).write_bytes(data)
    reads: tuple[Callable[[], Any], ...] = (
        lambda: sum(state.took_s().values()),
        lambda: state.report("x"),
        state.why_stopped,
        lambda: Path(state.question().folder),
    )
    for read in reads[:-1]:
        with contextlib.suppress(InputError):
            read()
    return reads[-1]()


def _command(module: ModuleType, *arguments: str) -> int:
    """The status of one command; what it says goes nowhere."""
    parsed = _parser(module).parse_args(arguments)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status: int = module.run(parsed)
    return status


@cache
def _parser(module: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return parser


def _rows(names: Iterator[tuple[str, str]]) -> bytes:
    return "\n".join(json.dumps({"class": name, "prompt": text}) for name, text in names).encode()


_PROMPTS = (
    json.dumps([["poem", "Write a poem."], ["sum", "1 + 1"]]).encode(),
    json.dumps({"poem": "Write a poem.", "sum": "1 + 1"}).encode(),
    json.dumps(
        [
            {"category": "math", "turns": ["1 + 1", "2 + 2"], "question_id": 7},
            {"category": "math", "turns": ["3"], "question_id": 8},
        ]
    ).encode(),
    _rows(iter((("poem", "Write a poem."), ("sum", "1 + 1")))),
)
_ACKNOWLEDGED = b'[[change]]\nseries = "phantom/n3/*/speedup"\nrun = "r"\nreason = "the sampler moved"\nwho = "Ada"\n'
_LOG = """\
load_tensors: offloaded 5/7 layers to GPU
llama_context: constructing llama_context
load_tensors:   CPU_Mapped model buffer size =   417.66 MiB
load_tensors:        CUDA0 model buffer size =  4321.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB
llama_context:  CUDA_Host  compute buffer size =    12.01 MiB
build: 11434 (abc) with cc for x86_64 (debug)
/src/ggml.c:12: GGML_ASSERT(false) failed
start: couldn't bind HTTP server socket, hostname: 127.0.0.1
"""
