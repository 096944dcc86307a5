"""Profiles: which ops a program calls, how often, and how long they take."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name

from .collector import record_function
from .events import EventList, FunctionEvent, FunctionEventAvg
from .profiles import profile
from .schedules import (
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    schedule,
    supported_activities,
)
from .traces import tensorboard_trace_handler

__all__ = [
    "EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerAction",
    "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
