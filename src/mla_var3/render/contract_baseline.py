"""The contract's comparison with a baseline."""

import msgspec

from mla_var3.core.annotation import AcrossRuns
from mla_var3.render.contract import BaselineFigure, Contract


def with_baseline(contract: Contract, before: AcrossRuns | None) -> Contract:
    """The contract with what changed since then, where both may be compared."""
    if before is None or before.differs:
        return contract
    baseline = tuple(
        BaselineFigure(
            metric=item.label, previous=item.previous, current=item.current, change=item.change
        )
        for item in before.changes
    )
    return msgspec.structs.replace(contract, baseline=baseline)
