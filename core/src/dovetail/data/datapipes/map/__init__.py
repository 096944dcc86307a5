"""Pipes of items by number or key."""

from .items import Batcher, Concater, Mapper, SequenceWrapper, Shuffler, Zipper

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
