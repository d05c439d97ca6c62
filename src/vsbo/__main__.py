"""`python -m vsbo` is `vsbo`."""

from vsbo.interfaces.cli import main

if __name__ == "__main__":
    main()
