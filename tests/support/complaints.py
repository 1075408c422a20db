"""What a model says about a mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dalembert as da

__all__ = ["complaint"]


def complaint(model: da.Model, change: Callable[[da.Model], Any]) -> str:
    """The message of a model that a change has made wrong."""
    change(model)
    with pytest.raises(da.ModelError) as caught:
        model.validate()
    return str(caught.value)
