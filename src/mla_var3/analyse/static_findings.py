"""What compiled code gives away without a run; the words are in `conf/static.json`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.analyse.predict import bound_of
from mla_var3.analyse.words import size
from mla_var3.core.record import Stage


class Finding(NamedTuple):
    """One thing to look at, in words, with the metric keys it rests on and what to do."""

    id: str
    text: str
    short: str
    """For a narrow cell."""
    advice: str
    metrics: tuple[str, ...]
    gain_pct: float | None = None
    """Upper bound of the time it may save, where the figures give one."""


class Code(NamedTuple):
    """A stage and the architecture that it was compiled for."""

    stage: Stage
    arch: str

    def value(self, key: str) -> float:
        return self.stage.value(key) or 0.0


def findings(code: Code) -> tuple[Finding, ...]:
    """All findings of a stage, most severe first."""
    checks: dict[str, Callable[[Code], Iterator[Finding]]] = {
        "does_not_fit": _does_not_fit,
        "hmma": _hmma,
        "spills": _spills,
        "waits": _waits,
        "calls": _calls,
        "not_tuned": _not_tuned,
        "waves": _waves,
    }
    order = [entry["id"] for entry in conf.table("static")["findings"]]
    return tuple(finding for name in order for finding in checks[name](code))


def _does_not_fit(code: Code) -> Iterator[Finding]:
    if code.stage.value("blocks_an_sm") != 0:
        return
    limits = {
        "registers": "limit_registers",
        "shared memory": "limit_shared_memory",
        "threads": "limit_warps",
    }
    too_many = [name for name, key in limits.items() if code.stage.value(key) == 0]
    amounts = {
        "registers": f"{code.value('registers'):.0f} registers a thread",
        "shared memory": f"{size(code.value('shared_memory'))} of shared memory",
        "threads": f"{code.value('block_size'):.0f} threads",
    }
    why = f"one block needs {' and '.join(amounts[name] for name in too_many)}: more than an SM has"
    yield _finding("does_not_fit", ("blocks_an_sm",), arch=code.arch, why=why)


def _hmma(code: Code) -> Iterator[Finding]:
    key, native = conf.table("static")["native"].get(code.arch, ("", ""))
    if not native or not code.value("code_hmma") or code.value(key):
        return
    gain, share = None, ""
    if code.arch == "sm_90":  # the only one whose mma.sync rate we know
        share = ": two thirds of it"
        bound = bound_of(code.stage)
        gain = 100.0 * (1 - _threshold("mma_sync_share")) if bound == "Compute" else None
    count = f"{code.value('code_hmma'):.0f}"
    figures = {"arch": code.arch, "hmma": count, "native": native, "share": share}
    yield _finding("hmma", ("code_hmma", key), gain, **figures)


def _spills(code: Code) -> Iterator[Finding]:
    spilled, moves = code.value("spill_bytes"), code.value("code_local")
    if not spilled:
        return
    local = f", {moves:.0f} LDL and STL in the code" if moves else ""
    yield _finding("spills", ("spill_bytes", "code_local"), spills=_bytes(spilled), local=local)


def _waits(code: Code) -> Iterator[Finding]:
    waits, products = code.value("code_waits"), code.value("code_hgmma")
    if products < _threshold("waits_least") or waits < _threshold("waits_share") * products:
        return
    keys = ("code_waits", "code_hgmma")
    yield _finding("waits", keys, waits=f"{waits:.0f}", hgmma=f"{products:.0f}")


def _calls(code: Code) -> Iterator[Finding]:
    if code.value("code_calls"):
        yield _finding("calls", ("code_calls",), calls=f"{code.value('code_calls'):.0f}")


def _not_tuned(code: Code) -> Iterator[Finding]:
    meant = code.stage.tuned_for
    if meant and code.arch not in meant:
        yield _finding("not_tuned", (), arch=code.arch, tuned=", ".join(meant))


def _waves(code: Code) -> Iterator[Finding]:
    waves, loss = code.value("waves"), code.value("wave_loss")
    if loss < _threshold("wave_loss"):
        return
    sms = code.stage.sms_given or code.value("sm_count")
    fill = f"on {sms:.0f} SMs"
    if waves > 1:
        fill = f"make {waves:.2f} waves of {code.value('blocks_an_sm') * sms:.0f}"
    yield _finding(
        "waves",
        ("waves", "wave_loss"),
        loss,
        loss=f"{loss:.1f} %",
        grid=f"{code.value('grid_size'):.0f}",
        fill=fill,
    )


def _finding(
    name: str, metrics: tuple[str, ...], gain: float | None = None, **figures: str
) -> Finding:
    entry = next(e for e in conf.table("static")["findings"] if e["id"] == name)
    return Finding(
        id=name,
        text=entry["text"].format(**figures),
        short=entry["short"].format(**figures),
        advice=entry["try"],
        metrics=metrics,
        gain_pct=gain,
    )


def _threshold(name: str) -> float:
    return float(conf.table("static")["thresholds"][name]["value"])


def _bytes(amount: float) -> str:
    """As the table of stages has it, in binary kilobytes."""
    return f"{amount:.0f} B" if amount < 1024 else f"{amount / 1024:.1f} KB"


def advice(stages: tuple[Stage, ...], arch: str) -> dict[str, str]:
    """What to do about each finding of these stages, by the finding's text."""
    codes = (Code(stage, arch) for stage in stages)
    return {finding.text: finding.advice for code in codes for finding in findings(code)}
