"""What is measured, with what, and what is demanded of it: a profile file as values."""

import math
import re
from dataclasses import dataclass, field, replace

from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.core.served_tables import BuildTable, ModelTable, Serving, SourceTable
from pytest_mtp.core.server_spec import MTP_ALONE, ServerSpec, Speculation
from pytest_mtp.core.suite_table import SuiteTable
from pytest_mtp.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTable:
    """Server flags that both arms share; ``None`` leaves the build's default."""

    ctx: int
    gpu_layers: int
    threads: int | None = None
    batch: int | None = None
    ubatch: int | None = None
    flash_attn: str = "on"
    cache_type_k: str | None = None
    cache_type_v: str | None = None
    parallel: int = 1
    temp: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    repeat_penalty: float | None = None
    extra: tuple[str, ...] = ()

    serve_host: str = "127.0.0.1"
    """Where a person's own server would listen; measured servers stay on loopback."""
    serve_port: int | None = None
    """The port of a person's own server; measured servers take a free one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagSet:
    """One named variation of the speculative flags; ``server`` overrides single server flags."""

    n_max: int
    p_min: float
    synth_rates: tuple[float, ...] = ()
    """Acceptance by chance instead of by verifying, one falling probability per place; its texts are invalid."""
    kinds: tuple[str, ...] = MTP_ALONE
    """What drafts: ``mtp``, or as --spec-type names it; of several the first that has a draft."""
    draft_model: str | None = None
    """Path of the GGUF file of the kinds that draft with a model of their own."""
    extra: tuple[str, ...] = ()
    """Further flags of the mtp arm alone, verbatim, such as the sizes of n-grams."""
    sampled: bool = False
    """Whether requests leave the temperature to ``server.temp`` instead of being greedy."""
    on_request: bool = False
    """Whether it is measured only where it is named, and not with all of the profile."""
    server: dict[str, int | float | str | None] = field(default_factory=dict)

    @property
    def speculation(self) -> Speculation:
        """What drafts in the mtp arm."""
        return Speculation(self.n_max, self.p_min, self.extra, self.synth_rates, self.kinds, self.draft_model)

    @property
    def by_arithmetic(self) -> bool:
        """Whether a phantom's tokens per step follow from n-max alone."""
        return self.kinds == MTP_ALONE and not (self.p_min > 0 or self.synth_rates or self.sampled)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureTable:
    """The shape of a block."""

    isolation: Isolation = Isolation.AUTO
    pairs: int = 3
    """Requests per class, arm and block; the middle half of their ratios stands for the block."""
    warmup: int = 2
    """Requests before the first measured one of each server, thrown away."""
    start_timeout_s: float = 300.0
    at_once: bool = False
    """Whether every class is asked at the same time, each of its own slot, instead of one after the other."""
    for_s: float | None = None
    """Go on with pairs for this long instead of ``pairs`` of them."""
    order_seed: int = 0x4D5450

    def __post_init__(self) -> None:
        _at_least("measure.pairs", self.pairs, 1)
        _at_least("measure.warmup", self.warmup, 0)
        _at_least("measure.start_timeout_s", self.start_timeout_s, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What is demanded, and how sure we want to be."""

    tolerance: float = 0.05
    """Loss of speedup against the baseline that is not yet a regression, as a share."""
    tau_tolerance: float = 0.03
    """Loss of tokens per step that may turn red (only together with a loss of speed), as a share."""
    tps_tolerance: float = 0.10
    """Loss of absolute tokens per second that is not yet a regression, as a share; machines drift more than ratios."""
    alpha: float = 0.05
    """Chance of a false red over all looks, and of a false green per class."""
    looks: tuple[int, ...] = (4, 8, 12)
    """Valid blocks after which the campaign is judged."""
    replacements: int = 3
    """INVALID blocks that are measured again before the campaign gives up."""

    def __post_init__(self) -> None:
        _at_least("gates.replacements", self.replacements, 0)
        for name in ("tolerance", "tau_tolerance", "tps_tolerance"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"gates.{name} is {getattr(self, name)}; it is a share: 0 or more and below 1.")
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004 - above one half a test would prefer the wrong answer
            raise SettingsError(f"gates.alpha is a chance between 0 and 0.5, not {self.alpha}.")
        fewest = 2  # one block alone has no spread
        if not self.looks or list(self.looks) != sorted(set(self.looks)) or self.looks[0] < fewest:
            raise SettingsError("gates.looks are growing numbers of blocks, the first at least 2, such as [4, 8, 12].")

    @property
    def alpha_look(self) -> float:
        """The chance of error spent at one look (Bonferroni over the looks)."""
        return self.alpha / len(self.looks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A published figure, shown beside ours and never judging: a speedup, or a range of it."""

    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptClass:
    """One kind of prompt, its floor on any machine, and what others have published for it."""

    name: str
    prompt: str
    """What is asked; in a file also ``library:NAME``, which stands for a prompt that ships."""
    length: int | None = None
    """Tokens of the whole prompt: running text stands before what is asked. ``None`` asks it as it is."""
    floor: float | None = None
    reference: Reference | None = None

    def __post_init__(self) -> None:
        if self.floor is not None and not 0 < self.floor < math.inf:
            raise SettingsError(f"The floor of class {self.name} is {self.floor}; a speedup is above 0.")
        if self.length is not None:
            _at_least(f"The length of class {self.name}", self.length, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A profile file, checked; ``name`` is also the name of its baselines."""

    name: str
    description: str
    server: ServerTable
    request: RequestTable
    flag_sets: dict[str, FlagSet]
    classes: tuple[PromptClass, ...]
    serving: Serving = Serving.LLAMA_CPP
    source: SourceTable = field(default_factory=lambda: SourceTable(spec=""))
    model: ModelTable = field(default_factory=lambda: ModelTable(spec=""))
    card: str | None = None
    """The cards it is made for, in words; ``None`` means any machine."""
    build: BuildTable = field(default_factory=BuildTable)
    measure: MeasureTable = field(default_factory=MeasureTable)
    gates: Gate = field(default_factory=Gate)
    suites: SuiteTable = field(default_factory=SuiteTable)

    def __post_init__(self) -> None:
        for name in (self.name, *self.flag_sets):
            _name_of_a_file(name)
        self._check_serving()
        if not self.classes or not self.flag_sets:
            raise SettingsError(f"Profile {self.name} needs a prompt class and a flag set to measure.")
        names = [one.name for one in self.classes]
        if len(set(names)) != len(names):
            raise SettingsError(f"Profile {self.name} names a prompt class twice: {', '.join(names)}.")
        for name in self.suites.classes:
            if name not in names:
                raise SettingsError(f"suites.classes has {name}, and profile {self.name} only {', '.join(names)}.")

    def _check_serving(self) -> None:
        needed = {Serving.LLAMA_CPP: ("source", "model"), Serving.VLLM: ("model",), Serving.RUNNING: ()}[self.serving]
        for table in needed:
            if not getattr(self, table).spec:
                raise SettingsError(f"Profile {self.name} has no {table}.spec, which {self.serving.value} needs.")

    def prompt_class(self, name: str) -> PromptClass:
        """The class of that name."""
        return next(one for one in self.classes if one.name == name)

    def measured(self, asked: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The flag sets that were asked for; without any, all but those on request, if there are others."""
        return asked or tuple(name for name, one in self.flag_sets.items() if not one.on_request) or (*self.flag_sets,)

    def server_spec(self, flag_set: str, *, model: str, speculative: bool) -> ServerSpec:
        """The server of one arm: the profile's flags, the flag set's overrides, and drafts or none."""
        chosen = self.flag_sets[flag_set]
        table = _overridden(self.server, chosen.server, flag_set)
        return ServerSpec(
            model=model,
            alias=f"{self.name}-{flag_set}-{'mtp' if speculative else 'plain'}",
            ctx=table.ctx,
            gpu_layers=table.gpu_layers,
            threads=table.threads,
            batch=table.batch,
            ubatch=table.ubatch,
            flash_attn=table.flash_attn,
            cache_type_k=table.cache_type_k,
            cache_type_v=table.cache_type_v,
            parallel=table.parallel,
            temp=table.temp,
            top_k=table.top_k,
            top_p=table.top_p,
            repeat_penalty=table.repeat_penalty,
            sampled=chosen.sampled,
            extra=table.extra,
            speculation=chosen.speculation if speculative else None,
        )


def _overridden(server: ServerTable, changes: dict[str, int | float | str | None], flag_set: str) -> ServerTable:
    unknown = sorted(set(changes) - set(ServerTable.__slots__))
    if unknown:
        offers = ", ".join(ServerTable.__slots__)
        raise SettingsError(f"Flag set {flag_set} sets server.{unknown[0]}, which is none of: {offers}.")
    return replace(server, **changes)  # type: ignore[arg-type]  # names are checked above, values by ServerSpec


def _name_of_a_file(name: str) -> None:
    """Profile and flag sets name files: baselines, and the folders of logs."""
    if re.fullmatch(r"(?!\.)[^/\\\x00-\x1f\x7f]{1,100}", name) is None:
        raise SettingsError(
            f"{name!r} cannot name a profile or flag set, whose files carry the name: "
            "write up to 100 letters, digits, dots and dashes, such as my-3090."
        )


def _at_least(key: str, value: float, least: float) -> None:
    if not least <= value < math.inf:  # which NaN is not, either
        raise SettingsError(f"{key} is {value}; it must be at least {least}.")
