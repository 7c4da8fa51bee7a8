"""What is planted in llama.cpp: losses that are built in, a branch each, and the branch of faults in reserve."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.laboratory.edits import SPECULATION, Change, Edit
from tests.laboratory.faults import FAULTY

ENGINE = "src/llama-context.cpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """How large the planted losses are."""

    step_us: int = 2_000
    """Wasted in every draft of the MTP head: on two cores the phantom's mtp arm loses 16 to 22 % of its tok/s."""
    every: int = 6
    """A token of every so many positions is drafted wrong: of drafts that are all right, tau falls from 3.9 to 3.0."""
    engine_percent: int = 35
    """What every computation takes longer, which costs both arms a quarter of their tok/s."""


def slow_step(step_us: int) -> Edit:
    """Waste time once per draft of the MTP head; a plain server never comes here."""
    begin = (
        "        while (n_drafting > 0) {\n            // each step decodes under a different head, i.e. a different"
    )
    spin = f"        for (const int64_t until = ggml_time_us() + {step_us}; ggml_time_us() < until; ) {{}}\n\n"
    return Edit(SPECULATION, begin, spin + begin)


def bad_drafts(every: int) -> Edit:
    """Draft a wrong token at every so manieth position, which costs no time and is the same in every request.

    The token two before: the one before is what a phantom's wrong guess should have been.
    """
    read = (
        "                const float * h_row = llama_get_embeddings_nextn_ith(ctx_dft, i_last[seq_id]);\n\n"
        "                const auto * cur_p = common_sampler_get_candidates(smpl, true);\n"
    )
    spoil = (
        f"\n                if ((dparams.at(seq_id).pos0 + i) % {every} == 0) {{\n"
        "                    cur_p->data[0].id += cur_p->data[0].id > 1 ? -2 : 2;\n"
        "                }\n"
    )
    return Edit(SPECULATION, read, read + spoil)


def slow_engine(percent: int) -> Edit:
    """Waste a share of what every graph took to compute.

    A fixed time per call would weigh on a plain step, which is one short call, more than on a speculative one. A share
    weighs on the prompt, the plain step, the drafts and their verification alike, so that their ratio stays.
    """
    call = "process_ubatch(ubatch, ctx_type_to_graph_type(cparams.ctx_type), mctx.get(), status);\n"
    spin = (
        "        {\n"
        "            ggml_backend_sched_synchronize(sched.get());\n"
        "            const int64_t ended = ggml_time_us();\n"
        f"            const int64_t until = ended + (ended - began) * {percent} / 100;\n"
        "            while (ggml_time_us() < until) {}\n"
        "        }\n"
    )
    declared = "        const auto * res = "
    return Edit(ENGINE, declared + call, f"        const int64_t began = ggml_time_us();\n{declared}{call}{spin}")


def no_mtp_start() -> Edit:
    """Fail to make the MTP context, upon which llama-server ends by itself; a plain one never asks for it."""
    return Edit(
        SPECULATION,
        "llama_context * ctx_dft = llama_init_from_model(model_tgt, cparams);",
        "llama_context * ctx_dft = nullptr;",
    )


def comment(path: str, text: str) -> Edit:
    """A comment on the line that includes the file's own header.

    It moves no line, so that ccache knows the preprocessed file again and nothing is compiled.
    """
    line = f'#include "{path.rpartition("/")[2].removesuffix(".cpp")}.h"\n'
    return Edit(path, line, f"{line[:-1]} // {text}\n")


def branches(losses: Losses) -> Mapping[str, Change]:
    """What each branch changes of the base."""
    return {
        "unchanged": Change("A comment: nothing changes", (comment("src/llama-batch.cpp", "nothing changes"),)),
        "slow-step": Change("The MTP head's drafts take longer", (slow_step(losses.step_us),)),
        "bad-drafts": Change("The MTP head's drafts are worse", (bad_drafts(losses.every),)),
        "slow-engine": Change("Every computation takes longer", (slow_engine(losses.engine_percent),)),
        "no-mtp-start": Change("The MTP context cannot be made", (no_mtp_start(),)),
        # The last one, so that the commits of the others stay what they were.
        "faults": FAULTY,
    }


def history(losses: Losses) -> tuple[Change, ...]:
    """Sixteen commits, of which the ninth is guilty.

    git's own bisection comes to the commits 8, 12, 10 and 9, in this order: 12 is the undecided one and 10 the one that
    does not compile. The commit before the guilty one can be tested, so that the answer is one commit.
    """
    whole, broken = "    return LLAMA_MAX_SEQ;\n", "    return LLAMA_MAX_SEQ\n"
    return (
        _remark(1, "src/llama-batch.cpp"),
        _remark(2, "src/llama-io.cpp"),
        _remark(3, "common/console.cpp"),
        Change("4: docs only", (Edit("README.md", "# llama.cpp\n", "# llama.cpp, planted\n"),)),
        _remark(5, "src/llama-memory.cpp"),
        _remark(6, "src/llama-mmap.cpp"),
        _remark(7, "common/ngram-cache.cpp"),
        _remark(8, "src/llama-hparams.cpp"),
        Change("9: the MTP head's drafts take longer", (slow_step(losses.step_us),), "planted"),
        Change("10: does not compile", (Edit("src/llama-cparams.cpp", whole, broken),), "uncompilable"),
        Change("11: compiles again", (Edit("src/llama-cparams.cpp", broken, whole),)),
        _remark(12, "src/llama-impl.cpp", "undecided"),
        _remark(13, "src/llama-adapter.cpp"),
        Change("14: docs only", (Edit("tools/server/README.md", "# LLaMA.cpp HTTP Server\n", "# llama-server\n"),)),
        _remark(15, "src/llama-chat.cpp"),
        _remark(16, "common/unicode.cpp"),
    )


def _remark(number: int, path: str, tag: str | None = None) -> Change:
    what = "a comment" if tag is None else f"a comment; tests make this one {tag}"
    return Change(f"{number}: {what}", (comment(path, f"commit {number}"),), tag)
