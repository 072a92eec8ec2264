//! Judges an edit that an agent's own tool is about to make, and records one that it has made.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use super::event::{HookEvent, HookMessage, HookPhase, ShellCommand};
use super::locate;
use super::messages;
use super::request::{self, ToolRequests, WorktreeRequest};
use super::shell;
use edt_command::OnFindings;
use edt_guard::guard::protected;

use edt_core::proposal::propose;
use edt_core::refusals::{self, Attempt};
use edt_core::session::files::path_state::PathState;
use edt_core::session::private::private_list;
use edt_core::session::recording::known_states::Announced;
use edt_core::session::recording::record::{
    CommitInfo, RecordAction, RecordOutcome, record_changes,
};
use edt_core::session::recording::review::{self, ChangesPreview, ChangesReview};
use edt_core::session::recording::snapshot::Snapshot;
use edt_core::session::refs::message::Kind;
use edt_core::session::turns;
use edt_core::session::views::user_switch;
use edt_core::session::worktree::options::Options;
use edt_core::session::{LockedWorkspace, Session};
use edt_core::txn::{APPLY, Request, budget};
use edt_edit::{Edit, Op};
use edt_git::{Oid, Repo, Tracked};
use edt_io::{Environment, clock};
use edt_journal::index::PreparedIndex;
use edt_types::text::Shown as _;
use edt_types::trace::names::{RECORD, SNAPSHOT};
use edt_types::{Code, DryRun, Finding, Landing, Refusal, RepoPath, Result, stage};

/// The agent that calls, and where.
#[derive(Debug)]
pub struct JudgeCall<'a> {
    /// The agent's name.
    pub agent: &'static str,
    /// The directory that relative paths start from if the payload names none.
    pub start: &'a Path,
    /// The options for each workspace.
    pub options: &'a Options,
}

/// Judges the edits of `event` before they are made, or records them afterwards.
///
/// # Errors
/// Why edt could not judge or record them.
pub fn answer(event: &HookEvent, call: &JudgeCall<'_>) -> Result<HookMessage> {
    let cwd =
        event.cwd.as_deref().map_or_else(|| call.start.to_owned(), |cwd| call.start.join(cwd));
    if let Some(command) = &event.command {
        let dir = command.dir.as_ref().map_or_else(|| cwd.clone(), |dir| cwd.join(dir));
        let conversation = event.session.as_deref();
        let (agent, options) = (call.agent, call.options);
        let call = shell::Call { command, dir: &dir, conversation, agent, options };
        return match event.point.phase {
            HookPhase::Before => call.before(),
            HookPhase::After => call.after(),
            HookPhase::Start | HookPhase::Prompt | HookPhase::Other => Ok(HookMessage::Silent),
        };
    }
    match event.point.phase {
        HookPhase::Before => before(request::from_event(event, &cwd, call.agent), call),
        HookPhase::After => after(event, request::from_event(event, &cwd, call.agent), call),
        HookPhase::Start if remember(event, &cwd, call) => {
            Ok(HookMessage::Info(super::instructions::brief()))
        }
        HookPhase::Prompt => {
            remember(event, &cwd, call);
            Ok(HookMessage::Silent)
        }
        HookPhase::Start | HookPhase::Other => Ok(HookMessage::Silent),
    }
}

/// Remembers the conversation, and the turn that a prompt begins. False outside of every worktree.
fn remember(event: &HookEvent, cwd: &Path, call: &JudgeCall<'_>) -> bool {
    let Ok(Some(located)) = locate::locate(cwd, "-") else { return false };
    if let Ok(repo) = Repo::open_worktree(Environment::Process, &located.root) {
        let prompt = event.turn.prompt.as_deref();
        turns::open::begin(&repo, &event.caller(call.agent), prompt, clock::seconds());
    }
    true
}

/// Judges the edits in every worktree, then copies the files, so that the edit can be distinguished
/// from the user's changes.
fn before(requests: ToolRequests, call: &JudgeCall<'_>) -> Result<HookMessage> {
    judged(requests, call, Announcement::Made)
}

