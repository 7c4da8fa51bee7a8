"""Which published files run where, by the names that upstream's releases have."""

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.release import Asset, Target, chosen_assets, expected_sha256, refusal
from pytest_mtp.errors import SourceError

# As the release workflow of that version names them.
B11434 = """
cudart-llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz cudart-llama-b11434-bin-ubuntu-cuda-13.4-arm64.tar.gz
cudart-llama-b11434-bin-ubuntu-cuda-13.4-x64.tar.gz cudart-llama-bin-win-cuda-12.4-x64.zip
llama-b11434-bin-android-arm64.tar.gz llama-b11434-bin-linux-arm64-snapdragon.tar.gz
llama-b11434-bin-macos-arm64.tar.gz llama-b11434-bin-macos-x64.tar.gz
llama-b11434-bin-ubuntu-arm64.tar.gz llama-b11434-bin-ubuntu-cuda-13.4-arm64.tar.gz
llama-b11434-bin-ubuntu-cuda-13.4-x64.tar.gz llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz
llama-b11434-bin-ubuntu-openvino-2026.0-x64.tar.gz llama-b11434-bin-ubuntu-rocm-10.0-x64.tar.gz
llama-b11434-bin-ubuntu-s390x.tar.gz llama-b11434-bin-ubuntu-sycl-fp16-x64.tar.gz
llama-b11434-bin-ubuntu-vulkan-arm64.tar.gz llama-b11434-bin-ubuntu-vulkan-x64.tar.gz
llama-b11434-bin-ubuntu-x64.tar.gz llama-b11434-bin-win-cpu-x64.zip llama-b11434-bin-win-cuda-12.4-x64.zip
llama-b11434-ui.tar.gz llama-b11434-xcframework.zip
"""
# Of the year before: zips, and no CUDA for Linux.
B5000 = """
llama-b5000-bin-macos-arm64.zip llama-b5000-bin-ubuntu-vulkan-x64.zip llama-b5000-bin-ubuntu-x64.zip
llama-b5000-bin-win-cuda-12.4-x64.zip
"""


def assets(names: str) -> list[Asset]:
    return [Asset(name=name, size=1, browser_download_url=f"https://host.example/{name}") for name in names.split()]


def chosen(tag: str, names: str, system: str, machine: str, backend: Backend) -> list[str]:
    return [one.name for one in chosen_assets(tag, assets(names), Target(system, machine, backend))]


@pytest.mark.parametrize(
    ("system", "machine", "backend", "place"),
    [
        ("Linux", "x86_64", Backend.CPU, "ubuntu-x64"),
        ("Linux", "AMD64", Backend.CPU, "ubuntu-x64"),
        ("Linux", "aarch64", Backend.CPU, "ubuntu-arm64"),
        ("Linux", "s390x", Backend.CPU, "ubuntu-s390x"),
        ("Linux", "x86_64", Backend.VULKAN, "ubuntu-vulkan-x64"),
        ("Linux", "aarch64", Backend.VULKAN, "ubuntu-vulkan-arm64"),
        ("Linux", "x86_64", Backend.HIP, "ubuntu-rocm-10.0-x64"),
        ("Darwin", "arm64", Backend.METAL, "macos-arm64"),
        ("Darwin", "arm64", Backend.CPU, "macos-arm64"),
        ("Darwin", "x86_64", Backend.CPU, "macos-x64"),
    ],
)
def test_one_file_runs_on_each_place_and_backend(system: str, machine: str, backend: Backend, place: str) -> None:
    assert chosen("b11434", B11434, system, machine, backend) == [f"llama-b11434-bin-{place}.tar.gz"]


def test_of_two_cudas_the_older_is_taken_with_its_libraries() -> None:
    name = "llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz"
    assert chosen("b11434", B11434, "Linux", "x86_64", Backend.CUDA) == [name, f"cudart-{name}"]
    ten = B11434.replace("13.4", "9.10")
    assert chosen("b11434", ten, "Linux", "x86_64", Backend.CUDA)[0] == name.replace("12.8", "9.10")


def test_older_releases_are_zips_and_a_tar_is_preferred() -> None:
    assert chosen("b5000", B5000, "Linux", "x86_64", Backend.CPU) == ["llama-b5000-bin-ubuntu-x64.zip"]
    both = f"{B5000} llama-b5000-bin-ubuntu-x64.tar.gz"
    assert chosen("b5000", both, "Linux", "x86_64", Backend.CPU) == ["llama-b5000-bin-ubuntu-x64.tar.gz"]


@pytest.mark.parametrize(
    ("system", "machine", "backend"),
    [
        ("Linux", "x86_64", Backend.METAL),
        ("Linux", "riscv64", Backend.CPU),
        ("Linux", "aarch64", Backend.HIP),
        ("Darwin", "x86_64", Backend.METAL),
        ("Darwin", "arm64", Backend.CUDA),
        ("Windows", "AMD64", Backend.CPU),
        ("Linux", "x86_64", Backend.AUTO),
    ],
)
def test_where_nothing_runs_everything_is_listed(system: str, machine: str, backend: Backend) -> None:
    sentence = rf"b11434 .* no binary for {backend.value} on {system} {machine}; it has: .*macos-arm64, .*ubuntu-x64"
    with pytest.raises(SourceError, match=sentence) as refused:
        chosen("b11434", B11434, system, machine, backend)
    assert "compile it: git:https://github.com/ggml-org/llama.cpp@b11434" in str(refused.value)


def test_a_release_without_cuda_for_linux_says_why() -> None:
    with pytest.raises(SourceError, match=r"it has: macos-arm64, .* Older releases have no CUDA binary for Linux\."):
        chosen("b5000", B5000, "Linux", "x86_64", Backend.CUDA)


def test_a_release_without_files_lists_nothing() -> None:
    with pytest.raises(SourceError, match="it has: nothing"):
        chosen("b7", "llama-b7-ui.tar.gz", "Linux", "x86_64", Backend.CPU)


@pytest.mark.parametrize("digest", [None, "", "sha512:abc", "sha256:abc", f"sha256:{'G' * 64}"])
def test_a_file_without_a_sha256_is_refused(digest: str | None) -> None:
    with pytest.raises(SourceError, match=r"names no SHA-256 for a\.zip.*bin:PATH"):
        expected_sha256(Asset(name="a.zip", size=1, digest=digest, browser_download_url=""))


def test_the_sha256_is_what_stands_behind_its_name() -> None:
    asset = Asset(name="a.zip", size=1, digest=f"sha256:{'ab' * 32}", browser_download_url="")
    assert expected_sha256(asset) == "ab" * 32


@pytest.mark.parametrize(
    ("status", "headers", "sentence"),
    [
        (404, {}, "llama.cpp has no release b7; not every number is one"),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000000"}, "until 2027-01-15 08:00 UTC"),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000000"}, "until 2027-01-15 08:00 UTC"),
        (429, {"retry-after": "60"}, "wants no further question for 60 s"),
        (403, {"x-ratelimit-remaining": "59", "x-ratelimit-reset": "1800000000"}, "a firewall or proxy may be"),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, "a firewall or proxy may be"),
        (502, {}, "answers HTTP 502 when asked for b7; try again later"),
    ],
)
def test_every_refusal_has_a_sentence(status: int, headers: dict[str, str], sentence: str) -> None:
    assert sentence in refusal("b7", status, headers)
