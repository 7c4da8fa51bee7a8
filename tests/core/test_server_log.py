"""What a server's log tells, by lines as the servers write them."""

import pytest

from pytest_mtp.core.footprint import Place
from pytest_mtp.core.server_log import last_words, logged_memory, out_of_memory

# A CPU server of b11434 with --verbosity 4, drafting: the draft's context is reserved twice.
CPU_MTP = """\
0.00.028.975 I load_tensors:   CPU_Mapped model buffer size =    54.80 MiB
0.00.029.710 I llama_context: constructing llama_context
0.00.029.922 I llama_context:        CPU  output buffer size =     0.00 MiB
0.00.030.793 I llama_kv_cache:        CPU KV buffer size =    31.34 MiB
0.00.030.794 I llama_kv_cache: size =   31.34 MiB ( 30208 cells,   8 layers,  1/1 seqs), K (q8_0):   15.67 MiB
0.00.059.941 I llama_memory_recurrent:        CPU RS buffer size =     6.56 MiB
0.00.079.143 I sched_reserve:        CPU compute buffer size =    36.55 MiB
0.00.753.686 I llama_context: constructing llama_context
0.00.753.825 I llama_context:        CPU  output buffer size =     0.00 MiB
0.00.754.737 I llama_kv_cache:        CPU KV buffer size =     7.38 MiB
0.00.764.983 I sched_reserve:        CPU compute buffer size =    32.00 MiB
0.00.772.322 I sched_reserve:        CPU compute buffer size =    32.27 MiB
0.00.772.400 I srv    load_model: initializing, n_slots = 1, n_ctx_slot = 30208, kv_unified = 'false'
"""
# Two cards, where a model with a sliding window has two caches on each.
CUDA_PLAIN = """\
load_tensors: offloaded 65/65 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   682.03 MiB
load_tensors:        CUDA0 model buffer size =  7600.50 MiB
load_tensors:        CUDA1 model buffer size =  7400.25 MiB
llama_context: constructing llama_context
llama_context:  CUDA_Host  output buffer size =     0.95 MiB
llama_kv_cache:      CUDA0 KV buffer size =  1600.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =  1600.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   100.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =   100.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =    74.81 MiB
sched_reserve:      CUDA0 compute buffer size =   249.77 MiB
sched_reserve:      CUDA1 compute buffer size =   240.00 MiB
sched_reserve:  CUDA_Host compute buffer size =   205.52 MiB
"""


def mib(size: float) -> int:
    return round(size * 2**20)


def test_the_memory_of_a_drafting_server_is_told_part_by_part() -> None:
    found = logged_memory(CPU_MTP)
    assert found is not None
    assert (found.weights, found.kv) == (Place(0, mib(54.80)), Place(0, mib(31.34)))
    assert (found.recurrent, found.compute) == (Place(0, mib(6.56)), Place(0, mib(36.55)))
    assert found.draft_kv == Place(0, mib(7.38))
    assert found.device == 0


def test_a_buffer_that_is_reserved_again_replaces_the_first() -> None:
    found = logged_memory(CPU_MTP)
    assert found is not None
    assert found.draft_compute == Place(0, mib(32.27))


def test_cards_add_up_and_pinned_memory_is_the_hosts() -> None:
    found = logged_memory(CUDA_PLAIN)
    assert found is not None
    assert found.weights == Place(mib(7600.50) + mib(7400.25), mib(682.03))
    assert found.kv == Place(mib(3400), 0)
    assert found.compute == Place(mib(249.77) + mib(240), mib(205.52))
    assert (found.draft_kv, found.draft_compute) == (Place(), Place())


@pytest.mark.parametrize("buffer", ["CPU", "CPU_Mapped", "CPU_REPACK", "AMX", "Vulkan_Host", "ROCm_Host"])
def test_what_the_host_holds_is_not_on_a_card(buffer: str) -> None:
    found = logged_memory(f"load_tensors: {buffer:>12} model buffer size =    10.00 MiB\n")
    assert found is not None
    assert found.weights == Place(0, mib(10))


@pytest.mark.parametrize("buffer", ["CUDA0", "Vulkan1", "ROCm0", "MTL0", "SYCL0"])
def test_what_a_card_holds_is_not_the_hosts(buffer: str) -> None:
    found = logged_memory(f"load_tensors: {buffer:>12} model buffer size =    10.00 MiB\n")
    assert found is not None
    assert found.weights == Place(mib(10), 0)


@pytest.mark.parametrize("log", ["", "main: listening", "\n".join(CPU_MTP.splitlines()[1:])])
def test_a_log_without_the_weights_tells_nothing(log: str) -> None:
    assert logged_memory(log) is None


@pytest.mark.parametrize(
    ("line", "whose"),
    [
        ("ggml_cuda: allocating 7600.50 MiB on device 0: cudaMalloc failed: out of memory", "the card's"),
        ("CUDA error: out of memory", "the card's"),
        ("vk::Device::allocateMemory: ErrorOutOfDeviceMemory", "the card's"),
        ("alloc_tensor_range: failed to allocate ROCm0 buffer of size 7969701888", "the card's"),
        ("ggml_gallocr_reserve_n: failed to allocate CPU buffer of size 7969701888", "the machine's"),
        ("  what():  std::bad_alloc", "the machine's"),
        ("ggml/src/ggml.c:1644: GGML_ASSERT(ctx->mem_buffer != NULL) failed", "the machine's"),
    ],
)
def test_a_server_that_ran_out_of_memory_is_known_by_its_words(line: str, whose: str) -> None:
    said = out_of_memory(f"load_model: loading\n{line}\n#0 a backtrace\n")
    assert said is not None
    assert said.startswith(f"Its log says that {whose} memory was full")


def test_a_server_that_died_of_something_else_is_not_told_to_save_memory() -> None:
    assert out_of_memory(CPU_MTP) is None


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\x1b[2J\x07b\x9b31m\n", "a\ufffd[2J\ufffdb\ufffd31m"),
        ("50 %\r100 %\r\ndone\n", "50 %\n100 %\ndone"),
        ("x" * 5000, "x" * 2000),
        ("tab\there \u00e4 \U0001f600", "tab\there \u00e4 \U0001f600"),
    ],
)
def test_what_is_shown_of_a_log_commands_no_terminal(written: str, shown: str) -> None:
    assert last_words(written) == shown


def test_a_server_that_got_no_thread_is_told_which_limits_there_are() -> None:
    said = out_of_memory(
        "terminate called after throwing 'std::system_error'\n  what():  Resource temporarily unavailable\n"
    )
    assert said is not None
    assert "ulimit -u, ulimit -v, pids.max" in said
