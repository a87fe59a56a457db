"""What a decision step gives, and how its words are made from `conf/diagnosis.json`."""

from dataclasses import dataclass, field

from mla_var3.analyse.knowledge import Phrase, knowledge
from mla_var3.core.diagnosis import BoundClass, Confidence, Evidence

CONFIDENCES: tuple[Confidence, ...] = ("none", "low", "medium", "high")


@dataclass(frozen=True)
class Verdict:
    """One cause with the phrase that tells it; figures are ready to print."""

    cause: str
    phrase: str
    confidence: Confidence = "high"
    figures: dict[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    """Fact keys it rests on; the first is the trigger of its opportunities."""
    trigger: str = ""
    """The trigger's value with its unit."""
    gain: float | None = None
    """Percent of the time that removing the cause can save at most; None: no own bound."""
    bound: BoundClass | None = None
    """Only where it is not the class of the cause."""
    at_roof: bool = False
    """Nothing but less work helps."""

    @property
    def bound_class(self) -> BoundClass:
        """The class of the cause."""
        if self.bound is not None:
            return self.bound
        if self.cause.startswith("stall_"):
            return "Latency"
        return knowledge().causes[self.cause].bound

    @property
    def words(self) -> Phrase:
        """Verdict line, root cause and contract cell with their figures."""
        phrase = knowledge().phrases[self.phrase]
        return Phrase(
            limiter=phrase.limiter.format_map(self.figures),
            why=phrase.why.format_map(self.figures),
            short=phrase.short.format_map(self.figures),
        )


@dataclass(frozen=True)
class Remarks:
    """What is said beside the verdict."""

    evidence: tuple[Evidence, ...] = ()
    counter: tuple[Evidence, ...] = ()
    not_checked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def weaker(first: Confidence, second: Confidence) -> Confidence:
    """The lower of two confidences."""
    return min(first, second, key=CONFIDENCES.index)


def at_most(limit: Confidence, condition: bool) -> Confidence:
    """`limit` where the condition holds, else `high`."""
    return limit if condition else "high"


def fact(text: str, *keys: str) -> Evidence:
    """One evidence line with the metric keys it rests on."""
    return Evidence(text=text, metrics=keys)
