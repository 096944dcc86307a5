"""Pipes of items one after another."""

from .batches import Batcher, Grouper, UnBatcher
from .branches import Demultiplexer, Forker
from .files import FileLister, FileOpener, StreamReader
from .items import Collator, Filter, IterableWrapper, Mapper
from .joined import Concater, Multiplexer, Zipper
from .order import Sampler, ShardingFilter, Shuffler

__all__ = [
    "Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener",
    "Filter", "Forker", "Grouper", "IterableWrapper", "Mapper", "Multiplexer",
    "Sampler", "ShardingFilter", "Shuffler", "StreamReader", "UnBatcher", "Zipper",
]  # fmt: skip
