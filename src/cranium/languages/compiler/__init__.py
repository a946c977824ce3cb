"""The compiler from languages to counting reward automata."""
