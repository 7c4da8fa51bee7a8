"""What a server is asked to be, before it is known how its build spells that."""

import re
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.errors import SettingsError

_FLASH_ATTENTION = ("on", "off", "auto")

MTP = "mtp"
"""The kind of speculation that this is all about, whatever a build's own word for it is."""
MTP_ALONE = (MTP,)
_NGRAM = "ngram-"
"""How the kinds begin that draft from what was said before, without a model."""


class Arm(Enum):
    """What differs between the two servers that are compared."""

    PLAIN = "plain"
    MTP = "mtp"


@dataclass(frozen=True, slots=True)
class Speculation:
    """How the mtp arm drafts; both numbers are spelled out, since builds changed their defaults."""

    n_max: int
    """Most tokens drafted in one step."""
    p_min: float = 0.0
    """A draft ends before a token that its head gives less than this probability."""
    extra: tuple[str, ...] = ()
    """Further flags of the mtp arm alone, verbatim."""
    synth_rates: tuple[float, ...] = ()
    """Acceptance by chance: how likely the draft at each place is taken, those before it included; empty verifies.

    Falling, at most ``n_max`` of them, places without one are never taken. For measuring a step's cost at any
    acceptance: the texts are invalid on purpose.
    """
    kinds: tuple[str, ...] = MTP_ALONE
    """What drafts, such as ``ngram-mod``; of several the first that has a draft, in an order that the build knows."""
    draft_model: str | None = None
    """The GGUF file of the kinds that draft with a model of their own."""

    def __post_init__(self) -> None:
        if self.n_max < 1:
            # llama-server starts with 0, reports health, and aborts at the first request.
            raise SettingsError(f"speculation.n_max is {self.n_max}; it must be at least 1.")
        if not 0 <= self.p_min <= 1:
            raise SettingsError(f"speculation.p_min is {self.p_min}; it is a probability between 0 and 1.")
        self._check_synth_rates()
        self._check_kinds()

    @property
    def sized(self) -> bool:
        """Whether any of its kinds takes ``n_max`` and ``p_min``; n-grams have lengths of their own."""
        return not all(kind.startswith(_NGRAM) for kind in self.kinds)

    def _check_kinds(self) -> None:
        if not self.kinds or len(set(self.kinds)) < len(self.kinds):
            raise SettingsError(f"kinds is {list(self.kinds)}; it names each kind of speculation once, at least one.")
        for kind in self.kinds:
            if kind in {"none", "draft-mtp"} or re.fullmatch(r"[a-z][a-z0-9-]*", kind) is None:
                raise SettingsError(f"{kind!r} is no kind of speculation: write {MTP}, ngram-mod or draft-simple.")
            if kind.startswith("draft-") and self.draft_model is None:
                raise SettingsError(f"{kind} drafts with a model of its own: name its GGUF file by draft_model.")
        if self.draft_model is not None and not self.sized:
            raise SettingsError(f"draft_model is set, and {' and '.join(self.kinds)} would not use it.")
        if self.synth_rates and self.kinds != MTP_ALONE:
            raise SettingsError(f"synth_rates are of {MTP} alone, and kinds is {list(self.kinds)}.")

    def _check_synth_rates(self) -> None:
        rates = self.synth_rates
        if len(rates) > self.n_max:
            raise SettingsError(f"speculation.synth_rates has {len(rates)} rates; n_max {self.n_max} is the most.")
        if not all(0 <= rate <= 1 for rate in rates) or list(rates) != sorted(rates, reverse=True):
            raise SettingsError(
                f"speculation.synth_rates is {list(rates)}; it takes probabilities between 0 and 1, none above the one "
                "before it, since a draft is taken only after those before it."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server; ``None`` leaves a build's default, and ``speculation=None`` makes it the plain arm."""

    model: str
    ctx: int
    gpu_layers: int
    alias: str | None = None
    threads: int | None = None
    batch: int | None = None
    ubatch: int | None = None
    flash_attn: str | None = "on"
    cache_type_k: str | None = None
    cache_type_v: str | None = None
    parallel: int = 1
    """Slots. The builds' default is several, which share the context and slow a single request."""
    temp: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    repeat_penalty: float | None = None
    sampled: bool = False
    """Whether requests leave the temperature to ``temp``; otherwise they are greedy, whatever it is."""
    host: str = "127.0.0.1"
    port: int | None = None
    """Where it listens; ``None`` is any free port."""
    extra: tuple[str, ...] = ()
    """Further flags of both arms, verbatim."""
    speculation: Speculation | None = None

    def __post_init__(self) -> None:
        for field, least in (
            ("ctx", 1),
            ("gpu_layers", 0),
            ("threads", 1),
            ("batch", 1),
            ("ubatch", 1),
            ("parallel", 1),
        ):
            value = getattr(self, field)
            if value is not None and value < least:
                raise SettingsError(f"server.{field} is {value}; it must be at least {least}.")
        if self.flash_attn not in (None, *_FLASH_ATTENTION):
            raise SettingsError(
                f"server.flash_attn is {self.flash_attn!r}; it is one of {', '.join(_FLASH_ATTENTION)}."
            )
        if not self.model:
            raise SettingsError("server.model is empty; it is the path of a GGUF file.")
        if self.sampled and self.temp is None:
            raise SettingsError(
                "A sampled flag set needs server.temp, since builds differ in the temperature they take: add "
                "--mtp-set server.temp=0.7."
            )

    @property
    def arm(self) -> Arm:
        """Which of the two servers this is."""
        return Arm.PLAIN if self.speculation is None else Arm.MTP
