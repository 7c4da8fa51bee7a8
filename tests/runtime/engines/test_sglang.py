"""SGLang, of several versions."""

from tests.fakes.engines import sglang
from tests.fakes.engines.peer import REQUEST, TAU
from tests.fakes.engines.script import whole_text
from tests.runtime.engines.conftest import At


def test_sglang_may_stream_the_new_text_alone_instead_of_all_so_far(at: At) -> None:
    assert at(sglang.Sglang(disjoint=True)).ask(REQUEST).text == whole_text(22)


def test_an_older_sglang_has_its_info_elsewhere(at: At) -> None:
    assert at(sglang.Sglang(info_path="/get_server_info")).told(REQUEST).tau == TAU


def test_drafts_that_sglang_does_not_count_are_not_told(at: At) -> None:
    assert at(sglang.Sglang(counts=False)).told(REQUEST).drafts is None


def test_what_only_an_answer_shows_is_not_said_before_the_first(at: At) -> None:
    server = at(sglang.Sglang())
    assert server.client.knowledge.per_position is None
    server.ask(REQUEST)
    assert server.client.knowledge.per_position is True
