"""What a timeline's verdicts say, in sentences with their evidence."""

from mla_var3.core import units
from mla_var3.core.timeline_findings import Gap, GroupVerdict, LaunchBound, PairVerdict, Saved
from mla_var3.render.timeline_view import TimelineView, percent, words


def verdict_texts(view: TimelineView) -> list[str]:
    """Every verdict: groups that were meant to overlap, time saved, launch-bound, idle time."""
    findings = view.findings
    texts: list[str] = []
    never = [" + ".join(one.members) for one in findings.verdicts if _never_met(one)]
    for verdict in findings.verdicts:
        texts += [] if _never_met(verdict) else group_texts(view, verdict)
    if never:
        texts.append(f"{', '.join(never)}: serialised: never at once")
    if not findings.verdicts:
        texts.append(_nothing_to_overlap(view))
    texts += [saved_text(item) for item in findings.saved]
    texts += [bound_text(view, item) for item in findings.launch_bound]
    return texts


def _never_met(verdict: GroupVerdict) -> bool:
    """Of streams that no plan means to overlap: they are told together."""
    pair = verdict.pairs[0] if len(verdict.pairs) == 1 else None
    never = pair is not None and not pair.overlap_ns and not pair.reason
    return never and not verdict.planned and verdict.word == "serialised"


def group_texts(view: TimelineView, verdict: GroupVerdict) -> list[str]:
    """`matmul + copy: overlapped: …`; of a group of several pairs each of them below."""
    names = " + ".join(verdict.members)
    if len(verdict.pairs) == 1:
        return [f"{names}: {verdict.word}: {_pair(view, verdict, verdict.pairs[0])}"]
    inside = f" in {verdict.overlapped_iterations} of {verdict.iterations} {_noun(view)}"
    texts = [
        f"{names}: {verdict.word}{inside if verdict.iterations else ''}{_streams(view, verdict)}"
    ]
    texts += [
        f"{pair.a} + {pair.b}: {pair.word}: {_evidence(view, pair)}" for pair in verdict.pairs
    ]
    return texts


def _pair(view: TimelineView, verdict: GroupVerdict, pair: PairVerdict) -> str:
    return f"{_evidence(view, pair)}{_streams(view, verdict)}"


def _evidence(view: TimelineView, pair: PairVerdict) -> str:
    if pair.word == "not decidable":
        return pair.reason
    text = f"{units.duration(pair.overlap_ns)} at once = {percent(pair.percent)} of the shorter"
    if pair.iterations:
        text += f", in {pair.overlapped_iterations} of {pair.iterations} {_noun(view)}"
    if pair.overlap_ns and not pair.kernels_ns:
        text += "; no two kernels at once: a copy or memset is part of all of it"
    elif pair.overlap_ns:
        text += f"; two kernels at once {units.duration(pair.kernels_ns)}"
    return f"{text}; {pair.reason}" if pair.reason else text


def _streams(view: TimelineView, verdict: GroupVerdict) -> str:
    """`; on streams 13, 17, 2 planned`: of stages alone."""
    if not verdict.planned:
        return ""
    used = ", ".join(view.labels[key] for key in verdict.streams)
    asked = units.count(verdict.planned_streams or 1, "stream")
    return f"; on {used or 'no stream'}, {asked} planned"


def _noun(view: TimelineView) -> str:
    name = view.findings.iteration_name
    return "iterations" if name in ("", "iteration") else f"ranges {name!r}"


def _nothing_to_overlap(view: TimelineView) -> str:
    if view.on_cpu and view.findings.plan is not None:
        return "overlap: none, on a CPU the stages run one after the other"
    if view.findings.plan is not None:
        return "overlap: the plan means none of its stages to run at once"
    streams = view.findings.window.streams
    return (
        f"overlap: none possible, all operations of the window ran on {view.labels[streams[0].key]}"
    )


def saved_text(saved: Saved) -> str:
    """What running at once is worth; overlap in percent is not time saved."""
    names = " + ".join(saved.members)
    if saved.saved_ns is None or saved.span_ns is None:
        return f"{names}: time saved: not known, {saved.reason}"
    alone = " + ".join(units.duration(value) for value in saved.solo_ns.values())
    span = units.duration(saved.span_ns)
    if saved.saved_ns < 0:
        lost = units.duration(-saved.saved_ns)
        return f"{names}: time saved: none, {lost} lost: {alone} alone, {span} at once"
    total = sum(saved.solo_ns.values())
    share = percent(100.0 * saved.saved_ns / total) if total else units.NA
    return (
        f"{names}: time saved: {units.duration(saved.saved_ns)} a call ({share}): {alone} alone, "
        f"{span} at once"
    )


def bound_text(view: TimelineView, bound: LaunchBound) -> str:
    """`launch-bound: …` or why not."""
    device = view.device_name(bound.device) if len(view.findings.launch_bound) > 1 else "the GPU"
    facts = (
        f"{device} idles {percent(bound.idle_pct)} of the window, median gap "
        f"{units.duration(bound.gap_median_ns)}, launching calls "
        f"{units.duration(bound.call_distance_ns)} apart, median operation "
        f"{units.duration(bound.operation_median_ns)}"
    )
    if bound.yes:
        return f"launch-bound: {facts}"
    return f"not launch-bound: {facts}; {bound.reason}"


def advice_texts(view: TimelineView) -> list[str]:
    """What to try, by verdict."""
    advice, findings = words("advice"), view.findings
    found = []
    for verdict in findings.verdicts:
        if verdict.planned and verdict.word in ("serialised", "partly") and not view.on_cpu:
            one = (verdict.planned_streams or 1) < 2
            found.append(advice["one stream" if one else verdict.word])
        if verdict.word == "not decidable" and "graph" in verdict.reason:
            found.append(advice["graph"])
    if any(item.yes for item in findings.launch_bound):
        found.append(advice["launch-bound"])
    if idle_by_cause(view).get("synchronise", 0) > 0.2 * max(findings.window.length_ns, 1):
        found.append(advice["synchronise"])
    return list(dict.fromkeys(found))


def idle_by_cause(view: TimelineView) -> dict[str, int]:
    """Idle time of the window's devices by what the host did, in ns, longest first."""
    found: dict[str, int] = {}
    for gap in _of_window(view):
        found[gap.cause] = found.get(gap.cause, 0) + gap.length_ns - gap.left_out_ns
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def longest_gaps(view: TimelineView, most: int) -> list[Gap]:
    """The longest gaps of devices in the window, by what the window keeps of them."""
    gaps = _of_window(view)
    return sorted(gaps, key=lambda gap: (gap.left_out_ns - gap.length_ns, gap.begin))[:most]


def _of_window(view: TimelineView) -> list[Gap]:
    """Gaps of devices in the window, but for those that are left out whole."""
    return [
        gap
        for gap in view.findings.gaps
        if gap.stream is None and gap.in_window and gap.left_out_ns < gap.length_ns
    ]


def gap_text(view: TimelineView, gap: Gap) -> str:
    """What the host did in a gap: `it had waited in cudaDeviceSynchronize; then 845.7 µs in …`."""
    parts = []
    if gap.waited >= 0:
        parts.append(f"the host had waited in {view.call_name(gap.waited)}")
    elif gap.cause == "on the device":
        parts.append("its launch had begun before")
    if gap.call >= 0:
        parts.append(f"{units.duration(gap.call_ns)} in {view.call_name(gap.call)}")
    if gap.outside_ns:
        parts.append(f"{units.duration(gap.outside_ns)} in no call")
    return "; ".join(parts) or words("causes")[gap.cause]
