"""One fit of scikit-splearn, run by its own Python: ``python _splearn.py JOB.npz ANSWER.npz``, see `spectral.py`.

Its `Spectral.fit` counts, with lists of rows and columns, only strings that are themselves in the lists, so that most cells of
the block stay 0 (and searches the lists once a substring: 30 seconds on PAutomaC's problem 6). Here its three steps are called
one by one: count all substrings up to a length, fill the blocks of the lists, factorise. That is faster, and right.
"""

import sys
import time
from itertools import pairwise

import numpy as np
import scipy
import sklearn
import splearn
from splearn import Hankel, Spectral
from splearn.datasets.data_sample import SplearnArray

RUNS = 2
SETTINGS = {"sparse": (True, False), "dense": (False, True)}  # sparse, whole SVD; both are exact


def strings(tokens, offsets):
    return [tuple(map(int, tokens[low:high])) for low, high in pairwise(offsets)]


def padded(tokens, offsets):
    lengths = np.diff(offsets)
    rows = np.full((lengths.size, max(int(lengths.max()), 1)), -1.0)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = tokens
    return rows


def fit(data, basis, rank, sparse, whole_svd):
    longest = max(map(len, basis))
    options = {"version": "factor", "partial": True, "sparse": sparse, "mode_quiet": True}
    counted = Spectral(rank=rank, lrows=longest + 1, lcolumns=longest, **options).polulate_dictionnaries(data)
    hankel = Hankel(sample_instance=counted, lrows=basis, lcolumns=basis, full_svd_calculation=whole_svd, **options)
    return hankel, hankel.to_automaton(rank, mode_quiet=True)


def main():
    job = np.load(sys.argv[1])
    rows = padded(job["tokens"], job["offsets"])
    basis, asked = (strings(job[name], job[name + "_offsets"]) for name in ("basis", "asked"))
    answer = {}
    for name, setting in SETTINGS.items():
        seconds = []
        for _ in range(RUNS):
            data = SplearnArray(rows, nbL=int(job["n_symbols"]), nbEx=rows.shape[0])
            began = time.perf_counter()
            hankel, automaton = fit(data, basis, int(job["rank"]), *setting)
            seconds.append(time.perf_counter() - began)
        blocks = [block.toarray() if setting[0] else block for block in hankel.lhankel]
        answer["seconds_" + name] = min(seconds)
        answer["blocks_" + name] = np.array(blocks)  # H, then H_sigma for every symbol
        answer["values_" + name] = [automaton.val(string) for string in asked]
        answer["initial_" + name], answer["final_" + name] = automaton.initial, automaton.final
        answer["operators_" + name] = np.array(automaton.transitions)
    libraries = (("numpy", np), ("scipy", scipy), ("scikit-learn", sklearn), ("scikit-splearn", splearn))
    versions = ", ".join(f"{name} {library.__version__}" for name, library in libraries)
    np.savez(sys.argv[2], versions=f"Python {sys.version.split()[0]}, {versions}", **answer)


if __name__ == "__main__":
    main()
