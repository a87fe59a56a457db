"""The contract of a plan that was timed end to end: a row a stage, and the whole with its time."""

import msgspec

from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.record import Profile
from mla_var3.render.contract import Contract, build_contract


def build_event_contract(profile: Profile, diagnosis: ProfileDiagnosis) -> Contract:
    """Class by the model; of several stages only the whole has a duration.

    Raises `NoUsableData` where nothing can be classified.
    """
    whole = profile.end_to_end
    if whole is None or len(profile.stages) == 1:
        return build_contract(profile, diagnosis)
    shown = msgspec.structs.replace(profile, stages=(*profile.stages, whole))
    return build_contract(shown, diagnosis)
