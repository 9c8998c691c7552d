"""How long does an iteration of EM take beside hmmlearn's, beside np.dot, and beside a spectral fit?

Research data are read from ``--data`` or MOMATA_DATA; without them, samples of random targets of about the same size stand in.
hmmlearn has no stopping, so it gets the same strings with an end symbol. It is slow at 64 states: there both sides get a tenth of
the strings, unless ``--full``. Times are CPU seconds on one thread, best of several runs.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _timing import announce, best_of

import momata as mo
from momata.core.basis import basis_from_counts
from momata.core.counting import count_prefixes
from momata.core.expectation import expect, log_likelihood
from momata.core.hankel import hankel_from_counts
from momata.core.plan import WalkPlan, plan_walk
from momata.core.probabilistic import HMM, PFA, random_hmm, random_pfa
from momata.core.statistics import count_statistic
from momata.learn.em_step import EMStep, event_shares, random_start
from momata.learn.factors import rank_path

N_STATES = 20  # of fits, and beside the spectral method
FASTER = {"problem 6": 120.0, "problem 33": 80.0}  # times as fast as hmmlearn, at 20 and 64 states
CHUNK = 256  # rows of a product in the kernel


def at_least(value: float, least: float, unit: str = "") -> str:
    return f"(asked: at least {least:g}{unit}; {'met' if value >= least else 'MISSED'})"


def at_most(value: float, most: float) -> str:
    return f"(asked: at most {most:g}; {'met' if value <= most else 'MISSED'})"


def cpu_of(function: Callable[[], Any], runs: int = 5) -> tuple[float, Any]:
    """Return the least CPU time of several runs, and the last answer."""
    least, answer = np.inf, None
    for _ in range(runs):
        answer = None
        gc.collect()
        began = time.process_time()
        answer = function()
        least = min(least, time.process_time() - began)
    return least, answer


# ------------------------------------------------------------------ samples


def sample_of(data: Path | None, number: int) -> tuple[mo.Corpus, str]:
    """Return the training strings of a PAutomaC problem, or a stand-in, and what to call them."""
    path = None if data is None else data / f"pautomac/{number}.pautomac.train"
    if path is not None and path.exists():
        corpus, name = mo.read_corpus(path), f"problem {number}"
    else:
        if number == 6:
            target = random_pfa(n_states=19, n_symbols=6, seed=1, sparsity=0.95, mean_length=7)
        else:
            target = random_hmm(n_states=13, n_symbols=15, seed=1, sparsity=0.95, mean_length=7).to_pfa()
        corpus, name = mo.LanguageModel(target).sample(20_000, seed=0), f"made up instead of problem {number}"
    return corpus, f"{name}: {len(corpus):,} strings, {corpus.n_tokens:,} symbols over {corpus.n_symbols}"


def start_for(corpus: mo.Corpus, n_states: int) -> PFA:
    """Return an automaton that is an HMM too, so that hmmlearn can start from it."""
    return random_start("hmm", n_states, corpus.alphabet, event_shares(corpus), np.random.default_rng(0))


# ------------------------------------------------------------------ hmmlearn


def rival(pfa: PFA, implementation: str) -> Any:
    """Return the same HMM without stopping: the end is one more symbol."""
    from hmmlearn.hmm import CategoricalHMM

    hmm = HMM.of(pfa)
    assert hmm is not None
    found = CategoricalHMM(hmm.n_states, n_iter=1, tol=-np.inf, init_params="", implementation=implementation)
    found.startprob_, found.transmat_ = hmm.initial, hmm.transitions
    found.emissionprob_ = np.column_stack([hmm.emissions, hmm.stopping])
    found.n_features = pfa.n_symbols + 1
    return found


def beside_hmmlearn(corpus: mo.Corpus, n_states: int, asked: float) -> None:
    pfa = start_for(corpus, n_states)
    last = np.insert(corpus.tokens, corpus.offsets[1:], corpus.n_symbols)[:, None]
    lengths = corpus.lengths + 1
    plan, step = plan_walk(count_prefixes(corpus)), EMStep(event_shares(corpus), tied=True)
    step(plan, pfa)  # compiled
    ours, (after, logp) = cpu_of(lambda: step(plan, pfa))
    for implementation in ("log", "scaling"):  # its default, and one that is faster
        theirs = np.inf
        for _ in range(1 if implementation == "log" else 2):
            other = rival(pfa, implementation)
            seconds, _ = cpu_of(lambda m=other: m.fit(last, lengths), runs=1)
            theirs = min(theirs, seconds)
        assert np.isclose(other.monitor_.history[-1], logp, rtol=1e-9), "hmmlearn and momata disagree"
        transitions = after.total / after.total.sum(axis=1, keepdims=True)
        assert np.allclose(transitions, other.transmat_, rtol=1e-6, atol=1e-9), "hmmlearn and momata step elsewhere"
        verdict = at_least(theirs / ours, asked) if implementation == "log" else "(not its default)"
        print(
            f"  {n_states} states, hmmlearn's {implementation!r} recursion: {theirs / ours:.0f} times as fast {verdict}"
        )


# ------------------------------------------------------------------ np.dot


def products_of(plan: WalkPlan) -> list[int]:
    """Return the numbers of rows that the kernel multiplies at once."""
    rows = []
    for block in plan.blocks:
        for _, start, leaf, _ in block.groups.tolist():
            rows += [min(CHUNK, leaf - low) for low in range(start, leaf, CHUNK)]
    return rows


def beside_dot(plan: WalkPlan, pfa: PFA) -> None:
    """Ask what share of the flop rate of np.dot an expectation step has: three products a node that is no leaf."""
    n, rows = pfa.n_states, products_of(plan)
    rng = np.random.default_rng(0)
    left, right, square = rng.random((CHUNK, n)), rng.random((CHUNK, n)), rng.random((n, n))
    out, total = np.empty((CHUNK, n)), np.empty((n, n))

    def products(sizes: list[int]) -> None:
        for size in sizes:
            np.dot(left[:size], square, out[:size])
            np.dot(left[:size], square, out[:size])
            np.dot(left[:size].T, right[:size], total)

    expect(plan, pfa)
    ours, found = cpu_of(lambda: expect(plan, pfa))
    assert np.isclose(found.operators.sum() + found.final.sum(), plan.n_events, rtol=1e-9), "events are lost"
    same, _ = cpu_of(lambda: products(rows))
    whole, _ = cpu_of(lambda: products([CHUNK] * (sum(rows) // CHUNK)))
    flops = 6.0 * sum(rows) * n * n
    share = 100 * same / ours
    asked = at_least(share, 40, " %") if n >= 64 else ""
    print(
        f"  {n} states, {sum(rows):,} rows in {len(rows):,} products: {share:.0f} % of np.dot on the same shapes {asked}"
    )
    print(f"    {100 * whole / ours:.0f} % of np.dot on {CHUNK} rows each ({flops / whole / 1e9:.1f} Gflop/s there)")


# ------------------------------------------------------------------ questions


def ten_times(corpus: mo.Corpus) -> None:
    pfa, step = start_for(corpus, N_STATES), EMStep(event_shares(corpus))
    repeated = mo.Corpus.concatenate([corpus] * 10)
    plan_seconds, plan = cpu_of(lambda: plan_walk(count_prefixes(corpus)))
    many = plan_walk(count_prefixes(repeated))
    step(plan, pfa)
    once, (after, logp) = cpu_of(lambda: step(plan, pfa))
    often, (again, logp_often) = cpu_of(lambda: step(many, pfa))
    assert np.isclose(10 * logp, logp_often, rtol=1e-12) and np.allclose(after.operators, again.operators, rtol=1e-9)
    print(
        f"corpus ten times over, {N_STATES} states, as a multiple of once: {often / once:.2f} {at_most(often / once, 1.3)}"
    )
    print(f"counting and planning, as a multiple of one iteration: {plan_seconds / once:.2f}")


def precision_and_threads(plan: WalkPlan, corpus: mo.Corpus) -> None:
    for n in (N_STATES, 64):
        pfa = start_for(corpus, n)
        expect(plan, pfa, "float32")
        exact, found = cpu_of(lambda p=pfa: expect(plan, p))
        rough, fast = cpu_of(lambda p=pfa: expect(plan, p, "float32"))
        assert np.isclose(found.log_likelihood, fast.log_likelihood, rtol=1e-5), "float32 is too rough"
        one, _ = best_of(lambda p=pfa: expect(plan, p))
        with mo.limit_threads(2):
            two, other = best_of(lambda p=pfa: expect(plan, p))
        assert np.array_equal(found.operators, other.operators), "threads change the result"
        print(
            f"{n} states: float32 {exact / rough:.2f} times as fast; two threads {one / two:.2f} times as fast as one (wall)"
        )


def beside_spectral(plan: WalkPlan, corpus: mo.Corpus) -> None:
    def spectral() -> mo.WFA:
        counts = count_statistic(corpus, "substring", 4, 4)
        return rank_path(hankel_from_counts(counts, basis_from_counts(counts, "top:400", 4)), N_STATES).automaton(
            N_STATES
        )

    pfa, step = start_for(corpus, N_STATES), EMStep(event_shares(corpus))
    iteration, _ = cpu_of(lambda: step(plan, pfa))
    alone, wfa = cpu_of(spectral, runs=3)
    assert wfa.n_states == N_STATES
    print(f"one iteration, as a multiple of one spectral fit of {N_STATES} states: {iteration / alone:.2f}")
    em, by_em = cpu_of(lambda: mo.learn_em(corpus, N_STATES), runs=1)
    moments, by_moments = cpu_of(lambda: mo.learn_spectral(corpus, N_STATES), runs=2)
    polished, by_both = cpu_of(lambda: mo.learn_spectral(corpus, N_STATES, polish=20), runs=1)
    n_steps = len(by_em.trace)
    print(
        f"learn_em by default ({n_steps} iterations in all), as a multiple of that one spectral fit: {em / alone:.0f}"
    )
    print(f"  as a multiple of learn_spectral, which holds data out and fits twice: {em / moments:.0f}")
    print(f"  learn_spectral with --polish 20, as a multiple of it without: {polished / moments:.0f}")
    events = plan.n_events
    scores = {"EM": by_em, "spectral": by_moments, "spectral, polished": by_both}
    shown = ", ".join(f"{k} {np.exp(-r.model.log_prob(corpus).sum() / events):.4f}" for k, r in scores.items())
    print(f"  perplexity per event on the training strings: {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of research data [default: MOMATA_DATA]")
    parser.add_argument("--full", action="store_true", help="give hmmlearn all strings at 64 states too")
    given = parser.parse_args()
    folder = given.data or os.environ.get("MOMATA_DATA") or None
    data = None if folder is None else Path(folder)
    if data is not None and not data.is_dir():
        sys.exit(f"{data} is not a folder")
    try:
        import hmmlearn
    except ImportError:
        hmmlearn = None
    announce("EM beside hmmlearn, np.dot and the spectral learner; one thread each, reading excluded")
    if data is None:
        print("  no research data: name their folder with --data or MOMATA_DATA; made-up samples stand in")
    if hmmlearn is None:
        print("  hmmlearn left out, it is not installed: pip install hmmlearn")
    with mo.limit_threads(1):
        for number in (6, 33):
            corpus, name = sample_of(data, number)
            tree = count_prefixes(corpus)
            plan = plan_walk(tree)
            print(f"-- {name}, {tree.n_nodes:,} nodes")
            check_likelihood(plan, corpus)
            if hmmlearn is not None:
                beside_hmmlearn(corpus, 20, FASTER[f"problem {number}"])
                few = corpus if given.full else corpus[: len(corpus) // 10]
                nodes = count_prefixes(few).n_nodes
                print(
                    f"  {len(few):,} strings for both ({few.n_tokens:,} symbols, {nodes:,} nodes; fewer strings share less):"
                )
                beside_hmmlearn(few, 64, FASTER[f"problem {number}"])
            print("share of the flop rate of np.dot:")
            for n in (20, 64, 128):
                beside_dot(plan, start_for(corpus, n))
            ten_times(corpus)
            precision_and_threads(plan, corpus)
            beside_spectral(plan, corpus)


def check_likelihood(plan: WalkPlan, corpus: mo.Corpus) -> None:
    """Assert that the likelihood is that of scoring, which shares no code with it."""
    pfa = start_for(corpus, N_STATES)
    scored = mo.LanguageModel(pfa).log_prob(corpus).sum()
    assert np.isclose(log_likelihood(plan, pfa), scored, rtol=1e-10), "the likelihood is not what scoring says"


if __name__ == "__main__":
    main()
