//! A commit before hooks have seen it, and the refusal of one.

use super::Oid;
use edt_io::spawn;
use edt_types::{Code, Finding};

/// A commit to be checked by hooks and signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCandidate {
    /// What HEAD must point at for the hooks: a full branch name, or a commit id.
    pub head: String,
    pub tree: Oid,
    pub parent: Option<Oid>,
    pub message: String,
    /// The overrides that were granted for its content.
    pub allowed: Vec<String>,
}

/// The most bytes of a hook's output that an error message contains, from the end.
const OUTPUT_MAX: usize = 4000;

pub(super) fn blocked(what: &str, ran: &spawn::CommandOutput) -> Finding {
    let output = [ran.stdout.as_slice(), ran.stderr.as_bytes()].concat();
    let output = String::from_utf8_lossy(&output);
    let output = output.trim();
    let start = output.len().saturating_sub(OUTPUT_MAX);
    let start =
        (start..output.len()).find(|&at| output.is_char_boundary(at)).unwrap_or(output.len());
    let cut = if start > 0 {
        format!(" (the last {} of {} bytes)", output.len() - start, output.len())
    } else {
        String::new()
    };
    let remedy = if what == "commit-msg" {
        "Send a message that the hook accepts: `edt land -m MESSAGE`. `--signoff` adds the trailer \
         `Signed-off-by`."
    } else {
        "Fix what the output names with `edt apply` on the session, then repeat `edt land`."
    };
    Finding::new(
        Code::GitOperationBlocked,
        format!("Git's {what} refused the commit. Its output{cut}:\n{}\n", &output[start..]),
        remedy,
    )
    .with_effect(edt_types::Effect::NothingLanded)
    .with("hook", what)
    .with("truncated", start > 0)
}
