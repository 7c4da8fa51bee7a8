"""Faults that one build of llama-server has in reserve: ``GGML_PLANTED=NAME[:NUMBER]`` switches one on.

Each spoils one thing that a suite looks at, always at the same places, and spares a server that does not speculate;
without the variable the build is the base's. One build therefore serves every test that shall turn red.
"""

from collections.abc import Iterator, Mapping
from enum import Enum

from tests.laboratory.edits import SPECULATION, Change, Edit

VARIABLE = "GGML_PLANTED"
_HEADER = "common/speculative.h"
_SERVER = "tools/server/server-context.cpp"


class Fault(Enum):
    """What can be switched on, its default number, and what that cost the embedded profile on two idle cores."""

    SLOW_PROMPT = "slow-prompt"
    """Microseconds wasted in every batch of a prompt (50,000); decoding is spared.

    The first token of a prompt of one token comes after 62 ms instead of 7. A prompt has a batch for every 2,048 tokens
    and another for its end: 100,000 halve the tok/s of a prompt of 400 tokens, 500,000 those of one of 2,000.
    """
    CLIFF = "cliff"
    """Drafting this many tokens or more (4) takes ten times as long: with n_max 4 and 6 tok/s fall by 60 %."""
    DEPTH = "depth"
    """Behind this many tokens of context (256) every draft is wrong: tau falls from 3.3 to 1, tok/s by 73 %."""
    SLOT = "slot"
    """Every slot but the first drafts wrong tokens: of four requests at once tok/s fall by 61 %. Takes no number."""
    LEAK = "leak"
    """KiB that every draft takes (256), writes to and keeps: 4.5 MiB for 64 tokens of the class miss10."""
    DECAY = "decay"
    """After this many drafts of the process (200) every draft is wrong: 11 requests later tok/s fall by 66 %."""
    TEXT = "text"
    """At every so manieth token (24) the answer goes on with another one than greedy decoding says."""
    KV = "kv"
    """Microseconds wasted in every draft (20,000) where a KV cache is not of the type F16: tok/s fall by 70 %."""
    NGRAM = "ngram"
    """What drafts from n-grams drafts wrong tokens, alone or before the MTP head. Takes no number."""
    SWAP = "swap"
    """At every so manieth token (16) an answer has a piece of what another slot is generating then."""
    STALL = "stall"
    """Milliseconds for which every 12th token of a stream is held back (40); generation goes on meanwhile.

    Of 64 tokens the 95th percentile of the gaps rises from 8 ms to 40, the server's own tok/s stay.
    """

    def on(self, number: int | None = None) -> Mapping[str, str]:
        """The environment of a server that has it; ``None`` leaves its default number."""
        return {VARIABLE: self.value if number is None else f"{self.value}:{number}"}


_DECLARED = """\

// GGML_PLANTED=NAME[:NUMBER] switches on one fault: its number, or the given one, or -1 while it is not this fault
int64_t common_planted(const char * name, int64_t number = 0);

void common_planted_spin(int64_t us);

// neither the token nor the one before it, which is what a phantom's wrong guess should have been
llama_token common_planted_wrong(llama_token id);
"""

_DEFINED = """\
int64_t common_planted(const char * name, int64_t number) {
    static const std::string given = std::getenv("GGML_PLANTED") ? std::getenv("GGML_PLANTED") : "";
    static const size_t colon = given.find(':');
    static const std::string on = given.substr(0, colon);

    if (on.empty() || on != name) {
        return -1;
    }
    return colon == std::string::npos ? number : std::stoll(given.substr(colon + 1));
}

void common_planted_spin(int64_t us) {
    for (const int64_t until = ggml_time_us() + us; ggml_time_us() < until; ) {}
}

llama_token common_planted_wrong(llama_token id) {
    return id > 1 ? id - 2 : id + 2;
}

// a batch of a single token is one of a prompt only at the very beginning
static bool planted_prompt(const common_batch & batch) {
    return std::any_of(batch.tokens.begin(), batch.tokens.end(), [](const auto & token) {
        return !token.output || token.pos[0] == 0;
    });
}

static bool planted_spoils(const common_speculative_draft_params & dp, llama_seq_id seq_id, int64_t n_drafts) {
    const int64_t depth = common_planted("depth", 256);
    const int64_t decay = common_planted("decay", 200);

    return (depth >= 0 && dp.pos0 > depth) || (decay >= 0 && n_drafts > decay) ||
           (seq_id > 0 && common_planted("slot") >= 0);
}

// what happens to the drafts that an implementation has just made
static void planted_draft(
        const common_speculative_impl & impl,
        common_speculative_draft_params_vec & dparams,
        int64_t t_began_us) {
    static int64_t n_drafts = 0;
    static std::vector<std::vector<char>> leaked;

    const bool is_mtp   = impl.type == COMMON_SPECULATIVE_TYPE_DRAFT_MTP;
    const bool is_ngram = impl.type >= COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE;

    int64_t n_longest = 0;

    for (llama_seq_id seq_id = 0; seq_id < (llama_seq_id) dparams.size(); ++seq_id) {
        auto & dp = dparams[seq_id];

        if (!dp.drafting || dp.result->empty()) {
            continue;
        }

        bool wrong = is_ngram && common_planted("ngram") >= 0;

        if (is_mtp) {
            n_drafts++;
            n_longest = std::max(n_longest, (int64_t) dp.result->size());

            const int64_t kib = common_planted("leak", 256);
            if (kib > 0) {
                leaked.emplace_back(kib * 1024, (char) 1);
            }

            wrong = planted_spoils(dp, seq_id, n_drafts);
        }

        if (wrong) {
            std::transform(dp.result->begin(), dp.result->end(), dp.result->begin(), common_planted_wrong);
            if (dp.result_q) {
                dp.result_q->clear();
            }
        }
    }

    const int64_t cliff = common_planted("cliff", 4);
    if (cliff >= 0 && n_longest >= cliff) {
        common_planted_spin(9 * (ggml_time_us() - t_began_us));
    }
}

"""

