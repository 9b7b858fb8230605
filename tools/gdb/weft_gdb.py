"""Shows Weft's tensors, shapes and specs in gdb.

    (gdb) source weft_gdb.py
    (gdb) print x
    $1 = f32[2,3] {1, 2, 3, 4, 5, 6}

Reads memory only, so it works on core files, and needs no debug information of the library itself: the library describes the layout of
its nodes in weft::v0::kNodeLayout.
"""
import struct

import gdb
import gdb.printing

SHOWN = 12  # elements of a tensor
# name, size, struct code; in the order of weft::DType. 16-bit floats are decoded below.
DTYPES = [("f32", 4, "f"), ("f64", 8, "d"), ("f16", 2, "e"), ("bf16", 2, None), ("i8", 1, "b"), ("i16", 2, "h"), ("i32", 4, "i"), ("i64", 8, "q"),
          ("u8", 1, "B"), ("u16", 2, "H"), ("u32", 4, "I"), ("u64", 8, "Q"), ("bool", 1, "?")]


def read(address, code):
    raw = gdb.selected_inferior().read_memory(address, struct.calcsize(code))
    return struct.unpack("<" + code, raw)[0]


def sizes_text(sizes):
    return "[" + ",".join("?" if size < 0 else str(size) for size in sizes) + "]"


def layout():
    address = int(gdb.parse_and_eval("(long)&'weft::v0::kNodeLayout'"))
    return [read(address + 4 * i, "i") for i in range(5)]


def element(address, dtype):
    _, _, code = DTYPES[dtype]
    if code is None:
        return struct.unpack("<f", struct.pack("<I", read(address, "H") << 16))[0]
    return read(address, code)


def element_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "%.7g" % value if isinstance(value, float) else str(value)


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        node = int(self.value["node_"])
        if node == 0:
            return "<empty>"
        dtype_at, sizes_at, rank_at, data_at, symbolic_at = layout()
        dtype = read(node + dtype_at, "B")
        sizes_pointer = read(node + sizes_at, "Q")
        rank = read(node + rank_at, "I")
        sizes = [read(sizes_pointer + 8 * i, "q") for i in range(rank)]
        name, size, _ = DTYPES[dtype]
        text = name + sizes_text(sizes)
        if read(node + symbolic_at, "?"):
            return text + " <symbolic>"
        count = 1
        for s in sizes:
            count *= s
        data = read(node + data_at, "Q")
        shown = [element_text(element(data + size * i, dtype)) for i in range(min(count, SHOWN))]
        if count > SHOWN:
            shown.append("...")
        return text + " {" + ", ".join(shown) + "}"


def shape_sizes(value):
    vector = value["sizes_"]
    return [int(vector["data_"][i]) for i in range(int(vector["size_"]))]


class ShapePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return sizes_text(shape_sizes(self.value))


class SpecPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return DTYPES[int(self.value["dtype"])][0] + sizes_text(shape_sizes(self.value["shape"]))


def build():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("weft")
    printers.add_printer("Tensor", r"^weft::(v0::)?Tensor$", TensorPrinter)
    printers.add_printer("Shape", r"^weft::(v0::)?Shape$", ShapePrinter)
    printers.add_printer("Spec", r"^weft::(v0::)?Spec$", SpecPrinter)
    return printers


gdb.printing.register_pretty_printer(gdb.current_objfile(), build(), replace=True)
