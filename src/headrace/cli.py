"""The command line: `headrace run | explain | advise | results | state | slots | compact | prepare | generate | network`.

Commands only parse, call and print; what they print is made in `report`. Spark is imported by the commands
that run something, when they run it: `results` and `state` read manifests, start in a blink and need no
Java.

Exit codes: 0 done; 2 something the user can act on (the message says what); 1 a fault of ours. A run that
is asked to stop, by Ctrl-C or SIGTERM, finishes its batch and exits with 0 if it was meant to run for ever,
and with 130 or 143 if it was to drain its sources (`--available-now`) and has not. A second Ctrl-C ends the
process at once; the next run picks up from the last committed batch.
"""

from __future__ import annotations

import importlib
import importlib.util

import click

from headrace.commands.checkpoint_commands import compact, slots, state
from headrace.commands.plan_commands import advise, explain
from headrace.commands.prepare_command import prepare
from headrace.commands.results_command import results
from headrace.commands.run_command import run
from headrace.refused import Refused

ELSEWHERE = {
    "generate": "headrace.generate.generate_command",
    "network": "headrace.network.network_command",
}


class Commands(click.Group):
    """Commands here, and those of packages that are loaded when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *(name for name in ELSEWHERE if self._there(name))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE and self._there(cmd_name):
            try:
                command: click.Command = getattr(importlib.import_module(ELSEWHERE[cmd_name]), cmd_name)
                return command
            except ModuleNotFoundError as error:
                raise Refused(
                    f"'headrace {cmd_name}' needs the package {error.name}; install headrace[{cmd_name}]"
                ) from error
        return super().get_command(ctx, cmd_name)

    def _there(self, name: str) -> bool:
        try:
            return importlib.util.find_spec(ELSEWHERE[name]) is not None
        except ModuleNotFoundError:
            return False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="headrace", prog_name="headrace")
def main() -> None:
    """Sets of continuous SQL queries over high-rate streams, on Apache Spark.

    \b
    A first run:
      headrace generate packets --rows 1000000 --disorder band --out examples/netmon/data/packets
      headrace run examples/netmon/queries.sql --checkpoint out/netmon --available-now
      headrace results out/netmon suspicious

    \b
    Environment:
      HEADRACE_MASTER         Spark master where --master names none, e.g. spark://host:7077  (local[*])
      HEADRACE_DRIVER_MEMORY  memory of Java in embedded Spark                                (2g)
      HEADRACE_SPARK_LOG      Spark's own log, from this level on: ERROR, WARN, INFO          (not shown)
      HEADRACE_CACHE          where generated data is fetched to                              (~/.cache/headrace)
      JAVA_HOME               the Java that Spark runs on, 17 or newer
    """


for command in (run, explain, advise, results, state, compact, slots, prepare):
    main.add_command(command)
