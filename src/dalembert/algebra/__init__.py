"""One text of mechanics, several scalars.

All mechanics is written against :class:`Algebra`: vectors and matrices are NumPy arrays whose elements are the
algebra's scalars, so ``R.T @ p`` reads and works the same for every algebra.

    NUMPY     floats              the oracle: slow, plain, for tests and debugging
    sympy     SymPy expressions   to read
    casadi    CasADi SX scalars   to run: traced once, compiled to machine code
    Jets(al)  (x, ẋ, ẍ) over al   first and second time derivatives of anything written over the algebra
"""

from dalembert.algebra.base import Algebra, get_algebra
from dalembert.algebra.jet import Jet, Jets
from dalembert.algebra.numpy_algebra import NUMPY

__all__ = ["NUMPY", "Algebra", "Jet", "Jets", "get_algebra"]
