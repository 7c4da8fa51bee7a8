from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile, shipped


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_profile_is_named_like_its_file(name: str) -> None:
    assert load_profile(name).name == name


def test_the_gpu_profile_holds_the_tutorials_values() -> None:
    profile = load_profile("rtx3090-qwen3.6-27b")
    server = profile.server
    assert (server.ctx, server.gpu_layers, server.threads, server.batch, server.ubatch) == (100_000, 99, 8, 2048, 512)
    assert (server.cache_type_k, server.cache_type_v, server.flash_attn) == ("q8_0", "q8_0", "on")
    assert (server.temp, server.top_k, server.top_p, server.repeat_penalty) == (0.7, 20, 0.95, 1.1)
    assert profile.model.spec == "hf:froggeric/Qwen3.6-27B-MTP-GGUF/Qwen3.6-27B-Q4_K_M-mtp.gguf"
    assert profile.flag_sets["n3"].n_max == 3
    assert profile.build.backend is Backend.CUDA


def test_every_floor_leaves_room_below_what_was_published() -> None:
    for one in load_profile("rtx3090-qwen3.6-27b").classes:
        assert one.floor is not None
        assert one.reference is not None
        assert one.floor <= 0.8 * one.reference.low


def test_a_value_is_overridden() -> None:
    profile = load_profile("phantom", ["server.ctx=2048", "gates.looks=[2, 3]", "server.cache_type_k=q8_0"])
    assert (profile.server.ctx, profile.gates.looks, profile.server.cache_type_k) == (2048, (2, 3), "q8_0")


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("server.ctxx=1", r"server has no 'ctxx'; did you mean 'ctx'\?"),
        ("server.ctx=many", r"server\.ctx: 'many' is not of type 'integer'"),
        ("server.ctx", r"takes KEY=VALUE such as server\.ctx=32768"),
        ("name.first=x", r"name is no table"),
        ("gates.looks=[8, 4]", r"gates\.looks are growing numbers"),
        ("gates.alpha=0.7", r"gates\.alpha is a chance between 0 and 0\.5"),
    ],
)
def test_a_wrong_override_is_refused_in_words(assignment: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        load_profile("phantom", [assignment])


def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("name = ")
    with pytest.raises(SettingsError, match=r"mine\.toml cannot be read"):
        load_profile(str(tmp_path / "mine.toml"))


def test_a_class_named_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (Path(__file__).parents[1] / "real" / "small.toml").read_text()
    path.write_text(text + '\n[[classes]]\nname = "right"\nprompt = "again"\n')
    with pytest.raises(SettingsError, match="names a prompt class twice"):
        load_profile(str(path))
