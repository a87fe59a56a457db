"""Targets by product, by short name and by architecture."""

import pytest

from mla_var3.core.device import load_devices
from mla_var3.core.errors import BadArgument
from mla_var3.core.target import find_target, of_driver, short_name
from mla_var3.measure.occupancy import known_capabilities

DEVICES = load_devices()
CAPABILITIES = known_capabilities()


@pytest.mark.parametrize(
    ("word", "name", "arch"),
    [
        ("NVIDIA H200", "NVIDIA H200", "sm_90"),
        ("h200", "NVIDIA H200", "sm_90"),
        ("H200", "NVIDIA H200", "sm_90"),
        ("h200-nvl", "NVIDIA H200 NVL", "sm_90"),
        ("b200", "NVIDIA B200", "sm_100"),
        ("b300", "NVIDIA B300 SXM6 AC", "sm_103"),
        ("rtx-5090", "NVIDIA GeForce RTX 5090", "sm_120"),
        ("RTX 5090", "NVIDIA GeForce RTX 5090", "sm_120"),
        ("l40s", "NVIDIA L40S", "sm_89"),
        ("sm_80", "sm_80", "sm_80"),
        ("sm_90", "sm_90", "sm_90"),
    ],
)
def test_what_a_word_names(word: str, name: str, arch: str) -> None:
    target = find_target(word, DEVICES, CAPABILITIES)
    assert (target.name, target.arch) == (name, arch)
    assert (target.device is None) == word.startswith("sm_")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("h300", "no target 'h300'; did you mean h200?"),
        ("sm_91", "no target 'sm_91'; did you mean sm_90?"),
        ("h100", "--target=h100 may be h100-80gb-hbm3 or h100-pcie or h100-nvl: choose one"),
    ],
)
def test_another_word_is_refused_with_what_there_is(word: str, why: str) -> None:
    with pytest.raises(BadArgument) as error:
        find_target(word, DEVICES, CAPABILITIES)
    assert str(error.value) == why


def test_short_names_are_unique() -> None:
    names = [short_name(name) for name in DEVICES.names()]
    assert len(set(names)) == len(names)


def test_a_product_that_is_not_in_the_table_has_its_architecture() -> None:
    target = of_driver("NVIDIA H999", "9.0", DEVICES)
    assert (target.name, target.arch, target.device) == ("sm_90", "sm_90", None)
