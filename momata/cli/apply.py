"""``momata score``, ``predict``, ``evaluate`` and ``sample``: what a model is used for."""

from __future__ import annotations

from typing import Any

import click

from momata.cli.options import (
    ExamplesLast,
    common,
    data_options,
    load_model,
    not_twice,
    order_option,
    print_json,
    print_table,
    read,
    shown,
    unknown_option,
)

__all__ = ["evaluate", "predict", "sample", "score"]

_MODEL = click.argument("model", type=click.Path(allow_dash=True))
_DATA = click.argument("data", type=click.Path(allow_dash=True))
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")


_MOST = 1_000_000_000
_BATCH = 1000  # prefixes whose distributions are in memory at once


def _load(model: str, data: str, **others: str | None) -> Any:
    not_twice(MODEL=model, DATA=data, **others)
    return load_model(model)


@click.command(cls=ExamplesLast)
@_MODEL
@_DATA
@unknown_option
@_JSON
@data_options
@order_option
@common
def score(model: str, data: str, unknown: str | None, as_json: bool, how: dict[str, Any]) -> None:
    """Print the natural log probability of each sequence of DATA, a line each.

    With --json an object a line, {"log_prob": ...}, and last {"total": {"log_prob": ..., "n_sequences": ...}}.

    \b
    Examples:
      momata score model.npz test.txt
      echo "a b a" | momata score model.npz -
    """  # noqa: D301
    loaded = _load(model, data)
    corpus = read(data, how, loaded)
    logp = loaded.log_prob(corpus, unknown)
    if not as_json:
        click.echo("\n".join(map(repr, logp.tolist())))
        return
    for value in logp.tolist():
        print_json({"log_prob": value})
    print_json({"total": {"log_prob": float(logp.sum()), "n_sequences": len(corpus)}})


@click.command(cls=ExamplesLast)
@_MODEL
@_DATA
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, metavar="K", help="How many symbols.")
@unknown_option
@_JSON
@data_options
@order_option
@common
def predict(model: str, data: str, top: int, unknown: str | None, as_json: bool, how: dict[str, Any]) -> None:
    """Print what is likeliest to follow each sequence of DATA, taken as a prefix; </s> is the end.

    A line for each prefix: symbol and probability, separated by a blank; pairs separated by tabs. A symbol that holds white
    space or control characters is shown as a JSON string.

    \b
    Examples:
      momata predict model.npz prefixes.txt --top 3
      echo "a b" | momata predict model.npz - --json
    """  # noqa: D301
    from momata.core.alphabet import STOP

    loaded = _load(model, data)
    names = [*(str(symbol) if as_json else shown(symbol) for symbol in loaded.alphabet), STOP]
    prefixes = loaded.encode(read(data, how, loaded), unknown)
    for first in range(0, len(prefixes), _BATCH):
        for row in loaded.next_symbols(prefixes[first : first + _BATCH]):
            best = [int(i) for i in (-row).argsort(kind="stable")[: top + 1] if i != loaded.hidden_symbol][:top]
            if as_json:
                print_json({"next": [{"symbol": names[i], "probability": float(row[i])} for i in best]})
            else:
                click.echo("\t".join(f"{names[i]} {row[i]:.6g}" for i in best))


@click.command(cls=ExamplesLast)
@_MODEL
@_DATA
@click.option(
    "--target",
    type=click.Path(),
    metavar="SOLUTION",
    help="True probabilities of the sequences (PAutomaC solution file).",
)
@click.option(
    "--ranking",
    type=click.Path(),
    metavar="TARGETS",
    help="DATA are prefixes, TARGETS what may follow (SPiCe): print ndcg.",
)
@click.option("--k", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Length of the ranking.")
@click.option(
    "--convention",
    type=click.Choice(["proper", "raw", "absolute", "clamp", "floor"]),
    default="proper",
    show_default=True,
    help="How an automaton is read: as the proper distribution, or as the papers do.",
)
@unknown_option
@_JSON
@data_options
@order_option
@common
def evaluate(
    model: str,
    data: str,
    target: str | None,
    ranking: str | None,
    k: int,
    convention: str,
    unknown: str | None,
    as_json: bool,
    how: dict[str, Any],
) -> None:
    """Measure a model on the sequences of DATA.

    Rates are in percent. Perplexity (with --target) is the PAutomaC competition's. Every sequence has one event more than
    it has symbols, its end.

    \b
    Examples:
      momata evaluate model.npz test.txt
      momata evaluate model.npz 1.pautomac.test --target 1.pautomac_solution.txt --json
    """  # noqa: D301
    if target and ranking:
        raise click.UsageError("--target and --ranking are two different measurements. Give one of them.")
    if ranking and convention != "proper":
        raise click.UsageError("--ranking ranks by the proper distribution. Leave --convention out.")
    loaded = _load(model, data, **{"--target": target, "--ranking": ranking})
    corpus = read(data, how, loaded)
    if ranking:
        from momata.io import read_ranking
        from momata.predict.metrics import ndcg

        truth = read_ranking(ranking)
        if len(truth) > len(corpus):  # so it is in SPiCe's problem 4
            click.echo(
                f"momata: {ranking} has {len(truth) - len(corpus)} rankings more than {data} has prefixes; left out.",
                err=True,
            )
            truth = truth.first(len(corpus))
        value = ndcg(loaded, corpus, truth.ideal, truth, k, unknown)
        found: dict[str, Any] = {"ndcg": value, "k": k, "n_prefixes": len(corpus)}
    else:
        from momata.io import read_target
        from momata.predict import metrics

        found = metrics.evaluate(loaded, corpus, None if target is None else read_target(target), unknown, convention)
    found["n_states"] = loaded.n_states
    if as_json:
        print_json(found)
    else:
        print_table(found.items())


@click.command(cls=ExamplesLast)
@_MODEL
@click.option("-n", "n", type=click.IntRange(0, _MOST), default=10, show_default=True, help="How many sequences.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed gives the same sequences."
)
@click.option(
    "--max-length",
    type=click.IntRange(0, _MOST),
    default=1_000_000,
    show_default=True,
    help="Longer sequences are an error.",
)
@click.option(
    "--format",
    type=click.Choice(["text", "chars", "pautomac"]),
    help="How to print them [default: text, or chars as in training].",
)
@click.option(
    "--prefix", default="", metavar="TEXT", help="Symbols, separated by blanks, that all sequences begin with."
)
@common
def sample(model: str, n: int, seed: int, max_length: int, format: str | None, prefix: str) -> None:
    """Draw sequences from a model, a line each.

    \b
    Examples:
      momata sample model.npz -n 20
      momata sample model.npz -n 1000 --seed 7 --prefix "a b" > more.txt
    """  # noqa: D301
    from momata.io import write_corpus

    loaded = load_model(model)
    given = list(prefix) if loaded.training.get("chars") else prefix.split()
    drawn = loaded.sample(n, seed, max_length, given)
    write_corpus(drawn, "-", format or ("chars" if loaded.training.get("chars") else "text"))
