import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import effective, load_profile, shipped

SMALL = Path(__file__).parents[1] / "real" / "small.toml"
OTHERS = [name for name in shipped() if not name.startswith(("phantom", "rtx3090", "running"))]


def write(folder: Path, **files: str) -> None:
    """Each file by its stem; ``small`` is a complete one."""
    (folder / "small.toml").write_text(SMALL.read_text())
    for stem, text in files.items():
        (folder / f"{stem}.toml").write_text(text)


def own(name: str) -> str:
    return f'name = "{name}"\ndescription = "For a test."\n'


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


def test_the_tutorials_sampling_is_measured_on_request() -> None:
    profile = load_profile("rtx3090-qwen3.6-27b")
    assert profile.measured() == ("n3",)
    spec = profile.server_spec("n3-sampled", model="m", speculative=True)
    assert (spec.sampled, spec.temp, spec.top_k, spec.top_p, spec.repeat_penalty) == (True, 0.7, 20, 0.95, 1.1)


def test_turboquant_is_measured_with_mtp_and_without() -> None:
    profile = load_profile("turboquant-3090")
    types = {name: profile.server_spec(name, model="m", speculative=False).cache_type_k for name in profile.measured()}
    assert types == {"n3": "q8_0", "n3-turbo3": "turbo3"}
    assert profile.source.spec.endswith("TheTom/llama-cpp-turboquant@feature/turboquant-kv-cache")


@pytest.mark.parametrize("name", [name for name in shipped() if name.startswith("rtx3090")])
def test_every_floor_leaves_room_below_what_was_published(name: str) -> None:
    for one in load_profile(name).classes:
        assert one.floor is not None
        assert one.reference is not None
        assert one.floor <= 0.8 * one.reference.low


@pytest.mark.parametrize("name", [*OTHERS, "phantom-gpu"])
def test_no_floor_of_one_machine_is_demanded_of_another(name: str) -> None:
    assert all(one.floor is None and one.reference is None for one in load_profile(name).classes)


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_prompts_are_asked_of_every_model(name: str) -> None:
    profile, tutorial = load_profile(name), load_profile("rtx3090-qwen3.6-27b")
    asked = [(one.name, one.prompt) for one in profile.classes]
    assert asked == [(one.name, one.prompt) for one in tutorial.classes]
    assert profile.request.template == tutorial.request.template


def test_of_servers_that_run_already_the_same_is_asked_and_no_loss_allowed() -> None:
    profile, tutorial = load_profile("running-servers"), load_profile("rtx3090-qwen3.6-27b")
    assert [(one.prompt, one.floor) for one in profile.classes] == [(one.prompt, 1.0) for one in tutorial.classes]


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_the_rented_3090_needs_is_not_inherited(name: str) -> None:
    profile = load_profile(name)
    assert profile.build.options == {}
    assert (profile.server.threads, profile.server.serve_host) == (None, "127.0.0.1")


def test_every_downloaded_file_has_its_own_hash() -> None:
    models = {one.model for one in map(load_profile, shipped()) if one.model.spec.startswith("hf:")}
    assert None not in {one.sha256 for one in models}
    assert len({one.sha256 for one in models}) == len({one.spec for one in models}) == len(models)


def test_a_profile_for_the_cpu_differs_from_its_sibling_in_what_a_cpu_needs() -> None:
    for name in ("qwen3.5-0.8b", "qwen3.5-4b", "qwen3.5-9b"):
        card, cpu = load_profile(name), load_profile(f"{name}-cpu")
        assert (card.build.backend, cpu.build.backend) == (Backend.AUTO, Backend.CPU)
        assert (card.server.gpu_layers, cpu.server.gpu_layers) == (99, 0)
        assert card.model == cpu.model
        assert list(cpu.flag_sets) == ["n2"]