fn judged(
    requests: ToolRequests,
    call: &JudgeCall<'_>,
    announcement: Announcement,
) -> Result<HookMessage> {
    let (mut found, mut accepted, mut lessons) =
        ([requests.unlocated, requests.faults].concat(), Vec::new(), Vec::new());
    let mut infos = Vec::new();
    for WorktreeRequest { root, paths, request, tried } in requests.worktrees {
        let mut workspace = open(&root, call, &mut infos)?;
        found.extend(check_not_tracked_by_enclosing(&root, &paths)?);
        let announced = announced(request.as_ref());
        let result = match request {
            Some(request) => request.and_then(|request| {
                let judged =
                    propose::apply_or_propose(&mut workspace, &request, DryRun::Yes).map(drop);
                // Only a request that could be read can teach.
                judged.map_err(|found| refused(&workspace, &request, found))
            }),
            None => budget::check(&workspace).and_then(|()| check_paths(&workspace, &paths)),
        };
        match result.and_then(|()| check_recordable(&workspace, &paths)) {
            Err(findings) => {
                let findings = if findings.is_recorded() {
                    findings
                } else {
                    let agent = Some(call.agent);
                    let attempt =
                        Attempt { call: APPLY, agent, edits: tried, ..Attempt::default() };
                    refusals::refused(&workspace, attempt, findings)
                };
                lessons.extend(findings.lessons().to_vec());
                found.extend(findings.into_vec());
            }
            Ok(()) => accepted.push((workspace, paths, announced)),
        }
    }
    if let Err(findings) = Refusal::check(found) {
        notify_found(call, &findings.codes());
        infos.insert(0, messages::refusal(&findings.with_lessons(lessons)));
        return Ok(HookMessage::Refusal(infos.join("\n\n")));
    }
    accepted.retain(|_| announcement == Announcement::Made);
    for (workspace, paths, announced) in accepted {
        let paths = recordable(&workspace, &paths)?;
        if !paths.is_empty() {
            private_list::prune(&workspace.repo, session_tree(&workspace)?)?;
            stage!(SNAPSHOT, Snapshot::of_paths(&workspace.repo, &paths, &announced))?;
        }
    }
    let infos = infos.join("\n\n");
    Ok(if infos.is_empty() { HookMessage::Silent } else { HookMessage::Info(infos) })
}

/// Judges edits that were announced before: as [`answer`] does, but remembers nothing.
///
/// # Errors
/// Why edt could not judge them.
pub fn check(event: &HookEvent, call: &JudgeCall<'_>) -> Result<HookMessage> {
    let requests = request::from_event(event, call.start, call.agent);
    judged(requests, call, Announcement::Known)
}

/// Why the policy denies a command for the agent's own shell in the directory of the call; `None` if
/// it does not. Nothing is remembered, and nothing is recorded afterwards.
///
/// # Errors
/// Why edt could not judge it.
pub fn denial(script: &str, call: &JudgeCall<'_>) -> Result<Option<String>> {
    let script = script.to_owned();
    let command = &ShellCommand { script, dir: None, call: None, can_be_changed: false };
    let (agent, options, dir) = (call.agent, call.options, call.start);
    shell::Call { command, dir, conversation: None, agent, options }.denial()
}

/// Whether an edit is remembered, so that it is recorded when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Announcement {
    Made,
    /// It is remembered already.
    Known,
}

/// Opens the worktree at `root`, to change it. `infos` gets the warnings about programs that were
/// interrupted together with edt.
fn open(root: &Path, call: &JudgeCall<'_>, infos: &mut Vec<String>) -> Result<LockedWorkspace> {
    let opened = LockedWorkspace::at(root, call.options.clone())?;
    let (workspace, interrupted) = opened.with_interrupted();
    infos.extend(interrupted.iter().map(messages::warning));
    Ok(workspace)
}

/// Reports the codes of the findings to the observers.
fn notify_found(call: &JudgeCall<'_>, codes: &[&str]) {
    call.options.observers.iter().for_each(|observer| observer.found(codes));
}

