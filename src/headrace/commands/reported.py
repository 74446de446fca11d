"""A command whose errors are messages. Exit codes: 2 something the user can act on, 1 a fault of ours."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import click

from headrace.errors import HeadraceError, InternalError


class Reported(click.Command):
    """A command whose errors are messages; `--debug` adds the traceback."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        help_ = "Show the traceback of an error."
        self.params.append(
            click.Option(["--debug"], is_flag=True, expose_value=False, help=help_, callback=_debug)
        )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default", RuntimeWarning)
                warnings.showwarning = show_warning
                return super().invoke(ctx)
        except BrokenPipeError:  # nobody reads any more, so there must be no flush at exit either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(130)
        except InternalError as error:
            _fail(ctx, error, str(error), 1)
        except HeadraceError as error:
            _fail(ctx, error, str(error), 2)
        except (click.exceptions.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            _fail(ctx, error, f"{type(error).__name__}: {error}", 1)
        finally:
            log = ctx.meta.get("spark_log")
            if log is not None and not _size(log):
                log.unlink(missing_ok=True)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"{click.style('Warning', fg='yellow', bold=True)}: {message}", err=True)


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta["debug"] = value


def _fail(ctx: click.Context, error: Exception, message: str, code: int) -> None:
    debug, log = ctx.meta.get("debug"), ctx.meta.get("spark_log")
    if debug:
        click.echo("".join(traceback.format_exception(error)), err=True)
    click.echo(f"{click.style('Error', fg='red', bold=True)}: {message}", err=True)
    if code == 1 and not debug:
        click.echo("This is a fault of Headrace; --debug shows where it happened.", err=True)
    if log is not None and (code == 1 or debug or ctx.meta.get("keep_log")) and _size(log):
        click.echo(f"What Spark itself wrote is in {log}.", err=True)
    elif log is not None:
        log.unlink(missing_ok=True)
    ctx.exit(code)


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0
