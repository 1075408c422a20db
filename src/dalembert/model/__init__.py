"""The model: pure data, and the same data flattened and placed in an algebra."""

from dalembert.joints import CustomMotion, JointData
from dalembert.model.data import Body, Event, Output, Shape, SubModel
from dalembert.model.flatten import Flat, flatten
from dalembert.model.mechanism import Mechanism
from dalembert.model.model import Model, model_of
from dalembert.model.system import System

__all__ = [
    "Body", "CustomMotion", "Event", "Flat", "JointData", "Mechanism", "Model", "Output", "Shape", "SubModel",
    "System", "flatten", "model_of",
]  # fmt: skip
