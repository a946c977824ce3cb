"""The machines of the paper: counting reward automata, reward machines, counter machines."""
