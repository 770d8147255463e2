"""The errors and warnings of pfn: each says which object, what was expected, what was found, and what to do."""

import os
import sys
import warnings
from pathlib import Path


class PfnError(Exception):
    """Any error that pfn raises on purpose."""


class DeclarationError(PfnError):
    """A network, or a part of one, that cannot be declared so."""


class DataError(PfnError):
    """Values (observations, starting values, weights) that do not fit the network."""


class OptionError(PfnError):
    """An option with a value that it cannot take, or options that do not go together."""


class FileError(PfnError):
    """A file that cannot be read or written as asked."""


class NoExactSolution(PfnError):
    """The equations cannot hold exactly with these observations."""


class NumericalError(PfnError):
    """A run whose values became infinite or undefined."""


class NotSettledWarning(UserWarning):
    """A run that ended where values may be far from right: its divergence still fell, rose, or could be far lower."""


class RunawayWarning(UserWarning):
    """Hidden values that ended far above all observations of their variable."""


def warn_user(warning: Warning) -> None:
    """Issue a warning that points at the line outside of this package that led here."""
    package = f"{Path(__file__).parent}{os.sep}"
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