def test_files_extend_each_other_relative_to_their_own_folder(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    write(tmp_path, base=own("base") + 'extends = "small.toml"\n[server]\nctx = 300\nthreads = 2\n')
    write(tmp_path / "team", top=own("top") + 'extends = "../base.toml"\n[server]\nctx = 400\n')
    profile = load_profile(str(tmp_path / "team" / "top.toml"), ["server.parallel=2"])
    server = profile.server
    assert (profile.name, server.ctx, server.threads, server.parallel) == ("top", 400, 2, 2)
    assert profile.classes == load_profile(str(SMALL)).classes


def test_a_file_extends_a_shipped_profile(tmp_path: Path) -> None:
    write(tmp_path, mine=own("mine") + 'extends = "phantom"\nunset = ["classes.*.floor"]\n')
    profile = load_profile(str(tmp_path / "mine.toml"))
    assert {one.floor for one in profile.classes} == {None}
    assert profile.model == load_profile("phantom").model


def test_a_circle_is_refused_with_its_chain(tmp_path: Path) -> None:
    write(tmp_path, a='extends = "b.toml"', b='extends = "c.toml"', c='extends = "a.toml"')
    with pytest.raises(
        SettingsError, match=r"a\.toml extends itself: .*a\.toml -> .*b\.toml -> .*c\.toml -> .*a\.toml"
    ):
        load_profile(str(tmp_path / "a.toml"))


def test_a_circle_further_down_is_refused_too(tmp_path: Path) -> None:
    write(tmp_path, a='extends = "b.toml"', b='extends = "b.toml"')
    with pytest.raises(SettingsError, match=r"extends itself: .*a\.toml -> .*b\.toml -> .*b\.toml\."):
        load_profile(str(tmp_path / "a.toml"))


def test_what_is_extended_must_exist(tmp_path: Path) -> None:
    write(tmp_path, a='extends = "phantm"')
    with pytest.raises(
        SettingsError, match=r"a\.toml extends 'phantm', but there is no profile .* Did you mean phantom\?"
    ):
        load_profile(str(tmp_path / "a.toml"))


def test_each_wrong_key_is_told_with_its_own_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        base=SMALL.read_text() + "flor = 1.0\n",
        top=own("top")
        + 'extends = "base.toml"\nunset = ["server.threads"]\n[server]\nctxx = 1\n[gates]\nalpha = 2.0\n',
    )
    with pytest.raises(SettingsError) as caught:
        load_profile(str(tmp_path / "top.toml"), ["server.ctx=many"])
    base, top, override, unset, value = str(caught.value).splitlines()
    assert base.endswith("base.toml: classes.mixed has no 'flor'; did you mean 'floor'?")
    assert top.endswith("top.toml: server has no 'ctxx'; did you mean 'ctx'?")
    assert override == "The override server.ctx=many: server.ctx: 'many' is not of type 'integer'."
    assert "top.toml: unset names 'server.threads', which is not inherited" in unset
    assert value.endswith("top.toml: gates.alpha is a chance between 0 and 0.5, not 2.0.")


def test_what_no_file_of_the_chain_says_is_lacking(tmp_path: Path) -> None:
    write(tmp_path, mine='extends = "small.toml"\nunset = ["server"]')
    with pytest.raises(SettingsError) as caught:
        load_profile(str(tmp_path / "mine.toml"))
    lacking = [line.partition(" has no ")[2] for line in str(caught.value).splitlines()]
    assert lacking == [f"{own!r}; a profile has its own and inherits none." for own in ("name", "description")] + [
        "'server'."
    ]


def test_every_value_of_a_profile_can_be_traced(tmp_path: Path) -> None:
    write(tmp_path, mine=own("mine") + 'extends = "phantom"\n[server]\nctx = 300\n')
    origins = effective(str(tmp_path / "mine.toml"), ["request.tokens=9"]).origins
    assert origins["server", "ctx"] == str(tmp_path / "mine.toml")
    assert origins["server", "gpu_layers"] == "phantom.toml"
    assert origins["request", "tokens"] == "override request.tokens=9"


def test_a_value_is_overridden() -> None:
    profile = load_profile("phantom", ["server.ctx=2048", "gates.looks=[2, 3]", "server.cache_type_k=q8_0"])
    assert (profile.server.ctx, profile.gates.looks, profile.server.cache_type_k) == (2048, (2, 3), "q8_0")


def test_one_class_is_overridden_by_its_name() -> None:
    before, after = load_profile("phantom"), load_profile("phantom", ["classes.miss20.floor=1.5"])
    changed = [(old, new) for old, new in zip(before.classes, after.classes, strict=True) if old != new]
    assert [(old.name, new.floor, new.prompt == old.prompt) for old, new in changed] == [("miss20", 1.5, True)]


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("server.ctxx=1", r"server has no 'ctxx'; did you mean 'ctx'\?"),
        ("server.ctx=many", r"server\.ctx: 'many' is not of type 'integer'"),
        ("server.ctx", r"takes KEY=VALUE such as server\.ctx=32768"),
        ("name.first=x", r"name is no table"),
        ("classes.mis00.floor=1", r"classes\.mis00 has no 'prompt'; did you mean the class 'miss00'\?"),
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


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("~nobody-of-that-name/p.toml", "its home folder is not there"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_file_that_nobody_may_look_at_is_refused_by_name(name: str, why: str) -> None:
    with pytest.raises(SettingsError, match=f"^Profile {name} cannot be read: {why}"):
        load_profile(name)


def test_a_file_that_is_nested_too_deep_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("a = " + "[" * 20_000)
    with pytest.raises(SettingsError, match=r"deep\.toml cannot be read: maximum recursion"):
        load_profile(str(tmp_path / "deep.toml"))


@pytest.mark.parametrize("name", ["", "../out", "a/b", ".hidden", "a\n", "x" * 101])
def test_what_cannot_name_a_file_names_neither_profile_nor_flag_set(name: str) -> None:
    said = re.escape(f"{name!r} cannot name a profile or flag set")
    phantom = load_profile("phantom")
    with pytest.raises(SettingsError, match=said):
        replace(phantom, name=name)
    with pytest.raises(SettingsError, match=said):
        replace(phantom, flag_sets={name: phantom.flag_sets["n3"]})


def test_a_class_named_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SMALL.read_text() + '\n[[classes]]\nname = "right"\nprompt = "again"\n')
    with pytest.raises(SettingsError, match="names a prompt class twice"):
        load_profile(str(path))
