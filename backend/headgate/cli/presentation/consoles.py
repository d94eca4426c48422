"""Data goes to stdout, talk to stderr; colour only where a person looks."""

import sys

import typer
from rich.console import Console

PIPE_WIDTH = 400

COLOURS = {
    "Running": typer.colors.GREEN,
    "Succeeded": typer.colors.GREEN,
    "Starting": typer.colors.CYAN,
    "QuotaReserved": typer.colors.CYAN,
    "Nominated": typer.colors.CYAN,
    "Pending": typer.colors.YELLOW,
    "Retrying": typer.colors.YELLOW,
    "OnHold": typer.colors.MAGENTA,
    "Inactive": typer.colors.MAGENTA,
    "Evicting": typer.colors.RED,
    "Failed": typer.colors.RED,
    "Cancelled": typer.colors.BRIGHT_BLACK,
}


def show(text: str) -> None:
    """Data, for people and programs alike."""
    typer.echo(text)


def say(text: str) -> None:
    """Talk, for people."""
    typer.echo(text, err=True)


def talk() -> Console:
    """Where progress bars and prompts go."""
    return Console(stderr=True)


def page() -> Console:
    """Where trees and bars go; rich drops colour by itself in pipes and under NO_COLOR."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def has_colour() -> bool:
    """Whether stdout shows colour to a person."""
    return not Console(file=sys.stdout).no_color and sys.stdout.isatty()


def tinted(text: str, phase: str) -> str:
    """The text in the colour of a phase, where colour is shown at all."""
    colour = COLOURS.get(phase)
    return typer.style(text, fg=colour) if colour and has_colour() else text
