"""Measurements that anybody can run: ``python -m benchmarks.NAME`` from the folder of the project."""
