//! Reverts earlier edits of the session as a new commit. Later edits stay on the branch, and the
//! user's lines stay on disk.

use std::collections::{BTreeMap, BTreeSet};

use super::part::FilePart;
use super::rewrite::{Rewrite, path_change};
use super::saved::OverlappingFiles;
use super::undo::MoveOptions;
use crate::session::files::path_state::PathState;
use crate::session::private::hidden::{self, Hidden};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::message::{self, Kind};
use crate::session::user::edit_change::FileStep;
use crate::session::user::ownership::{MergedFile, Version, merge3};
use crate::session::user::unwind::{self, Direction, FileSteps};
use crate::session::worktree::checkout;
use crate::session::worktree::workspace::LockedWorkspace;
use crate::txn::resolve::read_only;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{FileId, InHead, ObjectWriter, Oid, Repo, Tracked};
use edt_guard::guard::protected;
use edt_guard::policy::Policy;
use edt_journal::IndexView;
use edt_types::text::{Shown as _, counted};
use edt_types::{Code, Finding, Outcome, Refusal, RepoPath, Result};

/// The command, for messages.
const VERB: &str = "edt revert";

/// Reverts the edits with these numbers, the newest first, as one new edit.
///
/// # Errors
/// `BAD_REQUEST` for a number that is no edit of the session; `REVERT_CONFLICT` if later commits
/// changed the same lines; `UNSAVED_CHANGES` if the user did; `PROTECTED_PATH`; errors of reading
/// path states and of publishing. Nothing is changed on an error.
pub fn revert(
    workspace: &mut LockedWorkspace,
    session: &Session,
    edits: &[u64],
    options: MoveOptions,
) -> Result<Outcome> {
    run(workspace, session, options, |writer| Reverting::edits(writer, session, edits))
}

/// Reverts a part of an edit's change, or of the session's, as one new edit.
///
/// # Errors
/// As [`revert`]; `BAD_REQUEST` if the change has no such file or lines, if the file has no lines to
/// choose from, and for the session's change of a file of which the user committed changes.
pub fn revert_part(
    workspace: &mut LockedWorkspace,
    session: &Session,
    part: &FilePart,
    options: MoveOptions,
) -> Result<Outcome> {
    run(workspace, session, options, |writer| Reverting::part(writer, session, part))
}

fn run(
    workspace: &mut LockedWorkspace,
    session: &Session,
    options: MoveOptions,
    find: impl for<'w, 'r> Fn(&'w ObjectWriter<'r>) -> Result<Reverting<'w, 'r>>,
) -> Result<Outcome> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    session.check_not_shared(repo)?;
    let policy = workspace.policy(repo.tree_of(session.base)?)?;
    let writer = ObjectWriter::new(repo);
    let mut reverting = find(&writer)?;
    let rewrite = reverting.plan(session, &policy, options)?;
    let warnings = std::mem::take(&mut reverting.steps.warnings);
    drop(reverting);
    let mut outcome = rewrite.publish(workspace)?;
    outcome.warnings.extend(warnings);
    Ok(outcome)
}

/// What is reverted.
struct Reverting<'w, 'r> {
    history: History<'w, 'r>,
    /// The places of its commits in the history.
    chosen: BTreeSet<usize>,
    steps: FileSteps,
    /// The message of the new commit.
    text: String,
    trailers: Vec<(&'static str, String)>,
}

impl<'w, 'r> Reverting<'w, 'r> {
    fn edits(
        writer: &'w ObjectWriter<'r>,
        session: &Session,
        edits: &[u64],
    ) -> Result<Reverting<'w, 'r>> {
        let history = History::of(writer, session)?;
        let chosen = chosen(session, &history.commits, edits)?;
        let named: Vec<Commit> = chosen.iter().map(|at| history.commits[*at].clone()).collect();
        let steps = FileSteps::of(writer.repo(), &named, Direction::Back)?;
        let numbers: Vec<String> = named.iter().map(|commit| number(commit).to_string()).collect();
        let text = match named.as_slice() {
            [one] => format!("revert {}", one.subject()),
            many => {
                many.iter().fold(format!("revert edits {}\n", numbers.join(", ")), |text, one| {
                    format!("{text}\nedit {}: {}", number(one), one.subject())
                })
            }
        };
        let trailers = numbers.into_iter().map(|number| ("Edt-Reverts", number)).collect();
        Ok(Reverting { history, chosen, steps, text, trailers })
    }

