"""Loads and stores as LLVM IR, of one element or of one a lane."""

from __future__ import annotations

from dovetail.codegen.ir import SIZES, Buffer, Store, Value
from dovetail.codegen.llvm_lanes import TYPES
from dovetail.codegen.llvm_values import ValueWriter


class MemoryWriter(ValueWriter):
    """Writes what is read of buffers, and what is written to them."""

    def loaded(self, value: Value, vector: bool) -> str:
        buffer: Buffer = value.detail
        kind = _in_memory(buffer.dtype)
        name = self._loaded(buffer, kind, value.operands[0], vector)
        if buffer.dtype != "bool":
            return name
        whole = self.of_lanes(kind) if vector else kind
        zero = "zeroinitializer" if vector else "0"
        return self.assign(f"icmp ne {whole} {name}, {zero}")

    def _loaded(self, buffer: Buffer, kind: str, offset: Value, vector: bool) -> str:
        align = _align(buffer)
        if not vector:
            place = self._place(buffer, kind, self.value(offset, False))
            return self.assign(f"load {kind}, ptr {place}, align {align}")
        assert self.lanes is not None
        mask, stride = self.lanes.mask, self.stride(offset)
        if stride == -1 and mask is None:
            first = self.assign(f"sub i64 {self.base(offset)}, {self.lanes.width - 1}")
            return self._reversed(self._side_by_side(buffer, kind, first, None), kind)
        if stride != 1:
            return self._gathered(buffer, kind, offset)
        return self._side_by_side(buffer, kind, self.base(offset), mask)

    def _reversed(self, name: str, kind: str) -> str:
        """A vector from its last lane to its first."""
        assert self.lanes is not None
        whole = self.of_lanes(kind)
        order = ", ".join(f"i32 {i}" for i in reversed(range(self.lanes.width)))
        turned = f"{self.of_lanes('i32')} <{order}>"
        return self.assign(f"shufflevector {whole} {name}, {whole} poison, {turned}")

    def _side_by_side(
        self, buffer: Buffer, kind: str, first: str, mask: str | None
    ) -> str:
        """Elements from `first` on, one a lane; zeros where the mask does not hold."""
        assert self.lanes is not None
        whole, bools = self.of_lanes(kind), self.of_lanes("i1")
        align = _align(buffer)
        place = self._place(buffer, kind, first)
        if mask is None:
            return self.assign(f"load {whole}, ptr {place}, align {align}")
        name = f"llvm.masked.load.v{self.lanes.width}{_short(kind)}.p0"
        called = self.intrinsic(name, whole, "ptr", "i32", bools, whole)
        given = f"ptr {place}, i32 {align}, {bools} {mask}, {whole} zeroinitializer"
        return self.assign(f"call {whole} {called}({given})")

    def _gathered(self, buffer: Buffer, kind: str, offset: Value) -> str:
        """One element a lane, each from its own place."""
        assert self.lanes is not None
        whole, bools = self.of_lanes(kind), self.of_lanes("i1")
        places = self._places(buffer, kind, offset)
        mask = self.lanes.mask or "splat (i1 true)"
        pointers = self.of_lanes("ptr")
        width = self.lanes.width
        name = f"llvm.masked.gather.v{width}{_short(kind)}.v{width}p0"
        called = self.intrinsic(name, whole, pointers, "i32", bools, whole)
        given = f"{pointers} {places}, i32 {SIZES[buffer.dtype]}, {bools} {mask}"
        return self.assign(f"call {whole} {called}({given}, {whole} zeroinitializer)")

    def _place(self, buffer: Buffer, kind: str, offset: str) -> str:
        return self.assign(f"getelementptr {kind}, ptr %{buffer.name}, i64 {offset}")

    def _places(self, buffer: Buffer, kind: str, offset: Value) -> str:
        steps = f"{self.of_lanes('i64')} {self.value(offset, True)}"
        return self.assign(f"getelementptr {kind}, ptr %{buffer.name}, {steps}")

    def store(self, store: Store) -> None:
        """Write a value to its place, or one a lane."""
        buffer, dtype = store.buffer, store.buffer.dtype
        vector = self.varies(store.offset)
        assert vector or not self.varies(store.value)
        name, kind = self.value(store.value, vector), _in_memory(dtype)
        if dtype == "bool":
            before = self.type_of("bool", vector)
            after = self.of_lanes(kind) if vector else kind
            name = self.assign(f"zext {before} {name} to {after}")
        if not vector:
            place = self._place(buffer, kind, self.value(store.offset, False))
            self.emit(f"store {kind} {name}, ptr {place}, align {_align(buffer)}")
            return
        self._store_lanes(store, kind, name)

    def _store_lanes(self, store: Store, kind: str, name: str) -> None:
        assert self.lanes is not None
        assert self.stride(store.offset) == 1, "lanes store side by side"
        whole, align = self.of_lanes(kind), _align(store.buffer)
        place = self._place(store.buffer, kind, self.base(store.offset))
        if self.lanes.mask is None:
            self.emit(f"store {whole} {name}, ptr {place}, align {align}")
            return
        bools = self.of_lanes("i1")
        function = f"llvm.masked.store.v{self.lanes.width}{_short(kind)}.p0"
        called = self.intrinsic(function, "void", whole, "ptr", "i32", bools)
        mask = self.lanes.mask
        given = f"{whole} {name}, ptr {place}, i32 {align}, {bools} {mask}"
        self.emit(f"call void {called}({given})")


def _align(buffer: Buffer) -> int:
    return buffer.align or SIZES[buffer.dtype]


def _in_memory(dtype: str) -> str:
    return "i8" if dtype == "bool" else TYPES[dtype]


def _short(kind: str) -> str:
    return {"float": "f32", "double": "f64"}.get(kind, kind)
