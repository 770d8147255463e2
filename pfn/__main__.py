"""`python -m pfn`: the `pfn` command."""

from pfn.cli import main

if __name__ == "__main__":
    main(prog_name="python -m pfn")
