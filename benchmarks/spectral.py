"""How long does the spectral learner take for every rank, beside scikit-splearn for one, and beside one SVD?

Research data are read from ``--data`` or MOMATA_DATA; without them, samples of random targets of about the same size stand in.
scikit-splearn needs numpy < 2, so it gets an environment of its own, ``.venv-splearn`` beside the project, made once.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _timing import announce, best_of, peak_resident
from scipy.sparse.linalg import svds

import momata as mo
from momata.core.basis import Basis, basis_from_counts
from momata.core.hankel import HankelBlocks, hankel_from_counts, scaled
from momata.core.linalg import truncated_svd
from momata.core.probabilistic import random_hmm, random_pfa
from momata.core.statistics import count_statistic
from momata.learn.factors import RankPath, rank_path

ENVIRONMENT = Path(__file__).parents[1] / ".venv-splearn"
MAX_LENGTH = 4
MAX_RANK, RANK = 40, 20  # every rank up to the first; scikit-splearn's one


def limit(value: float, most: float, unit: str = "") -> str:
    return f"(asked: at most {most:g}{unit}; {'met' if value <= most else 'MISSED'})"


# ------------------------------------------------------------------ samples


def sample_of(data: Path | None, path: str, tags: str, stand_in: Callable[[], mo.Corpus]) -> tuple[mo.Corpus, str]:
    """Return a corpus, and what to call it."""
    if data is not None and (data / path).exists():
        corpus, name = mo.read_corpus(data / path, tags=tags), path
    else:
        corpus, name = stand_in(), f"made up instead of {path}"
    return corpus, f"{name}: {len(corpus):,} sequences, {corpus.n_tokens:,} symbols over {corpus.n_symbols}"


def like_problem_6() -> mo.Corpus:
    target = random_pfa(n_states=19, n_symbols=6, seed=1, mean_length=15)
    return mo.LanguageModel(target).sample(20_000, seed=0)


def like_tags() -> mo.Corpus:
    target = random_hmm(n_states=45, n_symbols=48, seed=1, mean_length=24)
    return mo.LanguageModel(target.to_pfa()).sample(30_000, seed=0)


# ------------------------------------------------------------------ scikit-splearn


def newest_python() -> str | None:
    """Return the newest Python that runs and for which numpy < 2 has wheels."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in (12, 11):
        for python in (f"python3.{minor}", *sorted(map(str, versions.glob(f"3.{minor}*/bin/python"))), sys.executable):
            ask = [python, "-c", f"import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, {minor}))"]
            if shutil.which(python) and not subprocess.run(ask, capture_output=True, check=False).returncode:
                return python
    return None


