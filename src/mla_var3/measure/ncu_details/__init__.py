"""Sections, rules, tables, instructions and sources of one launch of a full .ncu-rep."""
