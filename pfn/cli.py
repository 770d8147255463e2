"""The `pfn` command."""

from pathlib import Path

import click

from pfn.errors import PfnError
from pfn.solve import load


@click.group()
@click.version_option(package_name="positive-factor-networks", prog_name="pfn")
def main() -> None:
    """Positive factor networks: coupled non-negative factorizations."""


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
def show(path: Path) -> None:
    """Show a saved result: its equations, errors and sizes.

    Example: pfn show result.safetensors
    """
    try:
        result = load(path)
    except PfnError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{result.network}\n\n{result!r}")


if __name__ == "__main__":
    main()
