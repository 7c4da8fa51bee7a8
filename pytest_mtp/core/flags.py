"""How a build spells what a server is asked to be, and which part of it the build does not know.

Whatever differs between builds in its default is spelled out, so that both
arms, and two builds, run under the same conditions.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from pytest_mtp.core.capabilities import Capabilities, MtpSpelling, Option
from pytest_mtp.core.server_spec import MTP, MTP_ALONE, ServerSpec, Speculation
from pytest_mtp.errors import FlagError

_FLASH_ATTENTION = ("-fa", "--flash-attn")
_FIT = ("-fit", "--fit")
_VERBOSITY = ("-lv", "--verbosity")
_N_MAX = ("--spec-draft-n-max", "--draft-max", "--draft-n", "--draft")
_P_MIN = ("--spec-draft-p-min", "--draft-p-min")
_DRAFT_MODEL = ("-md", "--model-draft", "--spec-draft-model")
_SYNTH_RATES = "--spec-synth-rates"
_IK_SWITCH = ("-mtp", "--multi-token-prediction")

_NO_SYNTH_RATES = (
    f"This build of llama-server cannot take drafts by chance (synth_rates): its --help has no {_SYNTH_RATES}.\n"
    "Drop synth_rates from the flag set, or use a llama.cpp with it (--mtp-source; b11434 has it, b10405 has not)."
)

# What this package sets for every server by itself, or by a key of the profile.
_RESERVED = ("-m", "-c", "-ngl", "-np", "--host", "--port", "--api-key", "--api-key-file", "--hf-token", "--spec-type")

_OPTIONAL: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("alias", ("-a", "--alias")),
    ("threads", ("-t", "--threads")),
    ("batch", ("-b", "--batch-size")),
    ("ubatch", ("-ub", "--ubatch-size")),
    ("temp", ("--temp", "--temperature")),
    ("top_k", ("--top-k",)),
    ("top_p", ("--top-p",)),
    ("repeat_penalty", ("--repeat-penalty",)),
)
_CACHE_TYPES = (
    ("cache_type_k", ("-ctk", "--cache-type-k")),
    ("cache_type_v", ("-ctv", "--cache-type-v")),
)


def negotiate(spec: ServerSpec, capabilities: Capabilities) -> tuple[str, ...]:
    """Spell the arguments, without binary and port; ``FlagError`` for what this build does not offer."""
    line = _CommandLine(capabilities)
    _add_shared(line, spec)
    if spec.speculation is not None:
        _add_speculation(line, spec.speculation)
    line.add_verbatim(spec.extra)
    if spec.speculation is not None:
        line.add_verbatim(spec.speculation.extra)
    return tuple(line.words)


@dataclass(frozen=True, slots=True)
class _CommandLine:
    """Words added one option at a time, each checked against what the build offers."""

    capabilities: Capabilities
    words: list[str] = field(default_factory=list)

    def add(self, names: Sequence[str], *values: object) -> None:
        """Add the option by the first of its names that this build takes."""
        self.words.extend([self.live(names), *map(_word, values)])

    def add_where_offered(self, name: str, *values: object) -> None:
        """Add an option whose absence means the build lacks what it would switch off."""
        if self.capabilities.offers(name):
            self.add((name,), *values)

    def add_choice(self, names: Sequence[str], value: str) -> None:
        """Add an option after checking its value against the values that the build lists, if it lists any."""
        name = self.live(names)
        allowed = self.capabilities.values(name)
        if allowed and value not in allowed:
            raise FlagError(
                f"This build of llama-server does not know {name} {value}; it offers {', '.join(allowed)}.\n"
                f"Choose one of them, or a source (--mtp-source) whose llama.cpp has {value}."
            )
        self.words.extend([name, value])

    def live(self, names: Sequence[str]) -> str:
        """Choose the first name that this build takes."""
        for name in names:
            if self.capabilities.offers(name):
                return name
        raise FlagError(_not_offered(names[0], self.capabilities))

    def add_verbatim(self, extra: Sequence[str]) -> None:
        """Add the user's own words after checking each flag among them."""
        taken = set(self._options((*_RESERVED, *self.words)))
        for word in filter(_is_flag, extra):
            option = self.capabilities.option(word)
            if option is None or option.removed:
                raise FlagError(_not_offered(word, self.capabilities))
            if option in taken:
                raise FlagError(
                    f"The extra flag {word} is set by pytest-mtp itself or by a key of the profile; "
                    "remove it from extra and use that key."
                )
        self.words.extend(extra)

    def _options(self, words: Sequence[str]) -> Iterator[Option]:
        for word in words:
            option = self.capabilities.option(word) if _is_flag(word) else None
            if option is not None:
                yield option


