"""LIBSVM and SVM-light text: one example a line, `label [qid:n] index:value index:value ...  # comment`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from maxmargin._native import core
from maxmargin.data import compression, text_rows
from maxmargin.data.sources import Source, blocks, name_of
from maxmargin.models.atomic import replacing
from maxmargin.threads import threads

ZeroBased = bool | Literal["auto"]

_BLOCK_BYTES = 1 << 22  # of text for each thread at a time: short enough for Ctrl-C, long enough for the threads
_INT32_MAX = np.iinfo(np.int32).max


def read(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = "float64",
    zero_based: ZeroBased = "auto",
    multilabel: bool = False,
    query_id: bool = False,
    n_jobs: int | None = None,
) -> tuple[Any, ...]:
    """Read the examples of one LIBSVM or SVM-light text.

    Every number becomes the nearest one of its type, as by Python's ``float()``. The result does not depend on the
    number of threads.

    Parameters
    ----------
    source : str, path or binary file object
        A path, "-" for standard input, or an object whose ``read(n)`` gives bytes (it stays open). Text compressed by
        gzip, bzip2, xz or zstd is recognised by its first bytes.
    n_features : int, optional
        Number of columns of X; by default as many as the text names.
    dtype : {"float64", "float32"}
        Of the values of X.
    zero_based : bool or "auto"
        Whether the first feature has index 0 (else 1). "auto": if index 0 occurs.
    multilabel : bool
        Whether an example has any number of labels: ``1,3,7 1:0.5``.
    query_id : bool
        Whether to return the numbers of ``qid:3`` too, which then stand in each line; otherwise they are skipped.
    n_jobs : int, optional
        Number of threads; by default all cores.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (n, n_features)
        With int32 indices wherever these suffice; zeros that the text names are stored.
    y : (n,) float64, or with ``multilabel`` a list of n ascending tuples
        The labels.
    query_ids : (n,) int64
        Only with ``query_id``.

    Raises
    ------
    ValueError
        If the text is malformed or holds no examples; it names source, line and column.
    OSError
        If the source cannot be read.
    """
    return read_files(
        [source],
        n_features=n_features,
        dtype=dtype,
        zero_based=zero_based,
        multilabel=multilabel,
        query_id=query_id,
        n_jobs=n_jobs,
    )[0]


def read_files(
    sources: Iterable[Source],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = "float64",
    zero_based: ZeroBased = "auto",
    multilabel: bool = False,
    query_id: bool = False,
    n_jobs: int | None = None,
) -> list[tuple[Any, ...]]:
    """Read several texts that name the same features: what `read` returns for each, all X with the same columns.

    "auto" decides for all sources at once: indices start at 0 if any source has index 0. The parameters are those of
    `read`.
    """
    if isinstance(sources, (str, os.PathLike)) or hasattr(sources, "read"):
        raise TypeError("read_files takes a list of sources; read takes a single one")
    options = _Options(dtype, multilabel, query_id, threads(n_jobs))
    lowest = 1 if zero_based is False else 0
    texts = [_read_whole(source, options, lowest) for source in sources]
    one_based = _is_one_based(zero_based, texts)
    if n_features is None:
        n_features = max((text.width(one_based) for text in texts), default=0)
    return [text.result(options, one_based, n_features) for text in texts]


def read_blocks(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = "float64",
    zero_based: bool = False,
    multilabel: bool = False,
    query_id: bool = False,
    n_jobs: int | None = None,
    block_bytes: int = 1 << 26,
) -> Iterator[tuple[Any, ...]]:
    """Read a text of any size in bounded memory: what `read` returns, for blocks of consecutive rows.

    Parameters
    ----------
    n_features : int, optional
        Number of columns of each X; by default as many as the text has named so far.
    zero_based : bool
        Whether the first feature has index 0; a block cannot tell for the whole text.
    block_bytes : int
        Bytes of text a block, about.

    The other parameters are those of `read`.
    """
    options = _Options(dtype, multilabel, query_id, threads(n_jobs))
    reader = options.reader(name_of(source), 0 if zero_based else 1)
    any_rows = False
    for _ in _fed(reader, source, options, min(block_bytes, _BLOCK_BYTES * options.threads), block_bytes):
        text = _Text(name_of(source), reader)
        if len(text.row_lengths):
            any_rows = True
            one_based = not zero_based
            yield text.result(options, one_based, text.width(one_based) if n_features is None else n_features)
    if not any_rows:
        raise ValueError(f"{name_of(source)} holds no examples")


def write(
    target: str | os.PathLike[str] | BinaryIO,
    X: Any,
    y: Any,
    *,
    zero_based: bool = False,
    multilabel: bool = False,
    query_id: ArrayLike | None = None,
    comment: str | None = None,
) -> None:
    """Write examples as LIBSVM text that reads back to the same bits.

    Parameters
    ----------
    target : str, path or binary file object
        A path, whose suffix .gz, .bz2, .xz or .zst compresses; "-" for standard output; or an object with ``write``.
        A file appears under its path when it is complete, and not at all after an error.
    X : array or sparse matrix of shape (n, d)
        Float32 values are written with the digits that float32 needs, all others as float64. Of a sparse matrix the
        stored zeros are written too. Columns of zeros at the end are lost: read them back by ``n_features``.
    y : (n,) numbers; with ``multilabel`` n collections of numbers, or an indicator matrix of shape (n, n_labels)
        The labels.
    zero_based : bool
        Whether the first feature gets index 0. Only index 1, the default, reads back by "auto" whatever X holds.
    multilabel : bool
        Whether an example has any number of labels.
    query_id : (n,) int, optional
        Written as ``qid:3``.
    comment : str, optional
        Lines for the head of the text.
    """
    rows = text_rows.checked(X, y, query_id, multilabel)
    with _destination(target) as file:
        for line in (comment or "").splitlines():
            file.write(f"# {line}\n".encode())
        for block in text_rows.formatted(rows, first_index=0 if zero_based else 1):
            file.write(block)


@contextmanager
def _destination(target: str | os.PathLike[str] | BinaryIO) -> Iterator[BinaryIO]:
    if not isinstance(target, (str, os.PathLike)):
        if not hasattr(target, "write"):
            raise TypeError(f"The target is a path, '-' or a binary file object, not {type(target).__name__}")
        yield target
    elif target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with replacing(target) as plain, compression.compressing(plain, target) as file:
            yield file


@dataclass(frozen=True)
class _Options:
    dtype: DTypeLike
    multilabel: bool
    query_id: bool
    threads: int

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {np.dtype(self.dtype)}")

    def reader(self, name: str, lowest_index: int) -> Any:
        return core.TextReader(
            name,
            float32=np.dtype(self.dtype) == np.float32,
            multilabel=self.multilabel,
            query_id=self.query_id,
            lowest_index=lowest_index,
            threads=self.threads,
        )


class _Text:
    """What a reader has parsed since it was last asked."""

    def __init__(self, name: str, reader: Any) -> None:
        self.name = name
        self.smallest: int = reader.smallest_index
        self.largest: int = reader.largest_index
        self.labels, self.label_counts, self.query_ids, self.row_lengths, self.indices, self.values = reader.take()

    def width(self, one_based: bool) -> int:
        """Number of columns that the largest index asks for."""
        return max(0, self.largest + 1 - one_based)

    def result(self, options: _Options, one_based: bool, n_features: int) -> tuple[Any, ...]:
        """X, y and perhaps the query ids."""
        if self.width(one_based) > n_features:
            raise ValueError(
                f"{self.name} has an index {self.largest} (the first is {int(one_based)}), "
                f"but n_features is {n_features}"
            )
        if one_based:
            self.indices -= 1
        y = text_rows.tuples(self.labels, self.label_counts) if options.multilabel else self.labels
        found = (self._matrix(n_features), y)
        return (*found, self.query_ids) if options.query_id else found

    def _matrix(self, n_features: int) -> sp.csr_matrix:
        nnz = len(self.values)
        narrow = self.indices.dtype == np.int32 and max(nnz, n_features) <= _INT32_MAX
        index_type = np.int32 if narrow else np.int64
        indptr = np.zeros(len(self.row_lengths) + 1, dtype=index_type)
        np.cumsum(self.row_lengths, out=indptr[1:])
        indices = self.indices.astype(index_type, copy=False)
        X = sp.csr_matrix((self.values, indices, indptr), shape=(len(self.row_lengths), n_features))
        X.has_canonical_format = True  # the reader refuses indices that do not increase
        return X


def _read_whole(source: Source, options: _Options, lowest_index: int) -> _Text:
    reader = options.reader(name_of(source), lowest_index)
    for _ in _fed(reader, source, options, _BLOCK_BYTES * options.threads, None):
        pass
    if reader.rows == 0:
        raise ValueError(f"{name_of(source)} holds no examples")
    return _Text(name_of(source), reader)


def _fed(reader: Any, source: Source, options: _Options, size: int, pause: int | None) -> Iterator[None]:
    """Feed the whole source to the reader; pauses before ``pause`` bytes become more, and at the end."""
    fed = 0
    with closing(blocks(source, size, ahead=options.threads > 1)) as found:  # type: ignore[type-var]
        for block in found:
            reader.feed(block)
            fed += len(block)
            if pause is not None and fed + size > pause:
                yield
                fed = 0
    reader.finish()
    yield


def _is_one_based(zero_based: ZeroBased, texts: list[_Text]) -> bool:
    if isinstance(zero_based, (bool, np.bool_)):
        return not zero_based
    if zero_based != "auto":
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    return all(text.smallest > 0 for text in texts)
