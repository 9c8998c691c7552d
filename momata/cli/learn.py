"""``momata learn``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from momata.cli.options import (
    ExamplesLast,
    common,
    data_options,
    load_model,
    not_twice,
    print_json,
    print_table,
    read,
    save_model,
    show_progress,
    with_order,
)

__all__ = ["learn"]

_OF_SAMPLE = ("valid",)
_OF_FACTORS = ("states", "max_states", "statistic", "basis", "max_length", "scaling", "select")

OPTIONS_OF = {
    "ngram": ("order", "smoothing", *_OF_SAMPLE),
    "spectral": (*_OF_FACTORS, "operators", "ends", "svd", "polish", *_OF_SAMPLE),
    "nonnegative": (*_OF_FACTORS, "operators", "nmf", "restarts", "polish", *_OF_SAMPLE),
    "residual": (*_OF_FACTORS, "polish", *_OF_SAMPLE),
    "em": (
        "states",
        "max_states",
        "init",
        "restarts",
        "prior",
        "steps",
        "patience",
        "tied",
        "hard",
        "grow",
        "temperature",
        "precision",
        "checkpoint",
        *_OF_SAMPLE,
    ),
}
"""Which options each method has."""

METHODS = tuple(OPTIONS_OF)
MAX_ORDER = 10_000
CHECKPOINT_SECONDS = 10.0


def _split_orders(values: tuple[str, ...]) -> tuple[int | None, str | None]:
    """Tell an order of an n-gram model (a whole number) from a column that orders events (anything else)."""
    numbers = [v for v in values if re.fullmatch("-?[0-9]+", v)]
    names = [v for v in values if v not in numbers]
    if len(numbers) > 1 or len(names) > 1:
        raise click.BadParameter(
            f"{', '.join(values)}: give one order of the n-gram model, and one column for events.", param_hint="--order"
        )
    if numbers and (len(numbers[0]) > 9 or not 1 <= int(numbers[0]) <= MAX_ORDER):
        raise click.BadParameter(
            f"{numbers[0]:.20} is no order of an n-gram model. Give a whole number from 1 to {MAX_ORDER}.",
            param_hint="--order",
        )
    return int(numbers[0]) if numbers else None, names[0] if names else None


class _Learn(ExamplesLast):
    """Looks at the method before the options, which another method may have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in METHODS:
            raise click.UsageError(f"there is no method {args[0]!r}. Use one of: {', '.join(METHODS)}.", ctx)
        return super().parse_args(ctx, args)


def _states(_: click.Context, __: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    if not re.fullmatch("[0-9]{1,9}", value) or int(value) < 1:
        raise click.BadParameter(f"{value:.20} is no number of states. Give a whole number from 1, or auto.")
    return int(value)


def _several(allowed: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, str], tuple[str, ...]]:
    """Return what splits a list with commas and refuses what is not allowed."""

    def split(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(value.split(",")))
        for one in found:
            if one not in allowed:
                raise click.BadParameter(f"{one[:40]!r} is not one of {', '.join(allowed)}.")
        return found

    return split


STATISTICS = ("string", "prefix", "suffix", "substring")
SCALINGS = ("none", "roots", "sums", "counts")