    fn part(
        writer: &'w ObjectWriter<'r>,
        session: &Session,
        part: &FilePart,
    ) -> Result<Reverting<'w, 'r>> {
        let repo = writer.repo();
        let mut history = History::of(writer, session)?;
        let at = if let Some(edit) = part.edit {
            chosen(session, &history.commits, &[edit])?.first().copied().unwrap_or(0)
        } else {
            history.commits = vec![part.of_session(repo, session)?];
            0
        };
        let commit = history.commits[at].clone();
        let changes = part.changes(writer, &commit)?;
        history.changes.insert(at, changes.recorded.clone());
        history.part = Some(part.path.clone());
        let mut steps = FileSteps::default();
        steps.add_changes(repo, commit.tree, changes, Direction::Back)?;
        let (text, trailers) = (part.text(commit.subject()), vec![part.trailer()]);
        Ok(Reverting { history, chosen: BTreeSet::from([at]), steps, text, trailers })
    }

    /// The paths that change, with their files on the branch before and after.
    fn paths(&self, branch: &BTreeMap<RepoPath, Option<Version>>) -> Result<Vec<TreeDifference>> {
        let item = |version: Option<&Version>| version.map(|version| TreeItem::File(version.file));
        let all = branch.keys().chain(self.steps.paths()).collect::<BTreeSet<&RepoPath>>();
        let differs = |path: &RepoPath| {
            let old = file_in(self.history.writer.repo(), self.history.tree, path)?;
            let new = branch.get(path).map_or(old.as_ref(), Option::as_ref);
            let (old, new) = (item(old.as_ref()), item(new));
            Ok(TreeDifference { path: path.clone(), old, new })
        };
        all.into_iter().map(differs).collect()
    }

    /// The commit that reverts it.
    fn plan<'s>(
        &mut self,
        session: &'s Session,
        policy: &Policy,
        options: MoveOptions,
    ) -> Result<Rewrite<'s>> {
        let (writer, tree) = (self.history.writer, self.history.tree);
        let repo = writer.repo();
        let Reverted { files: branch, conflicts } = self.history.reverted(&self.chosen)?;
        if !conflicts.is_empty() {
            return Err(self.history.conflict(&self.chosen, &conflicts)?.into());
        }
        let paths = self.paths(&branch)?;
        let Reverting { history, chosen, steps, text, trailers } = self;
        let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
        let hidden = Hidden::of(repo, Some(session));
        let states = checkout::read_states(&hidden, tree, index.as_ref(), &paths)?;
        checkout::check_not_switched(repo, session, &states, &paths)?;
        let targets: Vec<Option<FileId>> =
            paths.iter().map(|differs| differs.new.and_then(TreeItem::file)).collect();
        let followed = steps.follow(writer, &states)?.with_entries(&states, &targets);
        let has_checkpoint = history.is_in_checkpoint(chosen);
        let mut overlapping = OverlappingFiles::new(options.overlaps, VERB);
        let (mut files, mut found) = (Vec::new(), Vec::new());
        for (state, differs) in states.into_iter().zip(&paths) {
            let on_branch = branch.contains_key(&state.path);
            if on_branch && differs.old == differs.new {
                // The branch has been without the edit already. What is on disk instead is the
                // user's.
                continue;
            }
            found.extend(read_only(&state));
            if policy.protects(&state.path) {
                found.push(protected::finding(policy, &state.path));
            }
            if followed.overlap(&state.path).is_some() {
                history.check_later(chosen, steps, &state, on_branch)?;
            }
            let disk = overlapping.disk(&followed, &state);
            let branch = match branch.get(&state.path) {
                _ if followed.was_committed(&state.path, has_checkpoint) => disk.clone(),
                Some(version) => version.clone(),
                None => state.tip.map(Version::recorded),
            };
            let (head, versions) = (session.head, (branch, disk));
            files.push(path_change(writer, &followed, state, versions, &mut overlapping, head)?);
        }
        Refusal::check(found)?;
        Ok(Rewrite {
            session,
            index,
            tree,
            paths: files,
            text: std::mem::take(text),
            kind: Kind::Edit,
            verb: VERB,
            more: std::mem::take(trailers),
            overlapping,
            restored: hidden::restored(repo, steps)?,
            dry_run: options.dry_run,
        })
    }
}

