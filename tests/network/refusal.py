"""How the tests of declarations say what is refused, and in which words."""

import re
from contextlib import AbstractContextManager

import pytest

from pfn import DeclarationError, PfnError


def refused(message: str, error: type[PfnError] = DeclarationError) -> AbstractContextManager[object]:
    """Expect an error with exactly this message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")