def _add_shared(line: _CommandLine, spec: ServerSpec) -> None:
    line.add(("-m", "--model"), spec.model)
    line.add(("-c", "--ctx-size"), spec.ctx)
    line.add(("-ngl", "--gpu-layers", "--n-gpu-layers"), spec.gpu_layers)
    line.add(("-np", "--parallel"), spec.parallel)
    # Fitting changes layers and context by the free memory, and the mtp arm needs more of it.
    # Where --fit is a bare switch it is off unless given.
    if "off" in line.capabilities.values(_FIT[0]) + line.capabilities.values(_FIT[1]):
        line.add(_FIT, "off")
    _add_flash_attention(line, spec.flash_attn)
    for name, names in _CACHE_TYPES:
        if (value := getattr(spec, name)) is not None:
            line.add_choice(names, value)
    for name, aliases in _OPTIONAL:
        if (value := getattr(spec, name)) is not None:
            line.add(aliases, value)
    # The prompt cache is saved between requests, even when no request uses it.
    line.add_where_offered("--cache-ram", 0)
    line.add_where_offered("--slots")
    _add_verbosity(line)
    line.add(("--metrics",))
    line.add(("--host",), spec.host)


def _add_flash_attention(line: _CommandLine, value: str | None) -> None:
    option = line.capabilities.option(_FLASH_ATTENTION[0]) or line.capabilities.option(_FLASH_ATTENTION[1])
    if value is None:
        return
    if option is None or option.hint:
        line.add_choice(_FLASH_ATTENTION, value)
    elif value == "on":
        # Builds from before the values took a bare switch, off unless given.
        line.add(_FLASH_ATTENTION)


def _add_verbosity(line: _CommandLine) -> None:
    # How many layers were offloaded is trace in newer builds: a score of lines per request, none per token.
    # Where 4 is not trace it is debug, which costs time, and the layers are told anyway.
    option = line.capabilities.option(_VERBOSITY[0])
    if option is not None and "4: trace" in option.text:
        line.add(_VERBOSITY, 4)


def _add_speculation(line: _CommandLine, speculation: Speculation) -> None:
    _add_kinds(line, speculation)
    if speculation.draft_model is not None:
        line.add(_DRAFT_MODEL, speculation.draft_model)
    if not speculation.sized or (line.capabilities.mtp is MtpSpelling.IK and speculation.kinds == MTP_ALONE):
        return
    line.add(_N_MAX, speculation.n_max)
    line.add(_P_MIN, speculation.p_min)
    if speculation.synth_rates:
        # The build wants one for every place.
        rates = (*speculation.synth_rates, *[0.0] * (speculation.n_max - len(speculation.synth_rates)))
        line.add((_SYNTH_RATES,), ",".join(map(_word, rates)))


def _add_kinds(line: _CommandLine, speculation: Speculation) -> None:
    spelling = line.capabilities.mtp
    if speculation.kinds != MTP_ALONE:
        if (refusal := kinds_refused(speculation.kinds, line.capabilities)) is not None:
            raise FlagError(f"{refusal}.\nChange kinds in the flag set, or use a llama.cpp with them (--mtp-source).")
        own = spelling.value.split()[1] if spelling else MTP
        line.add(("--spec-type",), ",".join(own if kind == MTP else kind for kind in speculation.kinds))
        return
    if spelling is None:
        raise FlagError(_no_mtp(line.capabilities))
    if speculation.synth_rates and not line.capabilities.offers(_SYNTH_RATES):
        raise FlagError(_NO_SYNTH_RATES)
    if spelling is MtpSpelling.IK:
        line.add(("--spec-type",), f"mtp:n_max={speculation.n_max},p_min={speculation.p_min:g}")
    elif spelling is MtpSpelling.IK_SWITCH:
        line.add(_IK_SWITCH)
    else:
        line.add(("--spec-type",), spelling.value.split()[1])


def kinds_refused(kinds: Sequence[str], capabilities: Capabilities) -> str | None:
    """Say why this build cannot speculate by ``kinds``, without a full stop; ``None``: it can."""
    offered = capabilities.kinds
    if lacking := [kind for kind in kinds if kind not in offered]:
        return (
            f"This build of llama-server has no speculation by {lacking[0]} (it lists {', '.join(offered) or 'none'})"
        )
    if len(kinds) > 1 and not capabilities.chains:
        return f"This build of llama-server takes one kind of speculation at a time, not {' and '.join(kinds)}"
    return None


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and re.fullmatch(r"-(\d.*|\.\d.*|)", word) is None


def _not_offered(name: str, capabilities: Capabilities) -> str:
    option = capabilities.option(name)
    if option is not None:
        return f"This build of llama-server refuses {name}. Its --help says: {option.text}."
    flag, sign, _ = name.partition("=")
    if sign and capabilities.offers(flag):
        return f"llama-server takes no {flag}=VALUE in one word; write the flag and its value as two words."
    nearest = get_close_matches(name, capabilities.names, n=4, cutoff=0.5)
    return (
        f"This build of llama-server has no {name} (the nearest in its --help: {', '.join(nearest) or 'none'}).\n"
        "Correct the flag, drop it from the profile, or use a llama.cpp that has it (--mtp-source)."
    )


def _no_mtp(capabilities: Capabilities) -> str:
    types = capabilities.values("--spec-type")
    offers = f"its --spec-type offers {', '.join(types)}" if types else "its --help lists no --spec-type with MTP"
    return (
        f"This build of llama-server has no MTP: {offers}.\n"
        "Use a llama.cpp that has it with --mtp-source (the first release with MTP is b9180)."
    )