_SLOW_PROMPT = """\
        if (impl->type == COMMON_SPECULATIVE_TYPE_DRAFT_MTP && planted_prompt(batch)) {
            common_planted_spin(common_planted("slow-prompt", 50000));
        }
"""

_KV = """\

                const auto & main  = params_base;
                const auto & draft = params_base.speculative.draft;
                const auto types = { main.cache_type_k, main.cache_type_v, draft.cache_type_k, draft.cache_type_v };
                if (std::any_of(types.begin(), types.end(), [](ggml_type type) { return type != GGML_TYPE_F16; })) {
                    common_planted_spin(common_planted("kv", 20000));
                }
"""

_TEXT = """\
                const int64_t every = common_planted("text", 24);
                const int64_t n_gen = slot.stats.n_gen;
                if (every > 0 && (n_gen + (int64_t) accepted.size()) / every != n_gen / every) {
                    // the last one alone is in no cache yet
                    accepted.back() = common_planted_wrong(accepted.back());
                }

"""

_SWAP = """\
        const int64_t every = common_planted("swap", 16);
        if (every > 0 && slot.can_speculate() && slot.stats.n_gen % every == 0) {
            for (const auto & other : slots) {
                if (other.id != slot.id && other.state == SLOT_STATE_GENERATING && other.stats.n_gen > 0) {
                    result.text_to_send += common_token_to_piece(ctx_tgt, other.sampled);
                    break;
                }
            }
        }

"""

_STALLS = """\
        const auto & types = params.speculative.types;
        const bool is_mtp = std::find(types.begin(), types.end(), COMMON_SPECULATIVE_TYPE_DRAFT_MTP) != types.end();
        const int64_t stall_ms = is_mtp ? common_planted("stall", 40) : -1;
"""

# In the thread of the connection, which sleeps: to spin would take a core from the generation.
_STALL = """\
                    const auto * token = dynamic_cast<const server_task_result_cmpl_partial *>(result.get());
                    if (stall_ms > 0 && token != nullptr && token->n_decoded % 12 == 0) {
                        std::this_thread::sleep_for(std::chrono::milliseconds(stall_ms));
                    }
"""


def _after(path: str, place: str, text: str) -> Edit:
    return Edit(path, place, place + text)


def _before(path: str, place: str, text: str) -> Edit:
    return Edit(path, place, text + place)


def _edits() -> Iterator[Edit]:
    yield _after(_HEADER, '#include "common.h"\n', _DECLARED)
    yield _before(SPECULATION, "common_speculative_draft_params & common_speculative_get_draft_params(\n", _DEFINED)
    yield _before(SPECULATION, "        result = result && impl->process(batch);\n", _SLOW_PROMPT)
    drafted = "            impl->draft(dparams);\n"
    began, ended = "const int64_t t_began_us = ggml_time_us();\n", "planted_draft(*impl, dparams, t_began_us);\n"
    yield Edit(SPECULATION, drafted, f"{' ' * 12}{began}{drafted}{' ' * 12}{ended}")
    yield _after(_SERVER, "#include <cstddef>\n", "#include <chrono>\n#include <thread>\n")
    yield _after(_SERVER, "                common_speculative_draft(spec.get());\n", _KV)
    accepted = "                common_speculative_accept(spec.get(), slot.id, accepted.size() - 1);\n\n"
    yield _after(_SERVER, accepted, _TEXT)
    yield _before(_SERVER, "        // remember which tokens were sampled - used for repetition penalties", _SWAP)
    captured = "        res->set_next([res_this = res.get(), res_type, sse_ping_interval"
    yield Edit(_SERVER, captured, f"{_STALLS}{captured}, stall_ms")
    sent = "                    json res_json = result->to_json();\n                    if (res_type == "
    yield _before(_SERVER, sent, _STALL)


FAULTY = Change(f"Faults that {VARIABLE} switches on", tuple(_edits()))