/// The places in `commits` of the edits with these numbers. A smaller place is a newer commit.
fn chosen(session: &Session, commits: &[Commit], edits: &[u64]) -> Result<BTreeSet<usize>> {
    let (mut chosen, mut found) = (BTreeSet::new(), Vec::new());
    for edit in edits {
        let is_it = |commit: &Commit| commit.is_edit() && number(commit) == *edit;
        match commits.iter().position(is_it) {
            Some(at) => {
                chosen.insert(at);
            }
            None => found.push(
                Finding::new(
                    Code::BadRequest,
                    format!("The session {} has no edit {edit}.", session.name),
                    "`edt log` lists the session's edits with their numbers.",
                )
                .nothing_changed(),
            ),
        }
    }
    Refusal::check(found)?;
    Ok(chosen)
}

fn number(commit: &Commit) -> u64 {
    commit.trailers.as_ref().map_or(0, |trailers| trailers.edit)
}

fn file_in(repo: &Repo, tree: Oid, path: &RepoPath) -> Result<Option<Version>> {
    Ok(match repo.tracked(tree, path)? {
        Tracked::File(file) => Some(Version::recorded(file)),
        _ => None,
    })
}

/// The branch without some edits.
#[derive(Debug, Default)]
struct Reverted {
    files: BTreeMap<RepoPath, Option<Version>>,
    /// Each edit that cannot be reverted, with the path.
    conflicts: Vec<(usize, RepoPath)>,
}

/// The commits of the session, newest first, with what each changed on the branch.
struct History<'w, 'r> {
    writer: &'w ObjectWriter<'r>,
    tree: Oid,
    commits: Vec<Commit>,
    changes: BTreeMap<usize, Vec<FileStep>>,
    /// The file of which a part is reverted.
    part: Option<RepoPath>,
}

impl<'w, 'r> History<'w, 'r> {
    fn of(writer: &'w ObjectWriter<'r>, session: &Session) -> Result<History<'w, 'r>> {
        let repo = writer.repo();
        let commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
        // What the user squashed is reverted edit by edit.
        let commits = commits.iter().flat_map(|commit| commit.units().into_iter().rev()).collect();
        let tree = repo.tree_of(session.tip)?;
        Ok(History { writer, tree, commits, changes: BTreeMap::new(), part: None })
    }

    /// Refuses if what overlaps with the steps of the file of `state` is in a later commit.
    fn check_later(
        &mut self,
        chosen: &BTreeSet<usize>,
        steps: &FileSteps,
        state: &PathState,
        on_branch: bool,
    ) -> Result<()> {
        let (later, newest) =
            if on_branch { (Vec::new(), None) } else { self.later(chosen, &state.path)? };
        if !later.is_empty() && steps.follow_from(self.writer, &state.path, newest)?.1 {
            return Err(self.finding(chosen, &later, std::slice::from_ref(&state.path)).into());
        }
        if state.tip.is_some() && state.disk_file() == state.tip {
            // Nothing is uncommitted: it is in a later commit.
            let oldest = chosen.last().copied().unwrap_or(0);
            return Err(self.conflict(chosen, &[(oldest, state.path.clone())])?.into());
        }
        Ok(())
    }

