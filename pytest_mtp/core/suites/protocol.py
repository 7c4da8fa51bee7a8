"""What every suite is made of: a design, which is measured, and the evidence in what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_mtp.core.profile import Gate, Profile, PromptClass
from pytest_mtp.core.request import RequestEndpoint
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.study import Bound, Study, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """One campaign of a study before it is measured: a profile that differs from the run's in what is asked."""

    name: str
    profile: Profile
    flag_set: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A study before it is measured."""

    suite: Suite
    flag_set: str
    subject: str = ""
    first: str = "plain"
    second: str = "mtp"
    arrangements: tuple[Arrangement, ...] = ()
    """Measured block by block in turn."""
    fewest: int = 1
    """Arrangements without which there is nothing to compare; 0 where the flag set's campaign is the evidence."""
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    demands: Mapping[str, float] = field(default_factory=dict)
    rounds: int | None = None
    """Blocks, where it is not the looks that say when to stop."""
    left_out: tuple[str, ...] = ()
    """What could not be asked, and why."""

    @property
    def of_gate(self) -> bool:
        """Whether the campaign of the flag set itself is the evidence."""
        return self.fewest == 0

    @property
    def lacking(self) -> str | None:
        """Why there is nothing to compare; ``None`` where there is."""
        if len(self.arrangements) >= self.fewest:
            return None
        return "; ".join(self.left_out) or "the profile names nothing to compare"


def unmeasured(design: Design, gate: Gate) -> Study:
    """The study before its first block."""
    return Study(
        suite=design.suite,
        flag_set=design.flag_set,
        subject=design.subject,
        first=design.first,
        second=design.second,
        variants=(),
        bounds=design.bounds,
        demands=design.demands,
        gate=gate,
        left_out=design.left_out,
    )


def changes_servers(design: Design, profile: Profile) -> bool:
    """Whether it asks servers with other flags than the profile's, which those that run already cannot be given."""
    own = _servers(profile, design.flag_set)
    return any(_servers(one.profile, one.flag_set) != own for one in design.arrangements)


def gives_lengths(design: Design) -> bool:
    """Whether it asks prompts of so many tokens, for which an engine must tell the tokens of a text."""
    return any(prompt.length is not None for one in design.arrangements for prompt in one.profile.classes)


def _servers(profile: Profile, flag_set: str) -> list[ServerSpec]:
    return [profile.server_spec(flag_set, model="any", speculative=speculative) for speculative in (False, True)]


def asked(profile: Profile) -> tuple[PromptClass, ...]:
    """The classes that the further suites ask."""
    wanted = profile.suites.classes or (profile.classes[0].name,)
    return tuple(profile.prompt_class(name) for name in wanted)


def studied(profile: Profile, classes: tuple[PromptClass, ...] | None = None) -> Profile:
    """The profile as a study measures it: its own classes, pairs and looks."""
    return replace(
        profile,
        classes=asked(profile) if classes is None else classes,
        measure=replace(profile.measure, pairs=profile.suites.pairs),
        gates=replace(profile.gates, looks=profile.suites.looks),
    )


def raw(profile: Profile) -> Profile:
    """The same without the chat endpoint: only a raw prompt can be given a length in tokens."""
    return replace(profile, request=replace(profile.request, endpoint=RequestEndpoint.RAW, thinking=None))


def with_context(profile: Profile, tokens: int) -> Profile:
    """The same with servers whose context holds a prompt of ``tokens`` and its answer."""
    needed = tokens + profile.request.tokens + 16
    return replace(profile, server=replace(profile.server, ctx=max(profile.server.ctx, needed)))
