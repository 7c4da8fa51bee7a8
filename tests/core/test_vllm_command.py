"""How vLLM spells a server."""

from dataclasses import replace

import pytest

from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.core.vllm_command import vllm_command
from pytest_mtp.errors import FlagError
from pytest_mtp.runtime.profiles import load_profile

SPEC = ServerSpec(model="org/model", ctx=4096, gpu_layers=99, speculation=Speculation(n_max=2))


def test_the_mtp_arm_is_the_plain_one_and_its_speculation() -> None:
    plain = vllm_command(replace(SPEC, speculation=None), 8000)
    assert plain[:8] == ("vllm", "serve", "org/model", "--host", "127.0.0.1", "--port", "8000", "--max-model-len")
    speculation = ("--speculative-config", '{"method":"mtp","num_speculative_tokens":2}')
    assert vllm_command(SPEC, 8000) == (*plain, *speculation)


def test_what_a_default_could_change_is_spelled_out() -> None:
    line = " ".join(vllm_command(SPEC, 1))
    for words in ("--max-num-seqs 1", "--no-enable-prefix-caching", "--generation-config vllm"):
        assert words in line


def test_as_many_requests_run_at_once_as_the_profile_says() -> None:
    assert "--max-num-seqs 4" in " ".join(vllm_command(replace(SPEC, parallel=4), 1))


def test_names_sampling_and_own_words_are_passed_on() -> None:
    spec = replace(SPEC, alias="a", temp=0.6, top_k=20, repeat_penalty=1.0, extra=("--enforce-eager",))
    line = vllm_command(spec, 1, "/opt/vllm")
    assert line[0] == "/opt/vllm"
    assert line[line.index("--served-model-name") + 1] == "a"
    sampling = line[line.index("--override-generation-config") + 1]
    assert sampling == '{"temperature":0.6,"top_k":20,"repetition_penalty":1.0}'
    assert "--enforce-eager" in line


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        (replace(SPEC, threads=4), "server.threads = 4"),
        (replace(SPEC, batch=512), "server.batch = 512; give extra --max-num-batched-tokens"),
        (replace(SPEC, ubatch=512), "server.ubatch = 512"),
        (replace(SPEC, cache_type_k="q8_0"), "server.cache_type_k = q8_0; give extra --kv-cache-dtype"),
        (replace(SPEC, cache_type_v="q8_0"), "server.cache_type_v = q8_0"),
        (replace(SPEC, gpu_layers=20), "server.gpu_layers = 20: .* write 99"),
        (replace(SPEC, flash_attn="off"), "server.flash_attn = off"),
        (replace(SPEC, speculation=Speculation(n_max=2, p_min=0.5)), r"p_min = 0\.5"),
        (replace(SPEC, speculation=Speculation(n_max=2, synth_rates=(0.5,))), "synth_rates"),
    ],
)
def test_what_vllm_has_no_word_for_is_refused_with_the_mend(spec: ServerSpec, cause: str) -> None:
    with pytest.raises(FlagError, match=f"vLLM has no equivalent of {cause}"):
        vllm_command(spec, 1)


def test_the_shipped_profile_can_be_spelled() -> None:
    profile = load_profile("vllm-qwen3.5-9b")
    line = vllm_command(profile.server_spec("n3", model=profile.model.spec, speculative=True), 1)
    assert line[:3] == ("vllm", "serve", "Qwen/Qwen3.5-9B")
    assert line[line.index("--speculative-config") + 1] == '{"method":"mtp","num_speculative_tokens":3}'
