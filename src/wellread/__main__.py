"""`python -m wellread`: the command line, where no `wellread` is on the path."""

from wellread.cli.main import main

if __name__ == "__main__":
    main()
