"""Lines and events out of bytes that are cut anywhere."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.engine_answer.reading import json_lines, server_sent_events, split_lines
from pytest_mtp.errors import MeasureError

SAID = ["über", "a\u2028b", "🌊", "", "x\x85y"]
DOCS = [json.dumps({"text": one}, ensure_ascii=False) for one in SAID]


def lines_of(pieces: list[bytes]) -> tuple[list[tuple[float, bytes]], bytes]:
    rest, found = b"", []
    for number, piece in enumerate(pieces):
        whole, rest = split_lines(rest, piece)
        found += [(float(number), line) for line in whole]
    return found, rest


@given(st.lists(st.integers(0, 200), max_size=12))
def test_where_pieces_are_cut_changes_nothing(cuts: list[int]) -> None:
    stream = "".join(f": a comment\r\nevent: x\r\ndata: {doc}\r\n\r\n" for doc in DOCS) + "data: [DONE]\n\n"
    whole = stream.encode()
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(places)]
    read = server_sent_events(*lines_of(pieces), 5.0)
    assert [doc["text"] for _, doc in read.events] == SAID
    assert read.whole


def test_an_event_has_the_time_of_the_piece_that_completed_it() -> None:
    found, rest = lines_of([b'data:{"a"', b": 1}", b"\ndata:{}\n"])
    read = server_sent_events(found, rest, 9.0)
    assert (read.events, read.whole, read.wall_ms) == (((2.0, {"a": 1}), (2.0, {})), False, 9.0)


def test_lines_of_json_are_whole_where_the_last_has_its_end() -> None:
    assert json_lines(*lines_of([b'{"a": 1}\n{"b": 2}\n']), 1.0).whole
    broken = json_lines(*lines_of([b'{"a": 1}\n{"b": "\xc3']), 1.0)
    assert ([doc for _, doc in broken.events], broken.whole) == ([{"a": 1}], False)


@pytest.mark.parametrize(
    ("line", "cause"), [(b"<html>", "is no JSON: '<html>'"), (b"[1]", "is no table"), (b'"\xc3"', "JSON")]
)
def test_what_is_no_document_is_shown(line: bytes, cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        json_lines([(0.0, line)], b"", 1.0)
