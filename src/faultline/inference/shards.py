"""Scores of any number of pairs into Parquet shards, in memory that does not grow with their number."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from faultline.errors import ConfigError, DataError, StoreError
from faultline.inference.nli import NliScorer
from faultline.store import write_file

VERSION = 1
SHARD_PAIRS = 8192
_KEY = b"faultline_shard"
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        *((name, pa.float64()) for name in ("entailment", "neutral", "contradiction")),
        ("windows", pa.int32()),
        ("tokens", pa.int32()),
    ]
)


class NamedPair(NamedTuple):
    """A pair with the id under which its scores are kept."""

    id: str
    premise: str
    hypothesis: str


def write_shards(
    scorer: NliScorer,
    pairs: Iterable[NamedPair],
    folder: Path,
    shard_pairs: int = SHARD_PAIRS,
    rank: int = 0,
    world: int = 1,
) -> int:
    """Score pairs shard by shard, each written as soon as it is there; a stopped run goes on where it was.

    A shard is planned by itself from the pairs that it holds, so its bytes depend neither on the other
    shards nor on the number of processes: process ``rank`` of ``world`` takes every world-size-th shard.

    Args:
        scorer: Computes; a score cache is not needed.
        pairs: In an order that is the same in every process; they are consumed as they come.
        folder: Holds ``part-00000.parquet`` and so on; shards of other inputs are written again.
        shard_pairs: Pairs a shard.
        rank: Of this process.
        world: Processes that share the work.

    Returns:
        Shards that this process computed.

    Raises:
        ConfigError: Sizes that make no sense.
        DataError: An id occurs twice in a shard.
        StoreError: The disk is full.
    """
    if shard_pairs < 1 or world < 1 or not 0 <= rank < world:
        raise ConfigError(f"shards: shard_pairs={shard_pairs}, rank={rank} of {world}: out of range")
    computed, number = 0, -1
    for number, part in enumerate(_parts(pairs, shard_pairs)):
        if number % world != rank:
            continue
        path = folder / f"part-{number:05d}.parquet"
        key = _key(scorer, part)
        if _stored_key(path) != key:
            write_file(path, _scored(scorer, part, key))
            computed += 1
    if rank == 0:
        _drop_after(folder, number)
    return computed


def read_shards(folder: Path) -> pa.Table:
    """All shards as one table, in the order of the pairs.

    Raises:
        DataError: No shard, one missing in between, a shard that cannot be read, or an id that occurs twice.
    """
    paths = sorted(folder.glob("part-*.parquet"))
    if not paths:
        raise DataError(f"{folder}: no shards; score some pairs first")
    for number, path in enumerate(paths):
        if path.name != f"part-{number:05d}.parquet":
            raise DataError(
                f"{folder}: part-{number:05d}.parquet is missing; repeat the command that wrote it"
            )
    try:
        table = pa.concat_tables([pq.read_table(path, schema=_SCHEMA) for path in paths])
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{folder}: {error}; repeat the command that wrote it") from error
    counts = table["id"].value_counts()
    twice = next((entry["values"].as_py() for entry in counts if entry["counts"].as_py() > 1), None)
    if twice is not None:
        raise DataError(f"{folder}: pair {twice!r} occurs twice; give every pair an id of its own")
    return table.replace_schema_metadata(None)


def _parts(pairs: Iterable[NamedPair], size: int) -> Iterator[list[NamedPair]]:
    stream = iter(pairs)
    while part := list(islice(stream, size)):
        yield part


def _key(scorer: NliScorer, part: list[NamedPair]) -> bytes:
    """sha256 over everything that the bytes of a shard depend on."""
    settings = (VERSION, scorer.version, scorer.digest, scorer.precision, scorer.token_budget, scorer.rule)
    digest = hashlib.sha256(repr(settings).encode())
    for pair in part:
        for text in pair:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(encoded)}:".encode())
            digest.update(encoded)
    return digest.hexdigest().encode()


def _stored_key(path: Path) -> bytes | None:
    """The key of a shard that is there and whole, else None."""
    if not path.exists():
        return None
    try:
        metadata: dict[bytes, bytes] = pq.read_table(path).schema.metadata or {}
    except (OSError, pa.ArrowException):
        return None
    return metadata.get(_KEY)


def _scored(scorer: NliScorer, part: list[NamedPair], key: bytes) -> bytes:
    names = [pair.id for pair in part]
    if len(set(names)) < len(names):
        twice = next(name for row, name in enumerate(names) if name in names[:row])
        raise DataError(f"pair {twice!r} occurs twice; give every pair an id of its own")
    scores = scorer.score([(pair.premise, pair.hypothesis) for pair in part])
    columns: list[Any] = [names, *scores.probs.T, scores.windows, scores.tokens]
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=_SCHEMA.with_metadata({_KEY: key}))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _drop_after(folder: Path, last: int) -> None:
    """A longer run before this one may have left shards; they are of other pairs."""
    for path in folder.glob("part-*.parquet"):
        if path.stem.removeprefix("part-").isdigit() and int(path.stem.removeprefix("part-")) > last:
            try:
                path.unlink()
            except OSError as error:
                raise StoreError(f"{path}: cannot be removed ({error.strerror})") from error
