"""Kernels, copies, memsets and graphs of an export: what the devices did."""

from collections.abc import Callable
from operator import attrgetter

from mla_var3 import conf
from mla_var3.core.timeline import Operation, Shape
from mla_var3.measure.ncu_reader.names import short_name
from mla_var3.measure.nsys_reader.database import Row
from mla_var3.measure.nsys_reader.gather import Gathered, whole
from mla_var3.measure.nsys_reader.host import CallIndex

_PLACE = ("deviceId", "contextId", "streamId", "globalPid")
_TIMED = ("start", "end", "correlationId")
_KERNEL = (
    *("shortName", "demangledName", "mangledName", "gridX", "gridY", "gridZ"),
    *("blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory"),
    *("dynamicSharedMemory", "localMemoryPerThread"),
)
_COPY = ("copyKind",)
_OTHER = ("bytes", "graphNodeId")
NAMELESS = "unnamed"

ShapeOf = Callable[[Gathered, Row], int]


def read_operations(into: Gathered, calls: CallIndex) -> tuple[Operation, ...]:
    """All operations by start. A row without a possible time is left out and counted.

    An operation belongs to the call of its correlation id in its own process.
    """
    found = [
        *_read(into, calls, "kernel", (_KERNEL, _kernels())),
        *_read(into, calls, "memcpy", (_COPY, _copies())),
        *_read(into, calls, "memset", ((), _plain("memset"))),
        *_read(into, calls, "graph", (("graphId",), _graphs())),
    ]
    # Two sorts, each stable, need no pair of an operation.
    found.sort(key=attrgetter("end"))
    found.sort(key=attrgetter("start"))
    return tuple(found)


def _read(
    into: Gathered, calls: CallIndex, key: str, shapes: tuple[tuple[str, ...], ShapeOf]
) -> list[Operation]:
    """The rows of one table; `shapes` are the columns of a shape, and what makes it of them."""
    columns, shape_of = shapes
    first = len(_PLACE) + len(_TIMED) + len(_OTHER)
    found = []
    places: dict[Row, tuple[int, int, int, int]] = {}
    for row in into.database.rows(key, (*_PLACE, *_TIMED, *_OTHER, *columns), "start"):
        start, end, correlation, size, node = row[4:first]
        # CUPTI writes 0 for both where it could not take the time.
        if not into.timed(start, end, zero_is_none=True):
            continue
        place = places.get(row[:4]) or places.setdefault(row[:4], _place(into, row[:4]))
        device, context, stream, process = place
        found.append(
            Operation(
                shape_of(into, row[first:]),
                start,
                end,
                device,
                context,
                stream,
                process,
                calls.get((process, correlation), -1),
                whole(size),
                whole(node),
            )
        )
    return found


def _place(into: Gathered, row: Row) -> tuple[int, int, int, int]:
    """Device, context, stream and process."""
    device, context, stream, owner = row
    return _number(device), _number(context), _number(stream), into.process(owner)


def _kernels() -> ShapeOf:
    """Shapes of kernels; each is made once, of its columns."""
    known: dict[Row, int] = {}

    def shape_of(into: Gathered, row: Row) -> int:
        shape = known.get(row)
        if shape is None:
            shape = known[row] = into.shape(_kernel(into, row))
        return shape

    return shape_of


def _kernel(into: Gathered, row: Row) -> Shape:
    short, full = into.string(row[0]), into.string(row[1]) or into.string(row[2])
    registers, static, dynamic, local = map(whole, row[9:])
    return Shape(
        kind="kernel",
        name=short_name(short, full),
        full_name=full or short or NAMELESS,
        grid=_dimensions(row[3:6]),
        block=_dimensions(row[6:9]),
        registers=registers,
        shared_bytes=None if static is None or dynamic is None else static + dynamic,
        local_bytes=local,
    )


def _copies() -> ShapeOf:
    table = conf.table("nsys_export")
    names, migrations = table["copy_kinds"], table["migrations"]

    def shape_of(into: Gathered, row: Row) -> int:
        (kind,) = row
        name = names.get(str(kind), f"kind {kind}" if isinstance(kind, int) and kind else "")
        migration = kind in migrations
        return into.shape(Shape(kind="memcpy", name=f"memcpy {name}".rstrip(), migration=migration))

    return shape_of


def _graphs() -> ShapeOf:
    def shape_of(into: Gathered, row: Row) -> int:
        (graph,) = row
        name = f"graph {graph}" if isinstance(graph, int) else "graph"
        return into.shape(Shape(kind="graph", name=name))

    return shape_of


def _plain(name: str) -> ShapeOf:
    shape = Shape(kind="memset", name=name)
    return lambda into, row: into.shape(shape)


def _dimensions(sizes: Row) -> tuple[int, ...]:
    return tuple(sizes) if all(isinstance(size, int) for size in sizes) else ()


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1
