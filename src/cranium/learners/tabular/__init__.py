"""Tabular learners: Q-learning, CQL, CRM and hierarchical options, compiled with Numba."""
