"""What the gate's own tests are about: prompt classes under flag sets."""

from dataclasses import dataclass

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.settings import Settings


@dataclass(frozen=True, slots=True)
class Case:
    """One test's subject: a prompt class under a flag set."""

    flag_set: str
    prompt_class: str

    def __str__(self) -> str:
        return f"{self.flag_set}-{self.prompt_class}"


def cases(profile: Profile, settings: Settings) -> tuple[Case, ...]:
    """Every prompt class under every flag set that was asked for."""
    chosen = profile.measured(settings.flag_sets)
    return tuple(Case(flag_set, one.name) for flag_set in chosen for one in profile.classes)