/// Records a refusal, which gets the lessons of earlier failures.
fn refused(workspace: &LockedWorkspace, request: &Request, found: Refusal) -> Refusal {
    let parsed = request.with_parsed_patch();
    let request = parsed.as_deref().unwrap_or(request);
    refusals::refused(workspace, Attempt::of(APPLY, request), found)
}

/// Reports the recorded edit to the observers.
fn observe_landing(
    workspace: &mut LockedWorkspace,
    request: Option<Result<Request>>,
    recorded: &RecordOutcome,
) {
    let Some(commit) = recorded.commit.map(|commit| commit.to_string()) else { return };
    let landing = Landing {
        session: &recorded.session.name,
        commit: &commit,
        paths: recorded.files.iter().map(|file| (file.path.as_str(), None)).collect(),
        overrode: Vec::new(),
    };
    refusals::landed(workspace, request.and_then(Result::ok).as_ref(), &landing);
}

fn after(event: &HookEvent, requests: ToolRequests, call: &JudgeCall<'_>) -> Result<HookMessage> {
    let (mut infos, mut has_objection, mut codes) = (Vec::new(), false, Vec::new());
    for WorktreeRequest { root, paths, request, .. } in requests.worktrees {
        let mut workspace = open(&root, call, &mut infos)?;
        let paths = recordable(&workspace, &paths)?;
        if paths.is_empty() {
            continue;
        }
        // Before the edit is recorded in another session.
        infos.extend(user_switch::warning(&workspace.repo).as_ref().map(messages::warning));
        let policy = workspace.current_policy()?;
        let commit_info = CommitInfo {
            message: subject(&event.tool, &paths),
            agent: Some(call.agent.to_owned()),
            kind: Kind::Edit,
        };
        let announced = announced(request.as_ref());
        let before = Snapshot::taken_of_paths(&workspace.repo, &paths, announced)?;
        let mut review = ChangesReview::default();
        let mut judge = |about: &ChangesPreview<'_>| {
            review = review::review(about, &policy, OnFindings::Refuse)?;
            // The edit was made already. It is recorded, so that it can be undone.
            Ok(RecordAction::Record)
        };
        let recorded = stage!(
            RECORD,
            record_changes(&mut workspace, &before, &commit_info, Some(&paths), &mut judge)
        )?;
        before.remember_recorded(&workspace.repo, &paths)?;
        // An edit that edt would have refused is not remembered as a fix.
        if review.refused.is_empty() {
            observe_landing(&mut workspace, request, &recorded);
        }
        let is_recorded = recorded.commit.is_some();
        if is_recorded || !recorded.warnings.is_empty() {
            has_objection |= !review.refused.is_empty();
            codes.extend(review.refused.iter().map(|finding| finding.code.name()));
            infos.extend(messages::recorded(
                &recorded,
                edit_count(&workspace, &recorded)?,
                &review.refused,
                &review.warnings,
            ));
        }
    }
    if has_objection {
        notify_found(call, &codes);
    }
    Refusal::check(requests.unlocated)?;
    let infos = infos.join("\n\n");
    Ok(match (infos.is_empty(), has_objection) {
        (true, _) => HookMessage::Silent,
        (false, true) => HookMessage::Objection(infos),
        (false, false) => HookMessage::Info(infos),
    })
}

/// What `request` does to each file. A file that is renamed is left out.
fn announced(request: Option<&Result<Request>>) -> Announced {
    let (mut all, mut renamed) = (Announced::new(), BTreeSet::new());
    let request = request.and_then(|request| request.as_ref().ok());
    let parsed = request.and_then(|request| request.with_parsed_patch().ok());
    for edit in parsed.iter().flat_map(|request| &request.edits) {
        let op = match edit.op.clone() {
            Op::Rename { to } => {
                renamed.extend([edit.path.clone(), to]);
                continue;
            }
            // Whether the file exists differs before and after the call.
            Op::Create { content, .. } | Op::Overwrite { content } => Op::Write { content },
            op => op,
        };
        all.entry(edit.path.clone()).or_default().push(Edit { op, ..edit.clone() });
    }
    all.retain(|path, _| !renamed.contains(path));
    all
}

