"""Learn weighted automata, and their relatives for pairs and trees, by the method of moments; finish by likelihood.

Public names load on first use, so that ``import momata`` costs next to nothing.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

__version__ = "0.1.0.dev0"

_HOMES = {
    "momata.core.alphabet": ("STOP", "UNKNOWN", "Alphabet", "UnknownPolicy"),
    "momata.core.basis": ("Basis", "select_basis"),
    "momata.core.corpus": ("Corpus",),
    "momata.core.counting": ("count_prefixes", "count_substrings"),
    "momata.core.tree": ("CountedTree",),
    "momata.core.algebra": (
        "approximate",
        "basis_between",
        "counterexample",
        "distance",
        "equivalent",
        "gramians",
        "inner_product",
        "minimise",
        "norm",
        "singular_value_automaton",
    ),
    "momata.core.hankel": ("HankelBlocks", "estimate_hankel", "exact_blocks", "hankel_from_table", "noise_level"),
    "momata.core.nnls": ("nnls",),
    "momata.core.probabilistic": ("HMM", "PFA", "normalise", "random_hmm", "random_pdfa", "random_pfa"),
    "momata.core.wfa": ("WFA", "convert"),
    "momata.errors": (
        "AlphabetError",
        "BasisError",
        "DataError",
        "FormatError",
        "ModelFileError",
        "MomataError",
        "OptionError",
    ),
    "momata.estimators": ("EMLearner", "NGramLearner", "NonNegativeLearner", "ResidualLearner", "SpectralLearner"),
    "momata.io": (
        "from_hmmlearn",
        "load",
        "read_corpus",
        "read_events",
        "read_model",
        "save",
        "to_hmmlearn",
        "write_corpus",
        "write_model",
    ),
    "momata.learn.em": ("learn_em", "learn_online", "polish"),
    "momata.learn.factors": ("RankPath", "automaton_of_factors", "rank_path"),
    "momata.learn.ngram": ("learn_ngram",),
    "momata.learn.nonnegative": ("learn_nonnegative", "learn_residual"),
    "momata.learn.result": ("FitResult", "Status"),
    "momata.learn.spectral": ("learn_spectral",),
    "momata.predict.automaton_model": ("choose_share",),
    "momata.predict.decode": ("infill", "likeliest_strings", "posteriors", "viterbi"),
    "momata.predict.divergence": ("compare_models", "entropy", "kl_divergence", "l2_distance", "total_variation"),
    "momata.predict.language_model": ("LanguageModel",),
    "momata.predict.metrics": ("evaluate", "ndcg"),
    "momata.predict.ngram_model": ("NGramModel",),
    "momata.report.curves": ("curve_plot", "write_curve"),
    "momata.threads": ("limit_threads",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # pyright: ignore[reportUnsupportedDunderAll]

logging.getLogger("momata").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'momata' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
