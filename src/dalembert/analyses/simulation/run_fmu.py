"""An FMU for Co-Simulation as it runs: loaded by FMPy, set, stepped, read. FMI 2 and 3."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError, SimulationError
from dalembert.model.fmu_data import FMUElement

__all__ = ["RunningFMU"]

_NUMBERS = {"Real", "Float64"}


class RunningFMU:
    """One instance. Its machine code is loaded here; close it after use.

    Args:
        given: the element of the model.
        inputs: values of its inputs at the start, by variable.
    """

    def __init__(self, given: FMUElement, start: float, end: float):
        self.given, self.name, path = given, given.name, Path(given.file)
        try:
            import fmpy
        except ImportError:
            raise DalembertError(f"fmu {self.name!r}: FMPy runs FMUs.  Fix: pip install 'dalembert[fmu]'") from None
        if not path.is_file():
            raise DalembertError(f"fmu {self.name!r}: there is no file {given.file!r}; relative paths start at "
                                 f"{str(Path.cwd())!r}")  # fmt: skip
        self._folder = self._unit = None
        try:
            self.description: Any = fmpy.read_model_description(str(path))
            self._check()
            self._folder = fmpy.extract(str(path))
            kind: Any = "CoSimulation"
            self._unit: Any = fmpy.instantiate_fmu(self._folder, self.description, fmi_type=kind)
        except DalembertError:
            raise
        except Exception as error:  # whatever FMPy and what it loads may raise
            self.close()
            raise DalembertError(f"fmu {self.name!r}: {given.file!r} cannot be loaded: {error}") from error
        self.new = str(self.description.fmiVersion).startswith("3")
        self._start, self._end = start, end

    def _check(self) -> None:
        """Every variable that is named must be there, and be a number."""
        if self.description.coSimulation is None:
            raise DalembertError(f"fmu {self.name!r}: is for Model Exchange only; an element of a model must be for "
                                 "Co-Simulation")  # fmt: skip
        known = {one.name: one for one in self.description.modelVariables}
        for what, names in (("input", self.given.inputs), ("output", self.given.outputs.values()),
                            ("start", self.given.start)):  # fmt: skip
            for name in names:
                if name not in known:
                    most = [one for one, v in known.items() if what == "start" or v.causality == what][:10]
                    raise DalembertError(f"fmu {self.name!r}: has no variable {name!r}; its {what} variables are "
                                         f"{', '.join(most) or 'none'}")  # fmt: skip
                if known[name].type not in _NUMBERS or getattr(known[name], "dimensions", None):
                    raise DalembertError(f"fmu {self.name!r}: variable {name!r} is not a single real number, but "
                                         f"{known[name].type}")  # fmt: skip
                if what == "input" and known[name].causality != "input":
                    raise DalembertError(
                        f"fmu {self.name!r}: variable {name!r} is not an input, but {known[name].causality}"
                    )
        self._number = {name: one.valueReference for name, one in known.items()}

    def _call(self, what: str, *args: Any, **more: Any) -> Any:
        try:
            return getattr(self._unit, what)(*args, **more)
        except Exception as error:  # FMPy raises for every status but OK
            raise SimulationError(f"fmu {self.name!r}: {what} failed: {error}") from error

    def begin(self, inputs: Mapping[str, float]) -> dict[str, float]:
        """Initialize with these inputs; returns the outputs by input of the model."""
        if self.new:
            self.write(self.given.start)
            self._call("enterInitializationMode", startTime=self._start, stopTime=self._end)
        else:
            self._call("setupExperiment", startTime=self._start, stopTime=self._end)
            self.write(self.given.start)
            self._call("enterInitializationMode")
        self.write(inputs)
        self._call("exitInitializationMode")
        return self.read()

    def write(self, values: Mapping[str, float]) -> None:
        if values:
            numbers = [self._number[name] for name in values]
            self._call("setFloat64" if self.new else "setReal", numbers, [float(v) for v in values.values()])

    def read(self) -> dict[str, float]:
        """Outputs, by the input of the model that follows each."""
        if not self.given.outputs:
            return {}
        numbers = [self._number[name] for name in self.given.outputs.values()]
        found = self._call("getFloat64" if self.new else "getReal", numbers)
        return dict(zip(self.given.outputs, map(float, found), strict=True))

    def step(self, time: float, length: float) -> None:
        """Go on for a while with the inputs as they are."""
        done = self._call("doStep", currentCommunicationPoint=time, communicationStepSize=length)
        if self.new and done is not None:
            _, terminate, early, _ = done
            if terminate or early:
                raise SimulationError(f"fmu {self.name!r}: ended its run at t = {time:.6g} s by itself")

    def close(self) -> None:
        """Let go of the instance and of its files."""
        try:
            if self._unit is not None:
                self._unit.terminate()
                self._unit.freeInstance()
        except Exception:  # nothing depends on how it ends
            pass
        self._unit = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
