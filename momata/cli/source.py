"""``momata source``."""

from __future__ import annotations

import click

from momata.cli.options import ExamplesLast, common, save_model

__all__ = ["source"]


@click.command(cls=ExamplesLast)
@click.option(
    "--kind", type=click.Choice(["hmm", "pfa", "pdfa"]), default="hmm", show_default=True, help="Class of the target."
)
@click.option(
    "--states", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Number of hidden states."
)
@click.option(
    "--symbols", type=click.IntRange(1), default=8, show_default=True, metavar="N", help="Size of the alphabet."
)
@click.option(
    "--sparsity", type=click.FloatRange(0, 1, max_open=True), default=0.5, show_default=True, help="Share of zeros."
)
@click.option(
    "--mean-length", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True, help="Length to aim at."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed gives the same target."
)
@click.option("--out", required=True, type=click.Path(allow_dash=True), help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common
def source(
    kind: str, states: int, symbols: int, sparsity: float, mean_length: float, seed: int, out: str, force: bool
) -> None:
    """Draw a random target in the manner of the PAutomaC competition, to make problems whose truth is known.

    \b
    Examples:
      momata source --kind hmm --states 20 --symbols 12 --seed 1 --out truth.npz
      momata sample truth.npz -n 5000 --seed 2 > train.txt
    """  # noqa: D301
    from momata.core import probabilistic
    from momata.io.streams import check_writable
    from momata.predict.automaton_model import AutomatonModel

    check_writable(out, force)
    draw = {"hmm": probabilistic.random_hmm, "pfa": probabilistic.random_pfa, "pdfa": probabilistic.random_pdfa}[kind]
    target = draw(states, symbols, seed, sparsity, mean_length)
    pfa = target.to_pfa() if isinstance(target, probabilistic.HMM) else target
    training = {"method": "source", "kind": kind, "seed": seed, "sparsity": sparsity, "mean_length": mean_length}
    save_model(AutomatonModel(pfa, training=training), out, force)
    if out != "-":
        click.echo(
            f"{out}: {kind} with {states} states over {symbols} symbols; expected length {pfa.expected_length():.4g}"
        )
