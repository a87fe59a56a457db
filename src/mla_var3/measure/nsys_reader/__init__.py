"""Read what Nsight Systems exported (SQLite) into one `Timeline`."""

from mla_var3.measure.nsys_reader.read import NsysExport, read_export, read_timeline

__all__ = ["NsysExport", "read_export", "read_timeline"]
