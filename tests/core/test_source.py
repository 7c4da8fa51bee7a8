"""Sources as a user writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.sdist_hashes import PUBLISHED_SDISTS
from pytest_mtp.core.source import UPSTREAM, SourceKind, SourceSpec, parse_source
from pytest_mtp.errors import SettingsError

SHA256 = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "location", "ref", "sha256"),
    [
        ("release:b11434", "b11434", None, None),
        ("sdist:11434", "11434.0.0", None, None),
        ("sdist:11434.0.0", "11434.0.0", None, None),
        (f"sdist:1.2#sha256={SHA256.upper()}", "1.2", None, SHA256),
        ("git:https://host.example/a/b.git@master", "https://host.example/a/b.git", "master", None),
        ("git:ssh://git@host.example:22/a@b/c@feature/x", "ssh://git@host.example:22/a@b/c", "feature/x", None),
        ("git:file:///srv/llama.cpp@b11434", "file:///srv/llama.cpp", "b11434", None),
        ("git:http://127.0.0.1:8080/a@v1", "http://127.0.0.1:8080/a", "v1", None),
        ("git:http://localhost/a@v1", "http://localhost/a", "v1", None),
        ("git:http://[::1]:8080/a@v1", "http://[::1]:8080/a", "v1", None),
        ("git:https://host.example/a@merge-requests/7/head", "https://host.example/a", "merge-requests/7/head", None),
        ("git:/srv/llama.cpp@HEAD", "/srv/llama.cpp", "HEAD", None),
        ("pr:123", UPSTREAM, "pull/123/head", None),
        ("dir:~/llama.cpp@old", "~/llama.cpp@old", None, None),
        (" bin:/opt/llama-server ", "/opt/llama-server", None, None),
    ],
)
def test_a_source_is_read_and_written_back(text: str, location: str, ref: str | None, sha256: str | None) -> None:
    spec = parse_source(text)
    assert (spec.location, spec.ref, spec.sha256) == (location, ref, sha256)
    assert parse_source(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("llama.cpp", "no known form"),
        ("dir:", "no known form"),
        ("svn:https://host.example/a@1", "no known form"),
        ("release:11434", "names no release"),
        ("release:b0", "names no release"),
        ("release:b1/../x", "names no release"),
        ("sdist:b11434", "names no sdist"),
        ("sdist:11434#sha256=abc", "names no sdist"),
        ("git:ggml-org/llama.cpp@master", "no git URL"),
        ("git:ext::sh -c true@master", "no git URL"),
        ("git:https://-oProxyCommand=x/a@master", "no git URL"),
        ("git:http://host.example/a@master", "plain http"),
        ("git:http://localhost.host.example/a@master", "plain http"),
        ("git:http://127.0.0.1.host.example/a@master", "plain http"),
        ("git:http://127.0.0.1:1x/a@master", "plain http"),
        ("git:https://host.example/a", "put @REF"),
        ("git:ssh://git@host.example/a", "put @REF"),
        ("git:https://host.example/a@--upload-pack=x", "'--upload-pack=x', which is no branch"),
        ("git:https://host.example/a@a..b", "no branch, tag or commit"),
        ("git:https://host.example/a@", "no branch, tag or commit"),
        ("pr:0", "no pull request"),
        ("pr:12/head", "no pull request"),
    ],
)
def test_what_is_no_source_is_refused_with_all_forms(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as refusal:
        parse_source(text)
    assert all(
        form in str(refusal.value)
        for form in ("release:bN", "sdist:", "git:URL@REF", "pr:NUMBER", "dir:PATH", "bin:PATH")
    )


@pytest.mark.parametrize(
    "host",
    ["https://s3cret@host.example", "https://me:s3c@ret@host.example", "ssh://me:s3cret@h", "http://s3cret@127.0.0.1"],
)
def test_a_password_in_a_url_is_refused_and_not_repeated(host: str) -> None:
    with pytest.raises(SettingsError, match="credential helper") as refusal:
        parse_source(f"git:{host}/a@master")
    assert "s3c" not in str(refusal.value)


@given(
    st.from_regex(r"[a-z0-9][a-z0-9._]{0,20}(/[a-z0-9]{1,5}){0,2}", fullmatch=True).filter(lambda ref: ".." not in ref)
)
def test_every_plain_name_is_a_ref(ref: str) -> None:
    spec = SourceSpec(kind=SourceKind.GIT, location=UPSTREAM, ref=ref)
    assert parse_source(str(spec)) == spec


def test_releases_and_given_binaries_need_no_build() -> None:
    assert {kind for kind in SourceKind if kind.ready_made} == {SourceKind.RELEASE, SourceKind.BIN}


def test_known_sdists_are_named_as_parsing_names_them() -> None:
    assert all(parse_source(f"sdist:{one}#sha256={PUBLISHED_SDISTS[one]}").location == one for one in PUBLISHED_SDISTS)
