"""Measuring: data sets, metrics, runs of strategies over questions, tables and reports."""
