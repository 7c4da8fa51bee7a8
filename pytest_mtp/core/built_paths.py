"""What of a llama.cpp tree goes into a llama-server, as git's path patterns.

Said by what does not: a folder that nobody thought of then costs a needless measurement, where a list of what
is built would lay its change at another commit's door.
"""

from collections.abc import Mapping

from pytest_mtp.core.build_spec import Backend

_NO_TARGET_OF_OURS = (
    # Words, pictures, and what only people or their machines read.
    ".clang-format", ".clang-tidy", ".devops", ".dockerignore", ".ecrc", ".editorconfig", ".flake8", ".gemini",
    ".github", ".gitignore", ".pi", ".pre-commit-config.yaml", "AUTHORS", "CMakePresets.json", "CODEOWNERS",
    "LICENSE", "Makefile", "ci", "docs", "flake.lock", "flake.nix", "licenses", "media", "skills",
    # Models and their conversion.
    "conversion", "gguf-py", "grammars", "models", "pyproject.toml", "requirements", "requirements.txt",
    # Programs beside the server, which are switched off or no target.
    "app", "benches", "examples", "pocs", "scripts", "tests", "tools/batched-bench", "tools/cli", "tools/completion",
    "tools/cvector-generator", "tools/export-lora", "tools/fit-params", "tools/gguf-split", "tools/imatrix",
    "tools/llama-bench", "tools/parser", "tools/perplexity", "tools/quantize", "tools/results", "tools/rpc",
    "tools/run", "tools/tokenize", "tools/tts", "tools/tuning",
    # The server's web page and what only tests it.
    "tools/mtmd/tests", "tools/server/bench", "tools/server/public", "tools/server/tests", "tools/server/themes",
    "tools/server/webui", "tools/ui/src", "tools/ui/static", "tools/ui/tests",
)  # fmt: skip

_ANYWHERE = ("**/*.md", "**/*.py")

# Each folder below ggml/src with the CMake options of which one must be on for it to be compiled.
_BACKENDS: Mapping[str, tuple[str, ...]] = {
    "ggml-blas": ("GGML_BLAS",),
    "ggml-cann": ("GGML_CANN",),
    "ggml-cuda": ("GGML_CUDA", "GGML_HIP", "GGML_MUSA"),  # hip and musa compile CUDA's sources
    "ggml-et": ("GGML_ET",),
    "ggml-hexagon": ("GGML_HEXAGON",),
    "ggml-hip": ("GGML_HIP",),
    "ggml-metal": ("GGML_METAL",),
    "ggml-musa": ("GGML_MUSA",),
    "ggml-opencl": ("GGML_OPENCL",),
    "ggml-openvino": ("GGML_OPENVINO",),
    "ggml-rpc": ("GGML_RPC",),
    "ggml-sycl": ("GGML_SYCL",),
    "ggml-virtgpu": ("GGML_VIRTGPU",),
    "ggml-vulkan": ("GGML_VULKAN",),
    "ggml-webgpu": ("GGML_WEBGPU",),
    "ggml-zdnn": ("GGML_ZDNN",),
    "ggml-zendnn": ("GGML_ZENDNN",),
}
_ON_BY_ITSELF_ON_A_MAC = frozenset({"ggml-blas", "ggml-metal"})


def built_paths(backend: Backend, options: Mapping[str, str]) -> tuple[str, ...]:
    """Patterns that match what is compiled for this backend with these CMake options."""
    named = {name.upper() for name in options} | {f"GGML_{backend.name}"}
    absent = [
        f"ggml/src/{folder}"
        for folder, switches in _BACKENDS.items()
        if folder not in _ON_BY_ITSELF_ON_A_MAC and named.isdisjoint(switches)
    ]
    return (
        ".",
        *(f":(exclude){path}" for path in (*_NO_TARGET_OF_OURS, *absent)),
        *(f":(exclude,glob){pattern}" for pattern in _ANYWHERE),
    )