/// Judges a change whose content is not known: only the repository's state and the paths.
fn check_paths(workspace: &LockedWorkspace, paths: &[Vec<u8>]) -> Result<()> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let (policy, session_tree) = (workspace.current_policy()?, session_tree(workspace)?);
    repo.set_max_file_size(policy.max_file_bytes);
    let mut found = Vec::new();
    for raw in paths {
        let path = match RepoPath::parse(raw) {
            Ok(path) => path,
            Err(problem) => {
                found.push(problem.finding(raw));
                continue;
            }
        };
        found.extend(
            PathState::at(repo, session_tree, None, &path)
                .err()
                .into_iter()
                .flat_map(Refusal::into_vec),
        );
        found.extend(policy.protects(&path).then(|| protected::finding(&policy, &path)));
    }
    Refusal::check(found)
}

/// How long another program may hold the index lock before an edit is refused.
const INDEX_WAIT: Duration = Duration::from_secs(1);

/// An accepted edit is recorded afterwards, so the index must be writable.
fn check_recordable(workspace: &LockedWorkspace, paths: &[Vec<u8>]) -> Result<()> {
    for raw in paths {
        let path = RepoPath::parse(raw).map_err(|problem| problem.finding(raw))?;
        if !workspace.repo.ignores(&path)? {
            return PreparedIndex::check_free(&workspace.repo, INDEX_WAIT);
        }
    }
    Ok(())
}

/// Refuses files that the repository of an enclosing worktree tracks, too: edt cannot know which
/// repository should record them.
fn check_not_tracked_by_enclosing(root: &Path, paths: &[Vec<u8>]) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for outer in locate::enclosing(root) {
        let (Ok(repo), Ok(below)) =
            (Repo::open_worktree(Environment::Process, outer), root.strip_prefix(outer))
        else {
            continue;
        };
        let Some(commit) = repo.head()?.commit else { continue };
        let tree = repo.tree_of(commit)?;
        for raw in paths {
            let Ok(path) = RepoPath::parse(&[below.as_os_str().as_bytes(), raw].join(&b'/')) else {
                continue;
            };
            if matches!(repo.tracked(tree, &path)?, Tracked::File(_) | Tracked::Symlink) {
                let (inner, outer) = (root.shown(), outer.shown());
                let message = format!(
                    "{path} is tracked by the repository {outer}, but is in another one, {inner}."
                );
                let hint = format!(
                    "The user must decide which repository tracks it: run `git -C {outer} rm -r \
                     --cached {}`, or remove the .git of the inner one.",
                    below.shown()
                );
                let finding = Finding::new(Code::PathOutsideRepo, message, hint);
                found.push(finding.nothing_changed().at(&path));
            }
        }
    }
    Ok(found)
}

fn edit_count(workspace: &LockedWorkspace, recorded: &RecordOutcome) -> Result<u64> {
    recorded.session.last_number(&workspace.repo)
}

/// Those of `paths` that the session may record, whether they exist or not. Ignored files are left
/// out: nobody asked edt to commit them, and they may be secrets.
fn recordable(workspace: &LockedWorkspace, paths: &[Vec<u8>]) -> Result<Vec<RepoPath>> {
    let session_tree = session_tree(workspace)?;
    let (mut found, mut refused): (Vec<RepoPath>, Vec<Finding>) = (Vec::new(), Vec::new());
    for raw in paths {
        match RepoPath::parse(raw) {
            Ok(path) if found.contains(&path) => {}
            Ok(path) => {
                let recorded = workspace.repo.tracked(session_tree, &path)? != Tracked::Nothing;
                if recorded || !workspace.repo.ignores(&path)? {
                    found.push(path);
                }
            }
            Err(problem) => refused.push(problem.finding(raw)),
        }
    }
    Refusal::check(refused)?;
    Ok(found)
}

