"""What Cranium needs of Python and the machine: compiled code, signals, processes, the terminal."""
