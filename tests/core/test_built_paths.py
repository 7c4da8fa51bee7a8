"""What git itself makes of the patterns, in a repository of real llama.cpp paths."""

from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.built_paths import built_paths
from tests.fakes.git_server import git

_PATHS = (
    "CMakeLists.txt", "README.md", "cmake/common.cmake", "common/speculative.cpp", "convert_hf_to_gguf.py",
    "docs/build.md", "examples/simple/simple.cpp", "ggml/src/ggml-cpu/ops.cpp", "ggml/src/ggml-cuda/mmq.cu",
    "ggml/src/ggml-hip/CMakeLists.txt", "ggml/src/ggml-vulkan/ggml-vulkan.cpp", "ggml/src/ggml.c",
    ".github/workflows/build.yml", "include/llama.h", "scripts/x.sh", "src/llama-model.cpp", "tests/test-chat.cpp",
    "tools/CMakeLists.txt", "tools/cli/cli.cpp", "tools/mtmd/clip.cpp", "tools/new-thing/new.cpp",
    "tools/server/README.md", "tools/server/server.cpp", "tools/server/tests/unit/test_basic.py",
    "tools/ui/CMakeLists.txt", "tools/ui/src/app.svelte", "vendor/nlohmann/json.hpp",
)  # fmt: skip

_ALWAYS = {
    "CMakeLists.txt", "cmake/common.cmake", "common/speculative.cpp", "ggml/src/ggml-cpu/ops.cpp", "ggml/src/ggml.c",
    "include/llama.h", "src/llama-model.cpp", "tools/CMakeLists.txt", "tools/mtmd/clip.cpp",
    "tools/new-thing/new.cpp", "tools/server/server.cpp", "tools/ui/CMakeLists.txt", "vendor/nlohmann/json.hpp",
}  # fmt: skip


@pytest.mark.parametrize(
    ("backend", "options", "more"),
    [
        (Backend.CPU, {}, set()),
        (Backend.CUDA, {}, {"ggml/src/ggml-cuda/mmq.cu"}),
        (Backend.HIP, {}, {"ggml/src/ggml-cuda/mmq.cu", "ggml/src/ggml-hip/CMakeLists.txt"}),
        (Backend.CPU, {"GGML_VULKAN": "ON"}, {"ggml/src/ggml-vulkan/ggml-vulkan.cpp"}),
    ],
)
def test_what_is_compiled_is_matched_and_the_unknown_with_it(
    backend: Backend, options: dict[str, str], more: set[str], tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q")
    for path in _PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    git(tmp_path, "add", "-A")
    matched = git(tmp_path, "ls-files", "--", *built_paths(backend, options)).splitlines()
    assert set(matched) == _ALWAYS | more
