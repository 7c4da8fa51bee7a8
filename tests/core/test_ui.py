from pytest_mtp.core.ui import How, Way, download_options, npm_environment, outputs, ways

TODAY = {"tools/ui/package.json", "tools/ui/package-lock.json", "scripts/ui-assets.cmake"}
NPM, HUB = Way(How.NPM, "tools/ui"), Way(How.HUB, "scripts/ui-assets.cmake")


def test_a_tree_of_today_makes_its_page_with_npm_or_fetches_it() -> None:
    assert ways(TODAY.__contains__) == (NPM, HUB)


def test_a_page_that_somebody_made_comes_first() -> None:
    made = TODAY | {"tools/ui/dist/index.html"}
    assert ways(made.__contains__) == (Way(How.TREE, "tools/ui/dist"), NPM, HUB)


def test_an_old_tree_carries_its_page() -> None:
    old = {"tools/server/public/index.html", "tools/server/webui/package-lock.json"}
    assert ways(old.__contains__) == (Way(How.TREE, "tools/server/public"), Way(How.NPM, "tools/server/webui"))


def test_an_sdist_may_have_left_all_of_it_out() -> None:
    assert ways({"tools/ui/CMakeLists.txt", "scripts/ui-download.cmake"}.__contains__) == ()


def test_a_package_is_told_where_to_write_and_what_it_is() -> None:
    assert npm_environment("b11434", "/w/dist") == {
        "LLAMA_UI_OUT_DIR": "/w/dist",
        "LLAMA_UI_VERSION": "b11434",
        "LLAMA_BUILD_NUMBER": "11434",
    }
    # A branch is no release; the package then shows its own placeholder.
    assert npm_environment("master @ 1a2b3c4", "/w/dist") == {"LLAMA_UI_OUT_DIR": "/w/dist"}
    assert npm_environment("b1a2c3d", "/w/dist") == {"LLAMA_UI_OUT_DIR": "/w/dist"}


def test_an_old_package_writes_beside_itself() -> None:
    assert outputs("tools/server/webui")[0] == "tools/server/webui/dist"
    assert "tools/server/public" in outputs("tools/server/webui")


def test_the_script_downloads_the_release_of_the_source_and_leaves_npm_alone() -> None:
    options = download_options("/tree", "b11434", "/work")
    assert {"-DHF_VERSION=b11434", "-DHF_ENABLED=ON", "-DBUILD_UI=OFF", "-DUI_BINARY_DIR=/work"} <= set(options)
    assert "-DHF_VERSION=" in download_options("/tree", "mine @ 1a2b3c4+dirty", "/work")
