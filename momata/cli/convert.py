"""``momata convert``."""

from __future__ import annotations

import click

from momata.cli.options import ExamplesLast, common

__all__ = ["convert"]

_READ = ("npz", "json", "att", "pautomac", "treba", "hmm")
_WRITE = (*_READ, "dot")


@click.command(cls=ExamplesLast)
@click.argument("model", type=click.Path(allow_dash=True))
@click.option("--out", required=True, type=click.Path(allow_dash=True), help="File to write.")
@click.option("--from", "source", type=click.Choice(_READ), help="Format of MODEL [default: that of its name].")
@click.option("--to", "target", type=click.Choice(_WRITE), help="Format of --out [default: that of its name].")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common
def convert(model: str, out: str, source: str | None, target: str | None, force: bool) -> None:
    """Write a model in another format, named by the ending of --out.

    \b
    .npz .json        any model, complete
    .att .fst.txt     OpenFst text, with a symbol table .syms beside it
    .pautomac         PAutomaC model text (reads *_model.txt too)
    .treba .hmm       treba's automata and hidden Markov models
    .dot .gv          drawing for Graphviz (cannot be read back)

    What the new format cannot hold is said on standard error. Standard input and output are .npz unless --from or --to
    says otherwise.

    \b
    Examples:
      momata convert model.npz --out model.att
      momata convert 1.pautomac_model.txt --out target.npz
    """  # noqa: D301
    from momata.io.automata import format_of, read_model, write_model
    from momata.io.streams import check_writable

    format_of(out, target)
    check_writable(out, force)
    for note in write_model(read_model(model, source), out, force, target):
        click.echo(f"momata: {out}: {note}.", err=True)
