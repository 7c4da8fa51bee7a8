"""Tokens per step of the mtp arm: a count, repeatable at temperature 0, so compared as a number."""

from dataclasses import dataclass

from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The draft counts of one class, summed over its samples."""

    tokens: int
    """Tokens after the free first one."""
    drafted: int
    accepted: int
    repeatable: bool
    """Whether every request of the class gave the same counts, as temperature 0 promises."""
    per_position: tuple[int, ...] | None = None
    """Accepted drafts of one request by place in the draft; ``None`` where the build does not count them."""

    @property
    def tau(self) -> float:
        """Tokens per step, (n-1) / (n-1-a)."""
        return self.tokens / (self.tokens - self.accepted)

    @property
    def share(self) -> float | None:
        """Accepted over drafted; ``None`` when nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None


def acceptance(campaign: Campaign, prompt_class: str) -> Acceptance | None:
    """The counts of one class; ``None`` while it has no valid sample, and where the engine does not tell drafts."""
    samples = campaign.samples(Arm.MTP, prompt_class)
    if not samples or not all(sample.timings.told for sample in samples):
        return None
    counts = {(s.timings.predicted_n, s.timings.draft_n, s.timings.draft_n_accepted) for s in samples}
    return Acceptance(
        tokens=sum(s.timings.predicted_n - 1 for s in samples),
        drafted=sum(s.timings.draft_n or 0 for s in samples),
        accepted=sum(s.timings.draft_n_accepted for s in samples),
        repeatable=len(counts) == 1,
        per_position=samples[0].accepted_per_position,
    )


def first_difference(now: Campaign, then: Campaign, prompt_class: str) -> str | None:
    """The first request of a class whose counts or text are others than recorded, in words; ``None`` if none is.

    Of answers that are drawn by chance none is looked for.
    """
    if now.circumstances.sampled:
        return None
    asked_now, asked_then = (one.samples(Arm.MTP, prompt_class) for one in (now, then))
    for number, (new, old) in enumerate(zip(asked_now, asked_then, strict=False), start=1):
        counts = [(one.timings.draft_n_accepted, one.timings.draft_n) for one in (new, old)]
        if counts[0] != counts[1]:
            (accepted, drafted), (had_accepted, had_drafted) = counts
            return f"request {number}: {accepted} of {drafted} drafts accepted, were {had_accepted} of {had_drafted}"
        if new.text_sha256 != old.text_sha256:
            return f"request {number}: another text with the same counts"
    return None
