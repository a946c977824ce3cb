"""Machines in files: YAML and JSON, the JSON Schema, Toro Icarte's format, HOA, and the library."""