def splearn_python() -> Path | None:
    """Return the Python of scikit-splearn's environment, made if need be; None where that cannot be."""
    python = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = ENVIRONMENT / "installed"
    if done.exists():
        return python
    base = newest_python()
    if base is None:
        print("  scikit-splearn left out: it needs numpy < 2, so Python 3.11 or 3.12, and neither is here")
        return None
    print(f"  making {ENVIRONMENT.name} for scikit-splearn (once)", flush=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    wheels = ["--only-binary", "numpy,scipy,scikit-learn"]
    for command in (
        [base, "-m", "venv", "--clear", ENVIRONMENT],
        [*pip, *wheels, "numpy<2", "scikit-learn", "scikit-splearn"],
    ):
        ran = subprocess.run([str(part) for part in command], capture_output=True, encoding="utf-8", check=False)
        if ran.returncode:
            print(f"  scikit-splearn left out, its environment cannot be made: {ran.stderr.strip()[-300:]}")
            return None
    done.touch()
    return python


def ask_splearn(python: Path, corpus: mo.Corpus, basis: Basis, asked: mo.Corpus) -> dict[str, np.ndarray]:
    """Fit one rank on the same basis in its environment, on one thread."""
    codes = basis.encode(corpus.alphabet)[0]
    job = {
        "tokens": corpus.tokens, "offsets": corpus.offsets, "n_symbols": corpus.n_symbols, "rank": RANK,
        "basis": codes.tokens, "basis_offsets": codes.offsets, "asked": asked.tokens, "asked_offsets": asked.offsets,
    }  # fmt: skip
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB")}
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "job.npz", Path(folder) / "answer.npz"
        np.savez(files[0], **job)
        script = Path(__file__).with_name("_splearn.py")
        subprocess.run([python, script, *files], env={**os.environ, **one_thread}, check=True)
        with np.load(files[1]) as answer:
            return dict(answer)


def check_splearn(theirs: dict[str, np.ndarray], blocks: HankelBlocks, wfa: mo.WFA, asked: mo.Corpus) -> None:
    """Assert that both filled the same blocks, and learned the same function."""
    ours = np.array([block.toarray() for block in (blocks.hankel, *blocks.hankel_sigma)])
    weights = mo.convert(wfa, to="string").weights(asked)
    for name in ("sparse", "dense"):
        counts = theirs["blocks_" + name]
        assert np.allclose(ours * blocks.n_sequences, counts, rtol=1e-12, atol=0), "scikit-splearn counts otherwise"
        arrays = (theirs[part + name] for part in ("initial_", "final_", "operators_"))
        again = mo.WFA(*arrays, wfa.alphabet).weights(asked)
        for values in (theirs["values_" + name], again):
            # Values run over many orders of magnitude; the smallest are sums of larger ones that cancel.
            assert np.allclose(weights, values, rtol=1e-6, atol=1e-12), "scikit-splearn and momata disagree"


# ------------------------------------------------------------------ ours


def blocks_of(corpus: mo.Corpus, spec: str | Basis) -> HankelBlocks:
    """Count, choose a basis, and fill the blocks."""
    counts = count_statistic(corpus, "substring", MAX_LENGTH, MAX_LENGTH)
    return hankel_from_counts(counts, basis_from_counts(counts, spec, MAX_LENGTH))


def every_rank(blocks: HankelBlocks, **options) -> tuple[RankPath, list[mo.WFA]]:
    path = rank_path(blocks, MAX_RANK, **options)
    return path, [path.automaton(n) for n in range(1, path.max_rank + 1)]


def one_rank(blocks: HankelBlocks, n: int) -> mo.WFA:
    """Learn a single rank, by the formulas written out."""
    d_p, d_s = blocks.weights("roots")
    U, s, V = truncated_svd(scaled(blocks.hankel, d_p, d_s), n)
    L, R = (U * d_p[:, None] / s).T, V * d_s[:, None]
    operators = [L @ (H_sigma @ R) for H_sigma in blocks.hankel_sigma]
    return mo.WFA(blocks.starts @ R, L @ blocks.h_p, operators, blocks.alphabet, "prefix")


# ------------------------------------------------------------------ questions


def one_problem(corpus: mo.Corpus) -> None:
    """Ask how the 300 most frequent strings of a small problem fare."""
    counts = count_statistic(corpus, "substring", MAX_LENGTH, MAX_LENGTH)
    chosen = basis_from_counts(counts, "top:300", MAX_LENGTH)
    # scikit-splearn sorts rows and columns by length, then by symbol; in the same order blocks can be compared.
    strings = sorted(chosen.prefixes, key=lambda p: (len(p), [corpus.alphabet.find(symbol) for symbol in p]))
    basis = Basis(tuple(strings), tuple(strings))
    asked = corpus[np.unique(np.linspace(0, len(corpus) - 1, 500).astype(int))]
    asked = asked[asked.lengths <= 30]

    python = splearn_python()
    one_fit = None
    if python is not None:
        options = {"scaling": "none", "ends": "lemma"}  # as scikit-splearn does it
        ours, _ = best_of(lambda: every_rank(blocks_of(corpus, "top:300"), **options), runs=10)
        blocks = blocks_of(corpus, basis)
        theirs = ask_splearn(python, corpus, basis, asked)
        check_splearn(theirs, blocks, every_rank(blocks, **options)[0].automaton(RANK), asked)
        print(f"  beside {theirs['versions']}")
        sparse, dense = float(theirs["seconds_sparse"]), float(theirs["seconds_dense"])
        one_fit = min(sparse, dense)
        ratio = ours / one_fit
        print(f"whole fit, every rank to {MAX_RANK}, as a share of scikit-splearn's rank {RANK} alone:")
        print(f"  of its faster setting (dense, whole SVD): {ratio:.4f}, or 1/{1 / ratio:.0f} {limit(ratio, 0.2)}")
        print(f"  of its default (sparse, ARPACK): {ours / sparse:.4f}, or 1/{sparse / ours:.0f}")

    blocks = blocks_of(corpus, basis)
    path_seconds, (_, automata) = best_of(lambda: every_rank(blocks), runs=20)
    one_seconds, _ = best_of(lambda: one_rank(blocks, MAX_RANK), runs=20)
    apart_seconds, apart = best_of(lambda: [one_rank(blocks, n) for n in range(1, MAX_RANK + 1)], runs=1)
    for one, alone in zip(automata, apart, strict=True):
        assert np.allclose(one.weights(asked), alone.weights(asked), rtol=1e-6, atol=1e-12), "ranks disagree"
    ratio = path_seconds / one_seconds
    print(f"rank path to {MAX_RANK}, as a multiple of rank {MAX_RANK} alone: {ratio:.2f} {limit(ratio, 2)}")
    print(f"  {MAX_RANK} ranks one by one, as a multiple of the rank path: {apart_seconds / path_seconds:.1f}")

    whole_seconds, result = best_of(lambda: mo.learn_spectral(corpus), runs=2)
    assert len(result.curve) == MAX_RANK and result.wfa.n_states == result.n_states
    print(
        f"learn_spectral by default ({MAX_RANK} sizes tried on held-out data, then all data; {result.n_states} states), "
        f"as a multiple of the whole fit of every rank to {MAX_RANK}: "
        f"{whole_seconds / best_of(lambda: every_rank(blocks_of(corpus, 'top:300')))[0]:.1f}"
    )
    if one_fit is not None:
        print(f"  as a multiple of one fit of scikit-splearn: {whole_seconds / one_fit:.2f}")


def check_cells(blocks: HankelBlocks, corpus: mo.Corpus, n_cells: int = 12) -> None:
    """Assert that cells drawn at random are what a regular expression counts in the text."""
    code = {symbol: chr(256 + i) for i, symbol in enumerate(corpus.alphabet)}
    letters = "".join(map(chr, 256 + corpus.tokens))
    text = "\n".join(letters[low:high] for low, high in zip(corpus.offsets, corpus.offsets[1:], strict=False))
    rng = np.random.default_rng(0)
    for block, middle in ((blocks.hankel, ()), (blocks.hankel_sigma[0], (corpus.alphabet[0],))):
        cells = block.tocoo()
        for i in rng.integers(0, cells.nnz, n_cells):
            p, s = blocks.basis.prefixes[cells.row[i]], blocks.basis.suffixes[cells.col[i]]
            string = "".join(code[symbol] for symbol in (*p, *middle, *s))
            n_found = len(re.findall(f"(?={re.escape(string)})", text)) if string else corpus.n_tokens + len(corpus)
            assert round(cells.data[i] * len(corpus)) == n_found, "a cell of the block is not what the text holds"


def large_block(corpus: mo.Corpus, size: int = 10_000, n_states: int = 100) -> None:
    """Ask how a large sparse block fares beside one SVD of it."""

    def fit() -> tuple[HankelBlocks, RankPath, mo.WFA]:
        blocks = blocks_of(corpus, f"top:{size}")
        path = rank_path(blocks, n_states)
        return blocks, path, path.automaton(n_states)

    seconds, (blocks, path, _) = best_of(fit, runs=2)
    check_cells(blocks, corpus)
    block = scaled(blocks.hankel, *blocks.weights("roots"))
    start = np.random.default_rng(1).standard_normal(min(block.shape))
    svds_seconds, (_, s, _) = best_of(lambda: svds(block, k=n_states, v0=start), runs=2)
    assert np.allclose(np.sort(s)[::-1], path.singular_values[:n_states], rtol=1e-8), "the singular values disagree"
    peak = peak_resident(fit)
    n_cells = blocks.hankel.nnz + sum(H_sigma.nnz for H_sigma in blocks.hankel_sigma)
    print(f"{blocks!r}, {n_cells:,} cells that are not 0, {n_states} states:")
    print(f"  whole fit, as a multiple of one svds of the same block: {seconds / svds_seconds:.2f}")
    print(f"  as a share of a minute: {seconds / 60:.3f} {limit(seconds / 60, 1)}")
    if peak is not None:
        print(f"  peak memory of the whole process: {peak / 2**30:.2f} GiB {limit(peak / 2**30, 4, ' GiB')}")
    whole_seconds, _ = best_of(lambda: mo.learn_spectral(corpus, n_states, basis=f"top:{size}"), runs=2)
    print(
        f"  learn_spectral, which holds data out and fits twice, as a multiple of one svds: {whole_seconds / svds_seconds:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of research data [default: MOMATA_DATA]")
    folder = parser.parse_args().data or os.environ.get("MOMATA_DATA") or None
    data = None if folder is None else Path(folder)
    if data is not None and not data.is_dir():
        sys.exit(f"{data} is not a folder")
    announce("the spectral learner beside scikit-splearn and beside one SVD; one thread each, reading excluded")
    if data is None:
        print("  no research data: name their folder with --data or MOMATA_DATA; made-up samples stand in")
    with mo.limit_threads(1):
        for ask, *where in (
            (one_problem, "pautomac/6.pautomac.train", "xpos", like_problem_6),
            (large_block, "ontonotes_wsj/wsj_02-21.conllx.gz", "column:5", like_tags),
        ):
            corpus, name = sample_of(data, *where)
            print(f"-- {name}")
            ask(corpus)


if __name__ == "__main__":
    main()
