"""Read what Nsight Compute recorded: reports and exports, into one `Profile`."""

from mla_var3.measure.ncu_reader.read import read_report

__all__ = ["read_report"]
