"""`python -m wellread`: the command line, where no `wellread` is on the path."""

from wellread.core.safe_imports import make_safe

if __name__ == "__main__":
    make_safe()
    from wellread.cli.main import main

    main()