@click.command(cls=_Learn)
@click.argument("method", type=click.Choice(METHODS))
@click.argument("train", type=click.Path(allow_dash=True))
@click.option("--out", required=True, type=click.Path(allow_dash=True), help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace an existing model file.")
@click.option(
    "--states",
    default="auto",
    show_default=True,
    metavar="N|auto",
    callback=_states,
    help="How many states; auto: chosen on held-out data.",
)
@click.option("--max-states", type=click.IntRange(1), help="Up to which auto tries [default: 40; em: 80].")
@click.option(
    "--statistic",
    default="substring",
    show_default=True,
    metavar="NAME,...",
    callback=_several(STATISTICS),
    help=f"What to count: {', '.join(STATISTICS)}; several are tried.",
)
@click.option(
    "--basis",
    default="top:400",
    show_default=True,
    metavar="NAME,...",
    help="Prefixes and suffixes that make the Hankel matrix: symbols, symbols+, length:K, top:K, sample:K, matching:K, all, "
    "closed: before one of these, or file:PATH (JSON with prefixes and suffixes); several are tried.",
)
@click.option(
    "--max-length", type=click.IntRange(0, 1000), default=4, show_default=True, help="Of the strings in the basis."
)
@click.option(
    "--scaling",
    default="roots",
    show_default=True,
    metavar="NAME,...",
    callback=_several(SCALINGS),
    help=f"Of rows and columns, before factorising: {', '.join(SCALINGS)}; several are tried.",
)
@click.option(
    "--operators",
    type=click.Choice(["shifted", "selection"]),
    default="shifted",
    show_default=True,
    help="From the shifted blocks, or from the block alone.",
)
@click.option(
    "--ends",
    type=click.Choice(["start", "lemma", "observed"]),
    default="start",
    show_default=True,
    help="Initial vector, neither, or both vectors read off the ends of sequences.",
)
@click.option(
    "--svd",
    type=click.Choice(["auto", "dense", "arpack", "random"]),
    default="auto",
    show_default=True,
    help="How to factorise.",
)
@click.option(
    "--select",
    type=click.Choice(["log_prob", "wer"]),
    default="log_prob",
    show_default=True,
    help="By what to choose on held-out data.",
)
@click.option(
    "--polish",
    type=click.IntRange(0),
    default=0,
    metavar="STEPS",
    help="Finish by likelihood: at most so many steps of EM, chosen on held-out data.",
)
@click.option(
    "--init",
    default="random",
    show_default=True,
    metavar="random|hmm|left-to-right|spectral|MODEL",
    help="What EM starts from: drawn at random, by a method of moments, or a model file.",
)
@click.option("--restarts", type=click.IntRange(1), help="Random starts [default: 3; nonnegative: 1].")
@click.option(
    "--nmf",
    type=click.Choice(["cd", "anls"]),
    default="cd",
    show_default=True,
    help="Coordinate descent, or alternating non-negative least squares.",
)
@click.option(
    "--prior",
    type=click.FloatRange(0, 1e9),
    default=0.1,
    show_default=True,
    help="Dirichlet prior, in uses of each state.",
)
@click.option("--steps", type=click.IntRange(0), default=400, show_default=True, help="The most steps of a run of EM.")
@click.option(
    "--patience", type=click.IntRange(1), default=10, show_default=True, help="Steps of EM that may bring no gain."
)
@click.option("--tied", is_flag=True, help="A hidden Markov model: next states do not depend on symbols.")
@click.option("--hard", is_flag=True, help="Viterbi training: only the best path of each sequence counts.")
@click.option("--grow", is_flag=True, help="Start more states from fewer, the busiest split.")
@click.option(
    "--temperature", type=click.FloatRange(1, 1e6), default=1.0, show_default=True, help="From which EM is annealed."
)
@click.option(
    "--precision",
    type=click.Choice(["float64", "float32"]),
    default="float64",
    show_default=True,
    help="Of the expectation step.",
)
@click.option(
    "--checkpoint", type=click.Path(), help="Keep the state of the search in this file, and go on from it if it exists."
)
@click.option("--order", "order", multiple=True, metavar="N", help="How many symbols make an n-gram [default: chosen].")
@click.option(
    "--smoothing",
    type=click.Choice(["kn", "mkn", "none"]),
    default="kn",
    show_default=True,
    help="Kneser-Ney with one discount an order, with three, or relative frequencies.",
)
@click.option(
    "--valid", type=click.Path(allow_dash=True), help="Held-out data [default: a tenth of TRAIN, drawn by --seed]."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of everything random.")
@click.option("--plot", type=click.Path(), help="Draw the scores on held-out data into this SVG file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@data_options
@common
def learn(
    method: str, train: str, out: str, force: bool, order: tuple[str, ...], valid: str | None, seed: int, plot: str | None,
    as_json: bool, how: dict[str, Any], **options: Any,
) -> None:  # fmt: skip
    """Learn a model from the sequences of TRAIN and write it to --out.

    METHOD is one of

    \b
    ngram     n-gram model with start and end of a sequence, smoothed by Kneser-Ney
              (--order --smoothing)
    spectral  weighted automaton from the singular value decomposition of a Hankel matrix
              (--states --max-states --statistic --basis --max-length --scaling --operators
              --ends --svd --select --polish)
    nonnegative  probabilistic automaton from a non-negative factorisation of that matrix
              (--states --max-states --statistic --basis --max-length --scaling --operators
              --nmf --restarts --select --polish)
    residual  probabilistic automaton whose states are futures of observed prefixes
              (--states --max-states --statistic --basis --max-length --scaling --select --polish)
    em        probabilistic automaton by expectation and maximisation
              (--states --max-states --init --restarts --prior --steps --patience --tied --hard
              --grow --temperature --precision --checkpoint)

    In an event table, --order may also name the column that sorts the events, like --order-by.

    \b
    Examples:
      momata learn spectral train.txt --out model.npz --plot curve.svg
      momata learn ngram clicks.csv --group session --order-by time --symbol page --out clicks.npz
    """  # noqa: D301
    from momata.io.streams import check_writable

    orders, column = _split_orders(order)
    _refuse_options_of_others(method, orders)
    how = with_order(how, column)
    not_twice(**{"TRAIN": train, "--valid": valid})
    if out == "-" and plot == "-":
        raise click.UsageError("--out and --plot cannot both be standard output. Give a file name for one of them.")
    _refuse_same_files(TRAIN=train, **{"--valid": valid, "--out": out, "--plot": plot}, **_files_of(options))
    check_writable(out, force)
    if plot is not None:
        from momata.report.plots import is_installed, missing_extra

        if plot != "-" and not plot.lower().endswith((".svg", ".svg.gz")):
            raise click.BadParameter(f"{plot}: plots are SVG files. Let the name end in .svg.", param_hint="--plot")
        check_writable(plot, force)
        if not is_installed():
            raise missing_extra(ImportError("", name="matplotlib"))
    options = {name: options[name] for name in OPTIONS_OF[method] if name in options}
    options = {
        name: value for name, value in options.items() if name not in ("max_states", "restarts") or value is not None
    }
    if "basis" in options:
        options["basis"] = _bases(options["basis"])
    if method == "ngram":
        options["order"] = orders
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    corpus = read(train, how)
    options["valid"] = None if valid is None else read(valid, how)
    seconds["read"] = time.perf_counter() - began
    result = _LEARNERS[method](corpus, options, seed)
    result.model.training["chars"] = bool(how["chars"] or how["format"] == "chars")
    began = time.perf_counter()
    save_model(result.model, out, force)
    seconds |= result.seconds | {"write": time.perf_counter() - began}
    if plot is not None:
        from momata.report.curves import write_curve

        write_curve(result, plot, force)
    _report(result, corpus, out, seconds, as_json or out == "-")


def _files_of(options: dict[str, Any]) -> dict[str, str | None]:
    """Return the files that options name."""
    init = options["init"] if Path(options["init"]).is_file() else None
    bases = [name.removeprefix("file:") for name in options["basis"].split(",") if name.startswith("file:")]
    return {"--checkpoint": options["checkpoint"], "--init": init, "--basis": bases[0] if bases else None}


_WRITTEN = ("--out", "--plot", "--checkpoint")


def _refuse_same_files(**paths: str | None) -> None:
    """Refuse to write over what is read, or two things into one file."""
    named = [(name, Path(path).resolve()) for name, path in paths.items() if path not in (None, "-")]
    for k, (name, path) in enumerate(named):
        for other, same in named[:k]:
            if path == same and (name in _WRITTEN or other in _WRITTEN):
                written, kept = (name, other) if name in _WRITTEN else (other, name)
                what = "the training data" if kept == "TRAIN" else f"what {kept} names"
                raise click.UsageError(f"{written} {paths[written]} is {what} too. Name another file.")


def _refuse_options_of_others(method: str, order: int | None) -> None:
    """Refuse options that the method does not have, rather than ignore them."""
    context = click.get_current_context()
    known = {name for names in OPTIONS_OF.values() for name in names}
    for name in sorted(known - set(OPTIONS_OF[method])):
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if given and (name != "order" or order is not None):
            raise click.UsageError(
                f"learn {method} has no option --{name.replace('_', '-')}. "
                f"It has: {', '.join('--' + n.replace('_', '-') for n in OPTIONS_OF[method])}."
            )


def _bases(text: str) -> tuple[Any, ...]:
    from momata.core.basis import check_basis_name
    from momata.io.basis_file import read_basis

    found: list[Any] = []
    for name in text.split(","):
        if name.startswith("file:"):
            found.append(read_basis(name.removeprefix("file:")))
        else:
            check_basis_name(name)
            found.append(name)
    return tuple(found)


def _learn_ngram(corpus: Any, options: dict[str, Any], seed: int) -> Any:
    from momata.learn.ngram import HIGHEST_TRIED, learn_ngram

    with show_progress("choosing the order", HIGHEST_TRIED) as show:
        return learn_ngram(
            corpus, **options, seed=seed,
            callback=lambda e: show(f"order {e['order']}, held-out log-likelihood {e['validation_log_prob']:.1f}"),
        )  # fmt: skip


def _learn_by_moments(learn: Any, corpus: Any, options: dict[str, Any], seed: int) -> Any:
    n_states = options.pop("states")
    tries = 1 if n_states != "auto" else options.get("max_states", 40)
    tries *= len(options["statistic"]) * len(options["basis"]) * len(options["scaling"])
    with show_progress("choosing the automaton", tries) as show:
        return learn(
            corpus, n_states, **options, seed=seed,
            callback=lambda e: show(_step_shown(e)),
        )  # fmt: skip


def _learn_spectral(corpus: Any, options: dict[str, Any], seed: int) -> Any:
    from momata.learn.spectral import learn_spectral

    return _learn_by_moments(learn_spectral, corpus, options, seed)


def _learn_nonnegative(corpus: Any, options: dict[str, Any], seed: int) -> Any:
    from momata.learn.nonnegative import learn_nonnegative

    return _learn_by_moments(learn_nonnegative, corpus, options, seed)


def _learn_residual(corpus: Any, options: dict[str, Any], seed: int) -> Any:
    from momata.learn.nonnegative import learn_residual

    return _learn_by_moments(learn_residual, corpus, options, seed)


def _step_shown(entry: dict[str, Any]) -> str:
    """Say in a few words what a step found."""
    score = entry.get("validation_log_prob")
    held_out = "" if score is None else f", held-out {score:.1f}"
    step = f", step {entry['step']}" if "step" in entry else ""
    return f"{entry['n_states']} states{step}{held_out}"


def _learn_em(corpus: Any, options: dict[str, Any], seed: int) -> Any:
    from momata.errors import OptionError
    from momata.learn.em import learn_em

    n_states, options["n_steps"] = options.pop("states"), options.pop("steps")
    checkpoint = options.pop("checkpoint")
    options["init"] = _start(options["init"], corpus)
    if checkpoint is None:
        with show_progress("EM", None) as show:
            return learn_em(corpus, n_states, **options, seed=seed, callback=lambda e: show(_step_shown(e)))
    from momata.io import load, save
    from momata.io.streams import check_writable

    if checkpoint == "-":
        raise click.BadParameter("a checkpoint is a file. Give its name.", param_hint="--checkpoint")
    check_writable(checkpoint, force=True)
    resume = latest = None
    if Path(checkpoint).exists():
        resume = load(checkpoint)
        if getattr(resume, "kind", "") != "em_state":
            raise OptionError(f"{checkpoint} is no checkpoint but a model. Name another file, or remove it.")
        click.echo(f"momata: going on from {checkpoint}: {resume.pfa.n_states} states, step {resume.step}.", err=True)
    kept = time.monotonic()

    def keep(state: Any) -> None:
        nonlocal kept, latest
        latest = state
        if time.monotonic() - kept > CHECKPOINT_SECONDS:
            save(state, checkpoint)
            kept = time.monotonic()

    try:
        with show_progress("EM", None) as show:
            result = learn_em(
                corpus,
                n_states,
                **options,
                seed=seed,
                callback=lambda e: show(_step_shown(e)),
                keep=keep,
                resume=resume,
            )
    except BaseException:  # interrupted, or out of memory: what was reached is kept
        if latest is not None:
            save(latest, checkpoint)
        raise
    Path(checkpoint).unlink(missing_ok=True)
    return result


def _start(name: str, corpus: Any) -> Any:
    """Return what EM starts from."""
    if name in ("random", "hmm", "left-to-right", "spectral"):
        return name
    if not Path(name).exists():
        raise click.BadParameter(
            f"{name!r} is neither random, hmm, left-to-right or spectral, nor a file that exists.", param_hint="--init"
        )
    from momata.io.automata import automaton_of

    wfa = automaton_of(load_model(name))[0]
    if not any(corpus.alphabet.find(symbol) is not None for symbol in wfa.alphabet):
        raise click.BadParameter(
            f"{name}: the model and the data have no symbol in common. Give a model of such data.", param_hint="--init"
        )
    return wfa.over(corpus.alphabet)


_LEARNERS: dict[str, Callable[[Any, dict[str, Any], int], Any]] = {
    "ngram": _learn_ngram, "spectral": _learn_spectral, "nonnegative": _learn_nonnegative, "residual": _learn_residual,
    "em": _learn_em,
}  # fmt: skip


def _report(result: Any, corpus: Any, out: str, seconds: dict[str, float], as_json: bool) -> None:
    order = result.model.training.get("order")
    found = {
        "method": result.method,
        "n_states": result.n_states,
        **({} if order is None else {"order": order}),
        "statistic": result.statistic,
        "status": result.status.name,
        "n_sequences": len(corpus),
        "n_tokens": corpus.n_tokens,
        "n_symbols": corpus.n_symbols,
        "seconds": seconds,
        "curve": result.curve,
        "model": out,
    }
    if result.singular_values is not None:
        found["singular_values"] = result.singular_values
    if result.trace:
        found["trace"] = result.trace
    if out == "-":
        return
    if as_json:
        print_json(found)
        return
    _print_curve(result)
    states = f"{result.n_states} {'contexts' if result.method == 'ngram' else 'states'}"
    name = result.method if order is None else f"{result.method} of order {order}"
    click.echo(f"{out}: {name}, {states}, {corpus.n_symbols} symbols; status {result.status.name}")
    if result.method != "ngram" and len(result.curve) > 1 and _at_edge(result.curve):
        click.echo(
            f"momata: the largest number of states that was tried, {result.curve[-1]['n_states']}, is the best. "
            "Raise --max-states to try more.", err=True,
        )  # fmt: skip
    if result.status.name != "OK":
        click.echo(f"momata: {result.status.name}: {result.status.value}", err=True)


def _at_edge(curve: list[dict[str, Any]]) -> bool:
    """Return whether the largest number of states was the best."""
    measure, sign = ("validation_wer", 1) if "validation_wer" in curve[0] else ("validation_log_prob", -1)
    best = min(curve, key=lambda e: sign * e[measure])
    return bool(best["n_states"] == max(e["n_states"] for e in curve))


_TITLES = {
    "order": "order", "n_states": "states", "statistic": "statistic", "basis": "basis", "scaling": "scaling",
    "validation_log_prob": "held-out log prob", "validation_wer": "held-out WER",
}  # fmt: skip
_MOST_ROWS = 15


def _print_curve(result: Any) -> None:
    """Print what was tried, the best rows if there are many."""
    if len(result.curve) < 2:
        return
    keys = [key for key in _TITLES if key in result.curve[0]]
    titles = [("contexts" if key == "n_states" and result.method == "ngram" else _TITLES[key]) for key in keys]
    measure, sign = ("validation_wer", 1) if "validation_wer" in keys else ("validation_log_prob", -1)
    rows = sorted(result.curve, key=lambda e: sign * e[measure])
    best, kept = rows[0], rows[:_MOST_ROWS] if len(rows) > _MOST_ROWS else result.curve
    print_table([[*(e[k] for k in keys), "*" if e is best else ""] for e in kept], [*titles, ""])
    if len(rows) > len(kept):
        click.echo(f"({len(rows) - len(kept)} more were tried)")
