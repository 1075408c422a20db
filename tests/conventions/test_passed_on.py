"""What a part has and its whole passes on."""

import inspect
from dataclasses import dataclass

import pytest

from dalembert.passed_on import PassedOn


class Engine:
    power = 3.0


@dataclass
class Car:
    engine: Engine

    power = PassedOn[float]("engine.power", "Of the engine (kW).")


def test_it_is_the_attribute_of_the_part():
    engine = Engine()
    car = Car(engine)
    assert car.power == 3.0
    engine.power = 5.0
    assert car.power == 5.0


def test_it_is_a_property_with_a_docstring():
    assert isinstance(Car.power, property)
    assert inspect.getdoc(Car.power) == "Of the engine (kW)."
    with pytest.raises(AttributeError):
        Car(Engine()).power = 1.0
