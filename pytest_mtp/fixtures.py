"""The public fixtures: what a suite of one's own may use or override."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mtp import collection
from pytest_mtp.showing import Shown, plainly

if TYPE_CHECKING:
    from pytest_mtp.core.build_spec import Build, BuildSpec
    from pytest_mtp.core.capabilities import Capabilities
    from pytest_mtp.core.case import Case
    from pytest_mtp.core.model import Model
    from pytest_mtp.core.profile import Profile
    from pytest_mtp.core.rate import Rate, RateResult
    from pytest_mtp.core.server_spec import Arm
    from pytest_mtp.core.source import Source
    from pytest_mtp.core.suites.protocol import Design
    from pytest_mtp.core.verdict import ClassResult, Verdict
    from pytest_mtp.equipment import Equipment
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.progress import Progress
    from pytest_mtp.session import Run


@pytest.fixture(scope="session")
def mtp_run(pytestconfig: pytest.Config) -> "Run":
    """The state of this run: settings, profile, and what was measured so far.

    Scope: session, free. Skips unless --mtp or --mtp-gpu is given.
    """
    run = pytestconfig.stash.get(collection.RUN, None)
    if run is None:
        pytest.skip("measures a llama-server: give --mtp (CPU) or --mtp-gpu")
    return run


@pytest.fixture(scope="session")
def mtp_profile(mtp_run: "Run") -> "Profile":
    """The profile in force, with every override of the command line.

    Scope: session, free. Changed by --mtp-profile and --mtp-set.
    """
    return mtp_run.profile


@pytest.fixture(scope="session")
def mtp_progress(pytestconfig: pytest.Config) -> "Progress":
    """A function that shows one line of progress although pytest captures output.

    Scope: session, free. Off a terminal it prints a line at most every ten seconds.
    """
    return Shown(pytestconfig)


@pytest.fixture(scope="session")
def mtp_cache(mtp_run: "Run") -> "Cache":
    """The cache of sources, builds and phantoms.

    Scope: session, free. Changed by --mtp-cache-dir.
    """
    from pytest_mtp.runtime.cache import Cache

    return Cache(mtp_run.settings.cache_dir)


@pytest.fixture(scope="session")
def mtp_source(mtp_run: "Run", mtp_cache: "Cache", mtp_progress: "Progress") -> "Source":
    """The llama.cpp under test: a tree, or a binary that exists.

    Scope: session. Seconds to a minute the first time, then a cache hit.
    Changed by --mtp-source. Skips where no llama.cpp is compiled: for vLLM, and for servers that run already.
    Errors with the reason when it cannot be had.
    """
    from pytest_mtp.core.served_tables import Serving
    from pytest_mtp.equipment import source_of

    if mtp_run.profile.serving is not Serving.LLAMA_CPP:
        pytest.skip("no llama.cpp is compiled for this profile's servers, so its flags cannot be looked up")
    with plainly(mtp_progress):
        return source_of(mtp_run.settings, mtp_run.profile, mtp_cache, mtp_progress)


@pytest.fixture(scope="session")
def mtp_build_spec(mtp_run: "Run", mtp_profile: "Profile") -> "BuildSpec":
    """How llama.cpp is compiled: backend, CMake options, targets.

    Scope: session, free. Override it, or the profile's [build] table, to change CMake options.
    """
    from pytest_mtp.equipment import build_spec_of, cards_of

    return build_spec_of(mtp_profile, cards=cards_of(mtp_run.settings, mtp_profile))


@pytest.fixture(scope="session")
def mtp_build(
    mtp_run: "Run", mtp_build_spec: "BuildSpec", mtp_source: "Source", mtp_cache: "Cache", mtp_progress: "Progress"
) -> "Build":
    """The llama-server under test.

    Scope: session. Minutes the first time, then a cache hit in --mtp-cache-dir.
    Override ``mtp_build_spec`` to change CMake options, ``mtp_source`` to change the code.
    Errors with the compiler's last lines when it does not compile.
    """
    from pytest_mtp.equipment import sandbox_of
    from pytest_mtp.runtime.build import build

    with plainly(mtp_progress):
        sandbox = sandbox_of(mtp_run.settings, mtp_run.profile)
        return build(mtp_build_spec, mtp_source, mtp_cache, mtp_progress, sandbox)


@pytest.fixture(scope="session")
def mtp_capabilities(mtp_run: "Run", mtp_build: "Build") -> "Capabilities":
    """What this build's --help offers.

    Scope: session, one run of the binary. Errors when the binary dies of it.
    """
    from pytest_mtp.equipment import sandbox_of
    from pytest_mtp.runtime.probe import probe

    with plainly():
        return probe(mtp_build.server, sandbox=sandbox_of(mtp_run.settings, mtp_run.profile))


@pytest.fixture(scope="session")
def mtp_model(mtp_run: "Run", mtp_cache: "Cache", mtp_progress: "Progress") -> "Model":
    """The model file under test.

    Scope: session. Ten seconds to write a phantom, a download for a model of the hub, then a cache hit.
    Changed by --mtp-model. Errors with the reason when it cannot be had.
    """
    from pytest_mtp.equipment import model_of

    with plainly(mtp_progress):
        return model_of(mtp_run.settings, mtp_run.profile, mtp_cache, mtp_progress)


@pytest.fixture(scope="session")
def mtp_equipment(
    mtp_run: "Run", tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> "Equipment":
    """Build, model and machine, ready to be measured; the servers' logs go to pytest's temporary folder.

    Scope: session; its cost is that of ``mtp_build``, ``mtp_capabilities`` and ``mtp_model``, which it asks for where
    llama.cpp is compiled, and not where servers run already (--mtp-endpoint) or vLLM is started.
    """
    from pytest_mtp.core.served_tables import Serving
    from pytest_mtp.equipment import equipment_of
    from pytest_mtp.other_engines import running_equipment, vllm_equipment

    settings, profile = mtp_run.settings, mtp_run.profile
    logs = tmp_path_factory.mktemp("mtp-servers")
    if profile.serving is Serving.LLAMA_CPP:
        made, capabilities, model = (
            request.getfixturevalue(name) for name in ("mtp_build", "mtp_capabilities", "mtp_model")
        )
        with plainly():
            return equipment_of(settings, profile, made, capabilities, model, logs)
    with plainly():
        if profile.serving is Serving.VLLM:
            return vllm_equipment(settings, profile, logs)
        return running_equipment({one.arm: one for one in settings.endpoints}, profile, logs)


@pytest.fixture
def mtp_result(
    mtp_case: "Case",
    mtp_run: "Run",
    mtp_equipment: "Equipment",
    mtp_progress: "Progress",
    request: pytest.FixtureRequest,
) -> "ClassResult":
    """The measured and judged result of one flag set and prompt class.

    Scope: function; the first test of a flag set measures its whole campaign (minutes), the others read it.
    Its numbers become the test's ``user_properties``; commands and log tails its report sections.
    Errors when neither arm can be started; an mtp arm that alone does not start is a result.
    """
    from pytest_mtp.core.verdict import Outcome
    from pytest_mtp.reports import properties

    with plainly(mtp_progress):
        result = mtp_run.result(mtp_case, lambda: mtp_equipment, mtp_progress)
    request.node.user_properties.extend(properties.of(result))
    for title, text in properties.sections(mtp_run.judged[mtp_case.flag_set].campaign):
        request.node.add_report_section("setup", title, text)
    if result.speed.outcome is Outcome.ERROR:
        pytest.fail(result.speed.reason, pytrace=False)
    return result


@pytest.fixture
def mtp_rates(
    mtp_flag_set: str,
    mtp_run: "Run",
    mtp_equipment: "Equipment",
    mtp_progress: "Progress",
    request: pytest.FixtureRequest,
) -> "Mapping[Rate, RateResult]":
    """The speeds of one flag set (plain tok/s, mtp tok/s, prompt tok/s) against the recorded ones.

    Scope: function; the first test of a flag set measures its whole campaign (minutes), the others read it.
    Empty where nothing is on record, and a speed that was not timed is left out. The numbers become the test's
    ``user_properties``. Errors when neither arm can be started.
    """
    from pytest_mtp.reports import properties

    with plainly(mtp_progress):
        judged = mtp_run.conclusion(mtp_flag_set, lambda: mtp_equipment, mtp_progress)
    rates = {one.rate: one for one in judged.rates}
    for one in rates.values():
        request.node.user_properties.extend(properties.of_rate(one))
    return rates


@pytest.fixture
def mtp_study(
    mtp_run: "Run", mtp_equipment: "Equipment", mtp_progress: "Progress", request: pytest.FixtureRequest
) -> Callable[["Design"], "Verdict"]:
    """A function that measures a further suite's design and returns its verdict.

    Scope: function; half a minute to some minutes a design on the phantom, told in docs/suites.md. The numbers become
    the test's ``user_properties``. Skips where two builds are compared, where the build offers nothing to compare, and
    where servers that run already would need other flags or cannot count tokens. Errors when neither arm can be
    started.
    """
    from pytest_mtp.core.served_tables import Serving
    from pytest_mtp.core.suites.protocol import changes_servers, gives_lengths
    from pytest_mtp.core.verdict import Outcome
    from pytest_mtp.reports import properties

    def study(design: "Design") -> "Verdict":
        if mtp_run.settings.compare_to is not None:
            pytest.skip("a comparison asks about speed and acceptance alone")
        if mtp_run.profile.serving is Serving.RUNNING and changes_servers(design, mtp_run.profile):
            pytest.skip("the servers run already, and this suite needs others: their flags cannot be changed")
        if design.lacking is not None:
            pytest.skip(f"there is nothing to compare: {design.lacking}")
        if not mtp_equipment.counts_tokens and gives_lengths(design):
            pytest.skip("the engine does not tell the tokens of a text, so no prompt can be given a length")
        with plainly(mtp_progress):
            found = mtp_run.study(design, lambda: mtp_equipment, mtp_progress)
        request.node.user_properties.extend(properties.of_study(found))
        if found.verdict.outcome is Outcome.ERROR:
            pytest.fail(found.verdict.reason, pytrace=False)
        return found.verdict

    return study


@pytest.fixture
def mtp_gate(mtp_run: "Run") -> Callable[["Verdict"], None]:
    """A function that turns a verdict into the fate of the test: green, red, or skipped with the reason.

    Scope: function, free. --mtp-strict makes the skipped ones red; one skipped ends the run with 17. What the engine
    does not tell is skipped always, and changes no exit status.
    """
    from pytest_mtp.core.verdict import Outcome

    def settle(verdict: "Verdict") -> None:
        mtp_run.settled.append(verdict)
        said = f"{verdict.outcome.value}: {verdict.reason}"
        if verdict.outcome is Outcome.NOT_TOLD:
            pytest.skip(said)
        if verdict.outcome.open and (not mtp_run.settings.strict or mtp_run.excused(verdict)):
            pytest.skip(said)
        if not verdict.outcome.passes:
            pytest.fail(said, pytrace=False)

    return settle


@pytest.fixture
def mtp_replay(
    mtp_case: "Case", mtp_result: "ClassResult", mtp_run: "Run", request: pytest.FixtureRequest
) -> Callable[["Arm"], int]:
    """A function that shows the blocks of one arm to pytest-benchmark and returns how many there were.

    Scope: function, free: the times are the server's, replayed on a virtual clock.
    The test needs ``@pytest.mark.benchmark(timer=pytest_mtp.replay.CLOCK)``. Without pytest-benchmark it only counts.
    """
    from pytest_mtp import replay

    def show(arm: "Arm") -> int:
        campaign = mtp_run.judged[mtp_case.flag_set].campaign
        seconds = replay.seconds_per_token(campaign, arm, mtp_case.prompt_class)
        if seconds and request.config.pluginmanager.hasplugin("benchmark"):
            benchmark: Any = request.getfixturevalue("benchmark")
            replay.play(benchmark, seconds, group=f"{mtp_case.flag_set}: time per token")
            benchmark.extra_info["timings"] = replay.raw(campaign, arm, mtp_case.prompt_class)
        return len(seconds)

    return show
