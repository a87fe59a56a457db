"""An nsys export of a plan of ours, with times that add up by hand, and of a talkative machine.

Stages copy and mm run at once on two streams, then fa. In an iteration that begins at B: copy on
stream 13 [B + 100, B + 400], mm on stream 17 [B + 150, B + 550], fa on stream 7 from B + 560 for
140 + i, all in µs, i from 0. Alone they take 250, 350 and 130 µs.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests.support.nsys_exports import SCHEMA

SECRET = "hunter2-s3cr3t-t0k3n"
"""Stands in every place where nsys is known to store environment, arguments and output."""
STREAMS = {"copy": 13, "mm": 17, "fa": 7}
SOLO_US = {"copy": 250, "mm": 350, "fa": 130}
ALONE = 5
PROCESS, THREAD = 4711, 4712
OWNER = (PROCESS << 24) + (1 << 48)
LAUNCH, LONG = "cudaLaunchKernel_v7000", "void {}_kernel<float>(float*)"


class Work(NamedTuple):
    """One stage's kernel: µs of its launch, begin and end."""

    stage: str
    launch: int
    begin: int
    end: int


def plan_export(path: Path, iterations: int = 5, stages: tuple[str, ...] = tuple(STREAMS)) -> Path:
    """Write the export; `stages` are those that launched anything."""
    work: list[Work] = []
    ranges: list[tuple[str, int, int]] = [("warm-up", 0, 900)]
    at = 1000
    begin = at
    for _ in range(ALONE):
        for stage in stages:
            work.append(Work(stage, at + 10, at + 30, at + 30 + SOLO_US[stage]))
            ranges.append((stage, at + 5, at + 20))
            at += 1000
    ranges.append(("solo", begin, at))
    for number in range(iterations):
        ranges.append(("iteration", at, at + 60))
        for stage, launch, first, last in (
            ("copy", 10, 100, 400), ("mm", 20, 150, 550), ("fa", 30, 560, 700 + number),
        ):  # fmt: skip
            if stage in stages:
                work.append(Work(stage, at + launch, at + first, at + last))
                ranges.append((stage, at + launch - 1, at + launch + 6))
        at += 1000
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        for statement in SCHEMA.read_text().splitlines():
            connection.execute(statement)
        _fill(connection, work, ranges)
        _gossip(connection)
        connection.commit()
    return path


def no_kernels(path: Path) -> Path:
    """The same where no kernel was traced, and nsys says why."""
    plan_export(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
        connection.execute(
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 0, 0, 3, 'CUDA tracing is not available.', 0)"
        )
        connection.commit()
    return path


def _fill(
    connection: sqlite3.Connection, work: list[Work], ranges: list[tuple[str, int, int]]
) -> None:
    strings = {LAUNCH: 1}
    for stage in STREAMS:
        strings[f"{stage}_kernel"] = len(strings) + 1
        strings[LONG.format(stage)] = len(strings) + 1
    connection.executemany(
        "INSERT INTO StringIds VALUES (?, ?)", [(n, text) for text, n in strings.items()]
    )
    tid = OWNER + THREAD
    for number, one in enumerate(work, 1):
        short, long = strings[f"{one.stage}_kernel"], strings[LONG.format(one.stage)]
        connection.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
            "correlationId, globalPid, demangledName, shortName, mangledName, registersPerThread, "
            "gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
            "localMemoryPerThread, localMemoryTotal, gridId) VALUES "
            "(?, ?, 0, 1, ?, ?, ?, ?, ?, ?, 64, 132, 1, 1, 128, 1, 1, 1024, 0, 0, 0, ?)",
            (
                one.begin * 1000,
                one.end * 1000,
                STREAMS[one.stage],
                number,
                OWNER,
                long,
                short,
                long,
                number,
            ),
        )
        connection.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 1, 0, NULL)",
            (one.launch * 1000, (one.launch + 5) * 1000, tid, number),
        )
    connection.executemany(
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?, ?, 59, ?, ?)",
        [(a * 1000, b * 1000, name, tid) for name, a, b in ranges],
    )
    connection.execute(
        "INSERT INTO TARGET_INFO_GPU (vmId, id, name, smCount, computeMajor, computeMinor, "
        "memoryBandwidth, clockRate) VALUES (0, 0, 'NVIDIA H200', 132, 9, 0, 4814304000000, "
        "1980000000)"
    )
    connection.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, ?)", (PROCESS,))
    connection.execute("INSERT INTO PROCESSES VALUES (?, ?, 'python3')", (OWNER, PROCESS))
    connection.executemany(
        "INSERT INTO META_DATA_EXPORT VALUES (?, ?)",
        [("EXPORT_PRODUCT_VERSION", "2025.3.2.474"), ("EXPORT_SCHEMA_VERSION", "3.20.3")],
    )


def _gossip(connection: sqlite3.Connection) -> None:
    """Everything that nsys stores beside: nobody's business."""
    texts = [f"API_TOKEN={SECRET}", f"/home/{SECRET}/train.py", f"printed {SECRET}"]
    connection.executemany(
        "INSERT INTO StringIds VALUES (?, ?)", [(900 + n, text) for n, text in enumerate(texts)]
    )
    connection.execute("INSERT INTO ProcessStreams VALUES (?, 901, 902)", (OWNER,))
    connection.executemany(
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'target', ?, 0, ?)",
        [("API_TOKEN", SECRET), ("HostName", SECRET), ("UserName", SECRET)],
    )
    connection.executemany(
        "INSERT INTO META_DATA_CAPTURE VALUES (?, ?)",
        [("PROCESS_0:ARGUMENT_1", f"--token={SECRET}"), ("PROCESS_0:ENV_7", f"API_TOKEN={SECRET}")],
    )
    connection.execute(
        "INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 0, 0, 2, ?, 0)",
        (f"Process was launched, see /home/{SECRET}/stdout.log",),
    )