/// The tree of the session's tip, or of HEAD.
fn session_tree(workspace: &LockedWorkspace) -> Result<Oid> {
    let head = workspace.repo.head()?;
    let tip = Session::current(&workspace.repo, &head)?.map(|session| session.tip).or(head.commit);
    tip.map_or_else(|| Ok(workspace.repo.empty_tree()), |tip| workspace.repo.tree_of(tip))
}

fn subject(tool: &str, paths: &[RepoPath]) -> String {
    let tool = edt_types::text::escape_controls(tool).0;
    match paths {
        [one] => format!("edit {one} ({tool})"),
        many => format!("edit {} files ({tool})", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{AgentTurn, HookPoint, Replacement, ToolEdit};
    use super::*;
    use edt_testkit::ScratchRepo;

    fn call(repo: &ScratchRepo, phase: HookPhase, edits: Vec<ToolEdit>) -> Result<HookMessage> {
        let event = HookEvent {
            point: HookPoint { phase, hook: "" },
            tool: "Edit".to_owned(),
            cwd: None,
            session: None,
            turn: AgentTurn::default(),
            edits,
            command: None,
        };
        let options = Options::default();
        answer(&event, &JudgeCall { agent: "claude-code", start: repo.path(), options: &options })
    }

    fn replace(old: &str, new: &str) -> ToolEdit {
        ToolEdit::Replace {
            path: "a.txt".into(),
            replacements: vec![Replacement { old: old.into(), new: new.into(), all: false }],
        }
    }

    fn write(repo: &ScratchRepo, path: &str, text: &str) {
        std::fs::write(repo.path().join(path), text).unwrap();
    }

    /// The subjects of the session's commits, the newest first.
    fn subjects(repo: &ScratchRepo) -> Vec<String> {
        let repo = Repo::open(repo.path()).unwrap();
        let session = Session::required(&repo, &repo.head().unwrap()).unwrap();
        session.commits(&repo).map(|commit| commit.unwrap().subject().to_owned()).collect()
    }

    #[test]
    fn an_edit_that_edt_accepts_is_answered_by_silence() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        assert_eq!(
            call(&repo, HookPhase::Before, vec![replace("one", "two")]).unwrap(),
            HookMessage::Silent
        );
    }

    #[test]
    fn an_edit_that_edt_refuses_is_refused() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        let HookMessage::Refusal(why) =
            call(&repo, HookPhase::Before, vec![replace("three", "two")]).unwrap()
        else {
            panic!("not refused")
        };
        assert!(
            why.starts_with("edt refused this edit; nothing was changed.\nOLD_TEXT_NOT_FOUND"),
            "{why}"
        );
    }

    #[test]
    fn the_users_change_of_other_lines_stays_uncommitted() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n2\n3\n4\n")]);
        write(&repo, "a.txt", "one\n2\n3\n4\nmine\n");
        call(&repo, HookPhase::Before, vec![replace("one", "two")]).unwrap();
        write(&repo, "a.txt", "two\n2\n3\n4\nmine\n");
        call(&repo, HookPhase::After, vec![replace("one", "two")]).unwrap();
        assert_eq!(subjects(&repo), ["edit a.txt (Edit)"]);
    }

    #[test]
    fn a_change_next_to_the_users_stays_uncommitted() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        write(&repo, "a.txt", "one\nmine\n");
        call(&repo, HookPhase::Before, vec![replace("one", "two")]).unwrap();
        write(&repo, "a.txt", "two\nmine\n");
        call(&repo, HookPhase::After, vec![replace("one", "two")]).unwrap();
        assert_eq!(subjects(&repo), ["edit a.txt (Edit)"]);
    }

    #[test]
    fn a_refused_edit_records_nothing() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        write(&repo, "a.txt", "one\nmine\n");
        call(&repo, HookPhase::Before, vec![replace("three", "two")]).unwrap();
        assert!(!repo.path().join(".git/refs/heads/edt").exists());
    }

    #[test]
    fn the_first_recorded_edit_names_the_new_session() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        write(&repo, "a.txt", "two\n");
        let HookMessage::Info(text) =
            call(&repo, HookPhase::After, vec![replace("one", "two")]).unwrap()
        else {
            panic!("no information")
        };
        assert!(
            text.starts_with("The edit is recorded as edit 1 on edt/")
                && text.ends_with(", a new session; `edt undo` undoes it."),
            "{text}"
        );
    }

    #[test]
    fn a_further_edit_is_recorded_in_silence() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        write(&repo, "a.txt", "two\n");
        call(&repo, HookPhase::After, vec![replace("one", "two")]).unwrap();
        write(&repo, "a.txt", "three\n");
        assert_eq!(
            call(&repo, HookPhase::After, vec![replace("two", "three")]).unwrap(),
            HookMessage::Silent
        );
    }

    #[test]
    fn an_edit_that_edt_did_not_see_before_is_the_users_unless_it_can_be_derived() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n2\n3\n4\n")]);
        write(&repo, "a.txt", "two\n2\n3\nmine\n");
        call(&repo, HookPhase::After, vec![replace("one", "two")]).unwrap();
        assert_eq!(subjects(&repo), ["edit a.txt (Edit)"]);
        write(&repo, "new.txt", "mine\n");
        let edit = ToolEdit::Write { path: "new.txt".into(), content: "mine\n".into() };
        let HookMessage::Info(text) = call(&repo, HookPhase::After, vec![edit]).unwrap() else {
            panic!("no information")
        };
        assert!(
            text.starts_with("The edit is not recorded as an edit.\nwarning: new.txt: "),
            "{text}"
        );
        assert_eq!(subjects(&repo), ["edit a.txt (Edit)"]);
    }

    #[test]
    fn a_call_of_which_the_file_shows_nothing_is_reported() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        call(&repo, HookPhase::Before, vec![replace("one", "let x = 1")]).unwrap();
        write(&repo, "a.txt", "const x = 1;\n");
        let edit = vec![replace("one", "let x = 1")];
        let HookMessage::Info(text) = call(&repo, HookPhase::After, edit).unwrap() else {
            panic!("no information")
        };
        assert!(
            text.starts_with(
                "The edit is not recorded as an edit.\nwarning: a.txt: This file shows nothing"
            ),
            "{text}"
        );
        assert!(!repo.path().join(".git/refs/heads/edt").exists());
    }

    #[test]
    fn what_a_call_does_not_say_stays_uncommitted() {
        let shown = |repo: &ScratchRepo, path: &str| {
            let shown = ["show", &format!("HEAD:{path}")];
            let out = edt_io::spawn::git(Environment::Isolated, repo.path(), &shown, b"").unwrap();
            String::from_utf8(out.stdout).unwrap()
        };
        let repo = ScratchRepo::with(&[("a.txt", "one\n2\n3\n4\n")]);
        call(&repo, HookPhase::Before, vec![replace("one", "two")]).unwrap();
        write(&repo, "a.txt", "two\n2\n3\nmine\n");
        let edit = vec![replace("one", "two")];
        let HookMessage::Info(text) = call(&repo, HookPhase::After, edit).unwrap() else {
            panic!("no information")
        };
        assert!(text.contains("\nwarning: a.txt: While the tool ran, more changed"), "{text}");
        assert_eq!(shown(&repo, "a.txt"), "two\n2\n3\n4\n");
        // The file does not exist before the call, and exists afterwards.
        let new = vec![Replacement { old: String::new(), new: "new\n".into(), all: false }];
        let create = vec![ToolEdit::Replace { path: "new.txt".into(), replacements: new }];
        call(&repo, HookPhase::Before, create.clone()).unwrap();
        write(&repo, "new.txt", "new\nmine\n");
        call(&repo, HookPhase::After, create).unwrap();
        assert_eq!(shown(&repo, "new.txt"), "new\n");
        assert_eq!(subjects(&repo), ["edit new.txt (Edit)", "edit a.txt (Edit)"]);
    }

    #[test]
    fn the_hunks_of_a_patch_are_replacements() {
        let repo = ScratchRepo::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n")]);
        let text = "*** Begin Patch\n*** Update File: a.txt\n@@\n 1\n-2\n+two\n 3\n*** End Patch\n";
        write(&repo, "a.txt", "1\ntwo\n3\n4\n5\n6\n7\nmine\n");
        call(&repo, HookPhase::After, vec![ToolEdit::Patch { text: text.into() }]).unwrap();
        assert_eq!(subjects(&repo), ["edit a.txt (Edit)"]);
        let shown = ["show", "HEAD:a.txt"];
        let out = edt_io::spawn::git(Environment::Isolated, repo.path(), &shown, b"").unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), "1\ntwo\n3\n4\n5\n6\n7\n8\n");
    }

    #[test]
    fn an_edit_that_a_guard_refuses_afterwards_is_an_objection() {
        let repo = ScratchRepo::with(&[("a.c", "int a;\n")]);
        let text = "int a;\n<<<<<<< ours\nint b;\n=======\nint c;\n>>>>>>> theirs\n";
        let edit = ToolEdit::Unspecified { path: "a.c".into() };
        write(&repo, "a.c", "int a;\n");
        call(&repo, HookPhase::Before, vec![edit.clone()]).unwrap();
        write(&repo, "a.c", text);
        let HookMessage::Objection(why) = call(&repo, HookPhase::After, vec![edit]).unwrap() else {
            panic!("no objection")
        };
        assert!(
        why.starts_with("edt would have refused this edit, but the tool has made it.\nThe edit is recorded as edit 1 on edt/")
            && why.ends_with("next: The edit is in the file: correct it, or undo it with `edt undo`."),
        "{why}"
    );
    }

    #[test]
    fn a_file_that_git_ignores_is_not_recorded() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        write(&repo, ".gitignore", "*.log\n");
        write(&repo, "x.log", "x\n");
        let edit = ToolEdit::Unspecified { path: "x.log".into() };
        assert_eq!(call(&repo, HookPhase::After, vec![edit]).unwrap(), HookMessage::Silent);
        assert!(!repo.path().join(".git/refs/heads/edt").exists());
    }

    #[test]
    fn a_protected_file_is_refused_before_its_content_is_known() {
        let repo = ScratchRepo::with(&[("edt.toml", "[[protect]]\npaths = [\"ci/**\"]\n")]);
        let edit = ToolEdit::Unspecified { path: "ci/run".into() };
        let HookMessage::Refusal(why) = call(&repo, HookPhase::Before, vec![edit]).unwrap() else {
            panic!("not refused")
        };
        assert!(why.contains("\nPROTECTED_PATH"), "{why}");
    }

    #[test]
    fn a_file_in_the_git_directory_is_refused() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        let edit = ToolEdit::Write { path: ".git/hooks/pre-commit".into(), content: "x".into() };
        let HookMessage::Refusal(why) = call(&repo, HookPhase::Before, vec![edit]).unwrap() else {
            panic!("not refused")
        };
        assert!(why.contains("\nPATH_IN_GIT_DIR"), "{why}");
    }

    #[test]
    fn the_start_of_a_conversation_is_answered_in_a_repository_only() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        assert_eq!(
            call(&repo, HookPhase::Start, vec![]).unwrap(),
            HookMessage::Info(super::super::instructions::brief())
        );
        let place = edt_testkit::tempdir().unwrap();
        let event = HookEvent {
            point: HookPoint { phase: HookPhase::Start, hook: "" },
            tool: String::new(),
            cwd: Some(place.path().to_owned()),
            session: None,
            turn: AgentTurn::default(),
            edits: vec![],
            command: None,
        };
        let options = Options::default();
        let call = JudgeCall { agent: "codex", start: repo.path(), options: &options };
        assert_eq!(answer(&event, &call).unwrap(), HookMessage::Silent);
    }

    #[test]
    fn a_subject_names_one_file_or_counts_them() {
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        assert_eq!(subject("Edit", &[path("a")]), "edit a (Edit)");
        assert_eq!(subject("Edit\n", &[path("a"), path("b")]), "edit 2 files (Edit\\u{a})");
    }
}
