"""The contract of annotation mode: a row a kernel, and what changed since the last profile."""

from mla_var3.core.annotation import AnnotationRun
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.record import Profile
from mla_var3.render.contract import Contract, build_contract
from mla_var3.render.contract_baseline import with_baseline
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
    return with_baseline(contract, run.before)