    fn changes(&mut self, at: usize) -> Result<&[FileStep]> {
        if !self.changes.contains_key(&at) {
            let changes = unwind::recorded_changes(self.writer.repo(), &self.commits[at])?;
            self.changes.insert(at, changes);
        }
        Ok(self.changes.get(&at).map(Vec::as_slice).unwrap_or_default())
    }

    /// Takes the `chosen` edits off the branch, the newest first.
    fn reverted(&mut self, chosen: &BTreeSet<usize>) -> Result<Reverted> {
        let (writer, tree) = (self.writer, self.tree);
        let mut done = Reverted::default();
        for at in chosen {
            for (path, before, after) in self.changes(*at)?.to_vec() {
                let ours = match done.files.get(&path) {
                    Some(ours) => ours.clone(),
                    None => file_in(writer.repo(), tree, &path)?,
                };
                let merged = merge3(writer, after.as_ref(), ours.as_ref(), before.as_ref())?;
                let version = match merged {
                    MergedFile::Clean(version) => version,
                    MergedFile::Conflict(_) => {
                        done.conflicts.push((*at, path.clone()));
                        ours
                    }
                };
                done.files.insert(path, version);
            }
        }
        Ok(done)
    }

    /// Whether a checkpoint of the user's has what one of the edits left over, and so the user's lines
    /// in its place.
    fn is_in_checkpoint(&self, chosen: &BTreeSet<usize>) -> bool {
        let numbers: BTreeSet<String> =
            chosen.iter().map(|at| number(&self.commits[*at]).to_string()).collect();
        let mut checkpoints = self.commits.iter().filter(|commit| commit.is_checkpoint());
        checkpoints.any(|commit| {
            let values = message::values(&commit.message, "Edt-Includes");
            values.iter().any(|value| numbers.contains(value))
        })
    }

    /// Whether the commit at `later` changed lines of `path` that the edit at `at` changed, too.
    fn overlaps(&mut self, later: usize, at: usize, path: &RepoPath) -> Result<bool> {
        let writer = self.writer;
        let step = |history: &mut Self, at: usize| -> Result<Option<FileStep>> {
            Ok(history.changes(at)?.iter().find(|(changed, ..)| changed == path).cloned())
        };
        let (Some(first), Some(second)) = (step(self, at)?, step(self, later)?) else {
            return Ok(false);
        };
        let ((_, before, after), (_, from, to)) = (first, second);
        // Only the later change, on top of the edit.
        match merge3(writer, from.as_ref(), after.as_ref(), to.as_ref())? {
            MergedFile::Conflict(_) => Ok(true),
            MergedFile::Clean(both) => {
                let merged = merge3(writer, after.as_ref(), both.as_ref(), before.as_ref())?;
                Ok(matches!(merged, MergedFile::Conflict(_)))
            }
        }
    }

    /// The refusal to revert the `chosen` edits without the later commits that overlap with them.
    fn conflict(
        &mut self,
        chosen: &BTreeSet<usize>,
        conflicts: &[(usize, RepoPath)],
    ) -> Result<Finding> {
        let (mut all, mut open) = (chosen.clone(), conflicts.to_vec());
        while let Some((at, path)) = open.first().cloned() {
            let (mut touching, mut overlapping) = (Vec::new(), Vec::new());
            for later in (0..at).rev().filter(|later| !all.contains(later)) {
                if self.changes(later)?.iter().any(|(changed, ..)| *changed == path) {
                    touching.push(later);
                    if self.overlaps(later, at, &path)? {
                        overlapping.push(later);
                    }
                }
            }
            let added = if overlapping.is_empty() { touching } else { overlapping };
            if added.is_empty() {
                break;
            }
            all.extend(added);
            open = self.reverted(&all)?.conflicts;
        }
        let later: Vec<usize> = all.difference(chosen).copied().collect();
        let paths: BTreeSet<RepoPath> = conflicts.iter().map(|(_, path)| path.clone()).collect();
        Ok(self.finding(chosen, &later, &paths.into_iter().collect::<Vec<_>>()))
    }

