"""``python -m cranium`` is ``cranium``."""

from cranium.cli import main

if __name__ == "__main__":
    main()
