//! Completions that know the repository: names of sessions, numbers of edits, proposals.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::CompletionCandidate;
use clap_complete::engine::ArgValueCandidates;
use clap_complete::env::Shells;

use super::Cli;
use edt_core::proposal::{self, ProposalState};
use edt_core::session::landing::list::{self, SessionChoice};
use edt_core::session::refs::ended::ShownSession;
use edt_git::Repo;
use edt_io::environment;
use edt_types::text::escape_controls;

/// The variable by which the script of `edt completions` asks for candidates.
const VARIABLE: &str = "EDT_COMPLETE";
/// The most edits that are offered.
const MAX_EDITS: usize = 50;

/// The script that makes `shell` ask edt; `None` for an unknown shell.
pub(super) fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(shell)?;
    shell.write_registration(VARIABLE, "edt", "edt", "edt", &mut script).ok()?;
    Some(script)
}

/// What the shell asks for with `args`: candidates as it reads them; `None` for an ordinary call.
/// The variable alone, which a process may inherit, changes no call.
pub(super) fn asked(args: &[OsString]) -> Option<Vec<u8>> {
    if args.get(1).is_none_or(|first| first != "--") {
        return None;
    }
    let (name, shells) = (environment::variable(VARIABLE)?, Shells::builtins());
    let shell = shells.completer(name.to_str()?)?;
    let words = args[2..].to_vec();
    let mut out = Vec::new();
    let mut edt = Cli::command();
    edt.build();
    // A completion that fails offers nothing.
    let _ = shell.write_complete(&mut edt, words, None, &mut out);
    Some(out)
}

/// The sessions of the repository, open ones and those that have ended.
pub(super) fn sessions() -> ArgValueCandidates {
    let found = || {
        let repo = Repo::open(Path::new(".")).ok()?;
        let all = list::chosen(&repo, &SessionChoice::All).ok()?.sessions.into_iter();
        let one = |session: list::SessionSummary| {
            candidate(session.name, &format!("{}, {} edits", session.state.name(), session.edits))
        };
        Some(all.map(one).collect())
    };
    ArgValueCandidates::new(move || found().unwrap_or_default())
}

/// The newest edits of the session.
pub(super) fn edits() -> ArgValueCandidates {
    ArgValueCandidates::new(|| newest_edits().unwrap_or_default())
}

fn newest_edits() -> Option<Vec<CompletionCandidate>> {
    let repo = Repo::open(Path::new(".")).ok()?;
    let shown = ShownSession::here(&repo, &repo.head().ok()?).ok()??;
    let session = shown.session.viewed(&repo).ok()?;
    let commits = session.commits(&repo).flatten().filter(|commit| !commit.is_users());
    let number = |commit: edt_core::session::refs::commit::Commit| {
        let number = commit.trailers.as_ref()?.edit;
        Some(candidate(number.to_string(), commit.subject()))
    };
    Some(commits.take(MAX_EDITS).filter_map(number).collect())
}

/// The proposals that wait for the user.
pub(super) fn proposals() -> ArgValueCandidates {
    let open = || {
        let repo = Repo::open(Path::new(".")).ok()?;
        let all = proposal::store::all(&repo).ok()?.into_iter();
        let open = all.filter(|one| one.state == ProposalState::Open);
        Some(open.map(|one| CompletionCandidate::new(format!("p{}", one.id))).collect())
    };
    ArgValueCandidates::new(move || open().unwrap_or_default())
}

fn candidate(value: String, about: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(escape_controls(about).0.into()))
}
