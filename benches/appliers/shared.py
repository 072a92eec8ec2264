"""Shared by the steps: the corpus tools of `../guards`, names, and reproducible random numbers."""

import hashlib
import importlib.util
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GUARDS = os.path.join(os.path.dirname(HERE), "guards")
SEED = "edt-appliers-1"

sys.path.append(GUARDS)
import common  # noqa: E402

CASES = "cases.ndjson"
CONTEXT = 3


def changes():
    """`../guards/corpus.py`, as a module."""
    spec = importlib.util.spec_from_file_location("changes", os.path.join(GUARDS, "corpus.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(*words):
    """Random numbers that are the same in every run."""
    return random.Random(hashlib.sha256("\0".join([SEED, *words]).encode()).digest())
