"""Opcodes counted in SASS listings, and what they stand for."""

from tests.support.fake_plan import LISTING

from mla_var3.measure.sass import by_name, count_opcodes, families

NVDISASM = """
.text.latent:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
.L_x_1:
        /*0020*/         @!UP2     UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8] ;
        /*0030*/                   CALL.REL.NOINC `(.L_x_2) ;
        /*0040*/                   STL.64 [R1+0x8], R2 ;
        /*0050*/                   LDL R2, [R1] ;
        /*0060*/                   LDG.E R2, [R4] ;
"""


def test_every_instruction_is_counted_with_its_modifiers() -> None:
    assert count_opcodes(LISTING) == {
        "LDC": 1,
        "BRA": 1,
        "HGMMA.64x64x16.F32.BF16": 2,
        "WARPGROUP.DEPBAR.LE": 1,
        "UTMALDG.3D": 1,
        "EXIT": 1,
    }


def test_families_of_a_cuobjdump_listing() -> None:
    counts = families(count_opcodes(LISTING))
    assert {key: count for key, count in counts.items() if count} == {
        "code_hgmma": 2,
        "code_waits": 1,
        "code_tma": 1,
    }


def test_families_of_a_nvdisasm_listing() -> None:
    counts = families(count_opcodes(NVDISASM))
    assert {key: count for key, count in counts.items() if count} == {
        "code_hmma": 1,
        "code_utc_mma": 1,
        "code_calls": 1,
        "code_local": 2,
    }


def test_names_without_modifiers_most_frequent_first() -> None:
    counts = by_name({"HGMMA.64x64x16": 3, "HGMMA.64x32x16": 2, "WARPGROUP.DEPBAR.LE": 4, "MOV": 1})
    assert list(counts.items()) == [("HGMMA", 5), ("WARPGROUP.DEPBAR", 4), ("MOV", 1)]
