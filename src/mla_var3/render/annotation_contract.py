"""The contract of annotation mode: a row a kernel, and what changed since the last profile."""

import msgspec

from mla_var3.core.annotation import AnnotationRun
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.record import Profile
from mla_var3.render.contract import BaselineFigure, Contract, build_contract
from mla_var3.render.event_contract import build_event_contract


def build_annotation_contract(
    profile: Profile, diagnosis: ProfileDiagnosis, run: AnnotationRun
) -> Contract:
    """With the baseline, where it may be compared.

    Raises `NoUsableData` where no stage has a class.
    """
    contract = (
        build_event_contract(profile, diagnosis)
        if run.no_counters
        else build_contract(profile, diagnosis)
    )
    before = run.before
    if before is None or before.differs:
        return contract
    baseline = tuple(
        BaselineFigure(
            metric=item.label, previous=item.previous, current=item.current, change=item.change
        )
        for item in before.changes
    )
    return msgspec.structs.replace(contract, baseline=baseline)