    /// The edits that changed the ignored file at `path` later than the oldest chosen one, the
    /// newest first, and the file after the newest.
    fn later(
        &self,
        chosen: &BTreeSet<usize>,
        path: &RepoPath,
    ) -> Result<(Vec<usize>, Option<Version>)> {
        let (mut later, mut newest) = (Vec::new(), None);
        let mut before_oldest = 0;
        for at in 0..=chosen.last().copied().unwrap_or(0) {
            let changes = unwind::changes(self.writer.repo(), &self.commits[at])?.files;
            let Some((.., after)) = changes.into_iter().find(|(changed, ..)| changed == path)
            else {
                continue;
            };
            if chosen.contains(&at) {
                before_oldest = later.len();
            } else if self.commits[at].is_edit() {
                if later.is_empty() {
                    newest = after;
                }
                later.push(at);
            }
        }
        later.truncate(before_oldest);
        Ok((later, newest))
    }

    /// `REVERT_CONFLICT` naming the commits at `later`.
    fn finding(&self, chosen: &BTreeSet<usize>, later: &[usize], paths: &[RepoPath]) -> Finding {
        let names: Vec<String> = paths.iter().map(RepoPath::text).collect();
        let mut edits: Vec<u64> = chosen.iter().map(|at| number(&self.commits[*at])).collect();
        let subject = |at: usize| {
            let commit = &self.commits[at];
            if commit.is_edit() {
                return format!("edit {} ({})", number(commit), commit.subject());
            }
            let id = commit.oid.to_hex_with_len(12);
            format!("the user's commit {id} ({})", commit.subject())
        };
        let named: Vec<String> = later.iter().map(|at| subject(*at)).collect();
        let reverted = match edits.as_slice() {
            [one] if self.part.is_some() => format!("The part of edit {one}"),
            [one] => format!("Edit {one}"),
            many => format!("One of the edits {}", joined(many, ", ")),
        };
        let summary = format!(
            "{reverted} cannot be reverted alone: later commits changed the same lines of {}: {}.",
            names.join(", ").shown(),
            named.join(", ")
        );
        let oldest = chosen.last().copied().unwrap_or(0);
        let since = self.commits[..=oldest].iter().filter(|commit| commit.is_edit()).count();
        let everything = format!(
            "`edt undo -n {since}` undoes {}, the newest first.",
            counted(since as u64, "edit")
        );
        let all_edits = later.iter().all(|at| self.commits[*at].is_edit());
        let remedy = if let Some(path) = &self.part {
            format!(
                "Revert these lines as they are now: `edt diff {0}` shows them; then `{VERB} \
                 --session --path {0}` with `--added` and `--removed`.",
                path.quoted()
            )
        } else if all_edits && !later.is_empty() {
            edits.extend(later.iter().map(|at| number(&self.commits[*at])));
            edits.sort_unstable_by(|one, two| two.cmp(one));
            format!("Revert them together: `{VERB} {}`. Or {everything}", joined(&edits, " "))
        } else {
            "Change the lines with `edt apply`: what the user committed stays.".to_owned()
        };
        let later_edits: Vec<u64> = later
            .iter()
            .map(|at| &self.commits[*at])
            .filter(|commit| commit.is_edit())
            .map(number)
            .collect();
        let finding = Finding::new(Code::RevertConflict, summary, remedy)
            .nothing_changed()
            .with("edits", later_edits)
            .with("paths", names);
        match paths {
            [one] => finding.at(one),
            _ => finding,
        }
    }
}

