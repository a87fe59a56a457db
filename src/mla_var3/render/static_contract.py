"""The contract of a profile that was never run: the model decides, no cell shows its times."""

import msgspec

from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.record import Profile, Stage
from mla_var3.render.contract import Contract, ContractStage, build_contract

_DURATION = "duration"


def build_static_contract(profile: Profile, diagnosis: ProfileDiagnosis) -> Contract:
    """The contract: class by the longest roofline time, durations missing with their reason.

    Raises `NoUsableData` where no stage can be classified.
    """
    weighted = msgspec.structs.replace(profile, stages=tuple(map(_weighted, profile.stages)))
    contract = build_contract(weighted, diagnosis)
    reasons = {stage.name: stage.missing.get(_DURATION, "never run") for stage in profile.stages}
    stages = tuple(_unweighted(stage, reasons[stage.stage]) for stage in contract.stages)
    return msgspec.structs.replace(contract, stages=stages)


def _weighted(stage: Stage) -> Stage:
    """The roofline time in the place of the duration, for the contract to weigh stages by."""
    time = stage.metrics.get("roofline_time")
    if time is None:
        return stage
    missing = {key: why for key, why in stage.missing.items() if key != _DURATION}
    metrics = stage.metrics | {_DURATION: time}
    return msgspec.structs.replace(stage, metrics=metrics, missing=missing)


def _unweighted(stage: ContractStage, reason: str) -> ContractStage:
    metrics = {key: metric for key, metric in stage.metrics.items() if key != _DURATION}
    missing = stage.missing | {_DURATION: reason}
    return msgspec.structs.replace(stage, metrics=metrics, missing=missing)
