//! The instructions that `edt mcp` gives its client's model: sentences about the tools that are
//! offered.

use edt_agents::guide::OPENING;

/// Sentences, each with the tools that it names.
const SENTENCES: &[(&[&str], &str)] = &[
    (&["apply"], "Each call of `apply` is one transaction, all edits or none, and one Git commit."),
    (&["undo"], "`undo` takes edits back; no commit is lost."),
    (&["search"], "Find text with `search`; with `list: true` it lists files."),
    (&["apply", "read"], "`read` before you edit, and copy `old_text` from there."),
    (
        &["apply"],
        "Modes: edit (one place you quote), append, insert, replace_lines, replace_symbol, create, \
         overwrite (the complete new text, nothing left out), delete, rename. Edits that belong \
         together go into `edits`. The answer has the text around the change and the new hash: do \
         not read again.",
    ),
    (&["apply", "run"], "After each edit test it with `run`."),
    (&["run"], "`run` starts one program with its `args`, without a shell."),
    (
        &[],
        "A refusal changed nothing: read `errors`, send what `hint` says, never the same call \
         again. `refused`: send something else. `conflict`: read again. `held`: the user must act; \
         give the user the command in the hint, do other work, and look for no way around.",
    ),
    (&["apply"], "Send `allow` only if that loss is intended."),
    (
        &[],
        "What the user changed and did not commit stays the user's: do not commit, stash or revert \
         it.",
    ),
    (&["status"], "`status` lists it."),
    (
        &[],
        "A flag in a hint (`--lines 2:`) is the argument of that name (`lines`); `-C DIR` is \
         `worktree`.",
    ),
    (
        &["status"],
        "`edt log`, `edt show`, `edt diff` and `edt proposals` are `status` with a `view`.",
    ),
    (&["search"], "`edt ls` is `search` with `list: true`."),
    (&["read"], "`edt outline` is `read` with `outline: true`."),
    (
        &["apply"],
        "`edt check` and `edt propose` are `apply` with `check: true` or `propose: true`.",
    ),
    (
        &["comment"],
        "`comments` in an answer are the user's: do what they ask for, or answer with `comment`; \
         then resolve them.",
    ),
    (&["help"], "`help` has an example of each mode, and says what a code means."),
];

/// The instructions for a model that is offered the tools `names`.
pub(super) fn instructions(names: &[&str]) -> String {
    let is_offered = |tools: &&[&str]| tools.iter().all(|tool| names.contains(tool));
    let said = SENTENCES.iter().filter(|(tools, _)| is_offered(tools)).map(|(_, text)| *text);
    let opening = if is_offered(&&["apply"][..]) {
        OPENING.split_whitespace().collect::<Vec<&str>>().join(" ")
    } else {
        format!("If these tools are not listed, search your tools for: edt {}.", names.join(" "))
    };
    let said: Vec<&str> = std::iter::once(opening.as_str()).chain(said).collect();
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::mcp_tools::TOOLS;

    /// The names between backticks that are tools.
    fn named(text: &str) -> Vec<&str> {
        let marked = text.split('`').skip(1).step_by(2);
        marked.filter(|word| TOOLS.iter().any(|row| row.name == *word)).collect()
    }

    #[test]
    fn instructions_name_only_what_is_offered() {
        let all: Vec<&str> = TOOLS.iter().map(|row| row.name).collect();
        let default: Vec<&str> =
            TOOLS.iter().filter(|row| row.instead.is_none()).map(|row| row.name).collect();
        for offered in [&all[..], &default, &["apply", "read"], &["search"], &["log", "check"]] {
            let text = instructions(offered);
            for name in named(&text) {
                assert!(offered.contains(&name), "{name} of {offered:?}: {text}");
            }
        }
        let text = instructions(&default);
        assert!(
            default.iter().all(|name| named(&text).contains(name) || *name == "land"),
            "{text}"
        );
        assert!(text.starts_with("Do not use your own edit tools or shell redirections"), "{text}");
    }

    #[test]
    fn sentences_name_the_tools_that_they_need() {
        for (tools, text) in SENTENCES {
            assert!(named(text).iter().all(|name| tools.contains(name)), "{text}");
        }
    }
}