fn joined(numbers: &[u64], separator: &str) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::back::saved::Overlaps;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::Request;
    use edt_types::{DryRun, Status};

    const TEXT: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

    /// Edit 1 changes line 1, edit 2 line 5, edit 3 line 9 and creates a file.
    fn three_edits() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", TEXT)]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "one");
        scratch.edit("second", "a.txt", "5", "five");
        scratch
            .apply(&Request::new("third").edit("a.txt", "9", "nine").create("b.txt", "b\n"))
            .unwrap();
        scratch
    }

    fn reverted_by(scratch: &Scratch, edits: &[u64], options: MoveOptions) -> Result<Outcome> {
        let session = scratch.session();
        revert(&mut scratch.open(), &session, edits, options)
    }

    fn reverted(scratch: &Scratch, edits: &[u64]) -> Result<Outcome> {
        reverted_by(scratch, edits, MoveOptions::default())
    }

    /// The message of HEAD without the names of trees and private records.
    fn message(scratch: &Scratch) -> String {
        let message = scratch.message(scratch.head());
        let is_name =
            |line: &&str| line.starts_with("Edt-Change") || line.starts_with("Edt-Private");
        message.split_inclusive('\n').filter(|line| !is_name(line)).collect()
    }

    #[test]
    fn what_a_checkpoint_committed_of_an_edit_is_reverted_by_its_change() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "1\n2 by hand\n3\n4\n");
        scratch.edit("users", "a.txt", "2 by hand", "two");
        crate::session::recording::record::checkpoint(&mut scratch.open(), None, &[]).unwrap();
        let session = scratch.session();
        revert(&mut scratch.open(), &session, &[1], MoveOptions::default()).unwrap();
        let text = Some("1\n2 by hand\n3\n4\n".to_owned());
        assert_eq!(
            (scratch.text("a.txt"), scratch.committed(scratch.head(), "a.txt")),
            (text.clone(), text)
        );
    }

    #[test]
    fn a_line_typed_into_what_a_checkpoint_committed_of_an_edit_is_a_conflict() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "1\n2 by hand\n3\n4\n");
        scratch.edit("users", "a.txt", "2 by hand", "two\nand more");
        let typed = "1\ntwo\nmine\nand more\n3\n4\n";
        scratch.write("a.txt", typed);
        crate::session::recording::record::checkpoint(&mut scratch.open(), None, &[]).unwrap();
        let head = scratch.head();
        let finding = refusal(reverted(&scratch, &[1]));
        assert_eq!(finding.code, Code::RevertConflict, "{finding:#?}");
        assert!(finding.summary.contains("checkpoint"), "{}", finding.summary);
        assert_eq!((scratch.text("a.txt").as_deref(), scratch.head()), (Some(typed), head));
    }

    #[test]
    fn a_line_of_the_user_that_an_edit_removed_comes_back_uncommitted() {
        let scratch = Scratch::with(&[("a.txt", TEXT)]);
        scratch.begin("fix");
        let users = TEXT.replace("2\n", "2\nmine\n");
        scratch.write("a.txt", &users);
        scratch.edit("users", "a.txt", "mine\n", "");
        reverted(&scratch, &[1]).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(users));
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some(TEXT));
    }

    #[test]
    fn the_revert_of_a_rename_takes_the_users_lines_along() {
        let scratch = three_edits();
        scratch.apply(&Request::new("move").rename("a.txt", "c.txt")).unwrap();
        let typed = scratch.text("c.txt").unwrap().replace('7', "7\nmine");
        scratch.write("c.txt", &typed);
        reverted(&scratch, &[4]).unwrap();
        assert_eq!((scratch.text("a.txt"), scratch.text("c.txt")), (Some(typed.clone()), None));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(typed.replace("7\nmine", "7")));
    }

    #[test]
    fn what_the_user_removed_of_an_edit_is_not_brought_back_by_its_revert() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "1\n2 by hand\n3\n4\n");
        scratch.edit("users", "a.txt", "2 by hand\n", "");
        scratch.write("a.txt", "1\n2\n3\n4\n");
        let session = scratch.session();
        let _ = revert(&mut scratch.open(), &session, &[1], MoveOptions::default());
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n"));
    }

    #[test]
    fn an_earlier_edit_goes_and_the_later_ones_stay() {
        let scratch = three_edits();
        let tip = scratch.head();
        let outcome = reverted(&scratch, &[2]).unwrap();
        let text = TEXT.replace('1', "one").replace('9', "nine");
        assert_eq!(scratch.text("a.txt"), Some(text.clone()));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(text));
        assert_eq!(
            (outcome.status, outcome.edit, outcome.parent),
            (Status::Applied, Some(4), Some(tip.to_string()))
        );
        assert_eq!(
            message(&scratch),
            "revert second\n\nEdt-Session: fix\nEdt-Kind: edit\nEdt-Edit: 4\nEdt-Reverts: 2\n"
        );
    }

    #[test]
    fn several_edits_are_one_commit() {
        let scratch = three_edits();
        reverted(&scratch, &[1, 3, 3]).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(TEXT.replace('5', "five")));
        assert_eq!(scratch.text("b.txt"), None);
        assert_eq!(
            message(&scratch),
            "revert edits 3, 1\n\nedit 3: third\nedit 1: first\n\nEdt-Session: fix\n\
             Edt-Kind: edit\nEdt-Edit: 4\nEdt-Reverts: 3\nEdt-Reverts: 1\n"
        );
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn an_edit_that_was_reverted_already_is_unchanged() {
        let scratch = three_edits();
        reverted(&scratch, &[2]).unwrap();
        let head = scratch.head();
        assert_eq!(reverted(&scratch, &[2]).unwrap().status, Status::Unchanged);
        // What the user typed there since is the user's.
        let typed = scratch.text("a.txt").unwrap().replace('5', "five");
        scratch.write("a.txt", &typed);
        assert_eq!(reverted(&scratch, &[2]).unwrap().status, Status::Unchanged);
        assert_eq!((scratch.text("a.txt"), scratch.head()), (Some(typed), head));
    }

    #[test]
    fn a_revert_of_a_revert_brings_the_edit_back() {
        let scratch = three_edits();
        let before = scratch.text("a.txt");
        reverted(&scratch, &[2]).unwrap();
        reverted(&scratch, &[4]).unwrap();
        assert_eq!(scratch.text("a.txt"), before);
    }

    #[test]
    fn later_edits_of_the_same_lines_are_named() {
        let scratch = three_edits();
        scratch.edit("fourth", "a.txt", "five", "FIVE");
        scratch.edit("fifth", "a.txt", "3", "three");
        let head = scratch.head();
        let finding = Finding::new(
            Code::RevertConflict,
            "Edit 2 cannot be reverted alone: later commits changed the same lines of a.txt: edit \
             4 (fourth).",
            "Revert them together: `edt revert 4 2`. Or `edt undo -n 4` undoes 4 edits, the newest \
             first.",
        );
        let finding = finding
            .nothing_changed()
            .with("edits", vec![4])
            .with("paths", vec!["a.txt"])
            .at(&path("a.txt"));
        assert_eq!(refusal(reverted(&scratch, &[2])), finding);
        assert_eq!(scratch.head(), head);
        reverted(&scratch, &[4, 2]).unwrap();
        let text = TEXT.replace('1', "one").replace('3', "three").replace('9', "nine");
        assert_eq!(scratch.text("a.txt"), Some(text));
    }

    #[test]
    fn every_edit_of_a_chain_is_named() {
        let scratch = three_edits();
        scratch.edit("fourth", "a.txt", "five", "FIVE");
        scratch.edit("fifth", "a.txt", "FIVE", "5!");
        let finding = refusal(reverted(&scratch, &[2]));
        assert_eq!(finding.evidence["edits"], serde_json::json!([5, 4]), "{finding:#?}");
        reverted(&scratch, &[5, 4, 2]).unwrap();
    }

    #[test]
    fn a_users_commit_of_the_same_lines_is_named() {
        let scratch = three_edits();
        let text = scratch.text("a.txt").unwrap().replace("five", "mine");
        let commit = scratch.user_commit("edt/fix", &[("a.txt", Some(&text))], "by hand\n");
        scratch.write("a.txt", &text);
        let finding = refusal(reverted(&scratch, &[2]));
        let named = format!("the user's commit {} (by hand)", commit.to_hex_with_len(12));
        assert!(finding.summary.contains(&named), "{}", finding.summary);
        assert!(finding.remedy.starts_with("Change the lines with `edt apply`"));
    }

    #[test]
    fn the_users_lines_stay_uncommitted_and_an_undo_is_exact() {
        let scratch = three_edits();
        let typed = scratch.text("a.txt").unwrap().replace('7', "7\r\nmine");
        scratch.write("a.txt", &typed);
        reverted(&scratch, &[2]).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(typed.replace("five", "5")));
        let committed = scratch.committed(scratch.head(), "a.txt").unwrap();
        assert!(!committed.contains("mine"), "{committed}");
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(typed));
    }

    #[test]
    fn lines_that_the_user_changed_are_overwritten_only_on_request() {
        let scratch = three_edits();
        let typed =
            scratch.text("a.txt").unwrap().replace("five", "five, mine").replace('7', "seven");
        scratch.write("a.txt", &typed);
        let finding = unwind::overlap(&path("a.txt"), &[4..5], "`edt revert`");
        assert_eq!(refusal(reverted(&scratch, &[2])), finding);
        let saving = MoveOptions { overlaps: Overlaps::Save, ..MoveOptions::default() };
        reverted_by(&scratch, &[2], saving).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(typed.replace("five, mine", "5")));
        let saved = scratch.ref_value("refs/edt/fix/saved/1").unwrap();
        assert_eq!(scratch.committed(saved, "a.txt"), Some(typed.clone()));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(typed));
    }

    #[test]
    fn an_undo_leaves_a_file_that_the_user_had_corrected_before() {
        let scratch = three_edits();
        let typed = scratch.text("a.txt").unwrap().replace("five", "5");
        scratch.write("a.txt", &typed);
        assert_eq!(reverted(&scratch, &[2]).unwrap().status, Status::Applied);
        assert_eq!(scratch.text("a.txt"), Some(typed.clone()));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(typed.clone()));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(typed));
    }

    #[test]
    fn an_edit_of_an_ignored_file_is_reverted_from_the_private_store() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write(".git/info/exclude", ".env\n");
        scratch.begin("fix");
        scratch.write(".env", TEXT);
        scratch.edit("first", ".env", "1", "one");
        scratch.edit("second", ".env", "5", "five");
        reverted(&scratch, &[1]).unwrap();
        assert_eq!(scratch.text(".env"), Some(TEXT.replace('5', "five")));
        assert_eq!(scratch.committed(scratch.head(), ".env"), None);
        scratch.edit("fourth", ".env", "five", "FIVE");
        assert_eq!(refusal(reverted(&scratch, &[2])).code, Code::RevertConflict);
        scratch.undo(2).unwrap();
        assert_eq!(scratch.text(".env"), Some(TEXT.replace('1', "one").replace('5', "five")));
        scratch.write(".env", "mine\n");
        assert_eq!(refusal(reverted(&scratch, &[2])).code, Code::UnsavedChanges);
    }

    #[test]
    fn a_dry_run_reports_the_files_and_changes_nothing() {
        let scratch = three_edits();
        let (head, text) = (scratch.head(), scratch.text("a.txt"));
        let dry = MoveOptions { dry_run: DryRun::Yes, ..MoveOptions::default() };
        let outcome = reverted_by(&scratch, &[3], dry).unwrap();
        let paths: Vec<&str> = outcome.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((outcome.status, paths), (Status::WouldApply, vec!["a.txt", "b.txt"]));
        assert_eq!((scratch.head(), scratch.text("a.txt")), (head, text));
    }

    #[test]
    fn an_unknown_number_is_refused() {
        let finding = refusal(reverted(&three_edits(), &[3, 9]));
        assert_eq!(finding.summary, "The session fix has no edit 9.");
    }
}
