"""The root of the `dovetail` command, and what it does about errors."""

from __future__ import annotations

from typing import Any, Final

import click

from dovetail.cli.failure import INTERRUPTED, Failure, describe
from dovetail.cli.lazy import LazyGroup
from dovetail.errors import DovetailError

COMMANDS: Final = {
    "accuracy": "dovetail.cli.accuracy:accuracy",
    "conformance": "dovetail.cli.conformance:conformance",
    "demo": "dovetail.cli.demo:demo",
    "devices": "dovetail.cli.devices:devices",
    "new-backend": "dovetail.cli.new_backend:new_backend",
    "op": "dovetail.cli.op:op",
    "run": "dovetail.cli.run:run",
}


class App(LazyGroup):
    """A group that turns errors of our tree into one line, and Ctrl-C into 130."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the sub-command."""
        try:
            return super().invoke(ctx)
        except DovetailError as error:
            if ctx.params["traceback"]:
                raise
            raise Failure(describe(error)) from error
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(
    cls=App,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Help on a command: dovetail devices --help",
)
@click.option("--traceback", is_flag=True, help="Show the whole traceback of errors.")
@click.version_option(package_name="dovetail", message="dovetail %(version)s")
def main(traceback: bool) -> None:
    """A PyTorch-compatible framework whose hardware is a plug-in.

    \b
    Examples:
      dovetail devices                         what hardware can be used, and why not
      dovetail demo digits                     train a network on handwritten digits
      dovetail demo digits --device cuda:0     the same on a GPU
    """
