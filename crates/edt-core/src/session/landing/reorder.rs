//! Chosen edits of a session before the others, so that they land without them. The commits from the
//! first other edit on are written again in the new order, each with its own change. The tree of the
//! session's tip stays the same.

use std::collections::BTreeSet;

use super::part_numbers::{numbers, squashed, unknown};
use super::plan::{LandTarget, landed, nothing};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::message;
use crate::session::refs::moves::RefMoves;
use crate::session::refs::record::{self, Step};
use crate::session::user::unwind;
use edt_git::read::ObjectKind;
use edt_git::{Loose, Merged, ObjectWriter, Oid, Repo};
use edt_types::text::{Shown as _, edits as edits_of};
use edt_types::{Code, Effect, Finding, RepoPath, Result};

/// The most edits for which it is tried whether a chosen edit can do without each of them.
const MAX_TRIED: usize = 8;

/// A session's branch in another order. Its commits and the entry of the record that names them
/// are written, but no ref names either.
#[derive(Debug)]
pub(super) struct Reordered {
    /// The new tip of the branch.
    pub(super) tip: Oid,
    /// The entry of the session's record.
    pub(super) entry: Oid,
    /// The moves of the branch and of the record.
    refs: RefMoves,
    objects: Vec<Loose>,
}

impl Reordered {
    /// Plans the move of the branch of `session` to `tip`: there, the commits `replaced` are written
    /// again above `below`. `objects` has them.
    fn of(
        repo: &Repo,
        session: &Session,
        (tip, below): (Oid, Oid),
        replaced: Vec<Oid>,
        mut objects: Vec<Loose>,
    ) -> Result<Reordered> {
        // The record's entry has to read them.
        edt_git::objects::write(repo, &objects)?;
        let (step, mut refs) = (Step::Reorder { below, replaced }, RefMoves::default());
        let entry = record::append(repo, (session, false), (&step, tip), &mut refs, &mut objects)?;
        edt_git::objects::write(repo, &objects)?;
        refs.replace.push((session.branch(), session.tip, tip));
        Ok(Reordered { tip, entry, refs, objects })
    }

    /// Adds the moves, and the objects that they need.
    pub(super) fn add(&self, refs: &mut RefMoves, objects: &mut Vec<Loose>) {
        objects.extend(self.objects.iter().cloned());
        refs.create.extend(self.refs.create.iter().cloned());
        refs.replace.extend(self.refs.replace.iter().cloned());
    }
}

/// The chosen edits, first on the branch.
#[derive(Debug)]
pub(super) struct FirstEdits {
    /// The commit of the last of them.
    pub(super) tip: Oid,
    /// How many other edits follow.
    pub(super) rest: u64,
    /// Set if the branch has them in another order so far.
    pub(super) reordered: Option<Reordered>,
}

impl FirstEdits {
    /// Lets the edits of `session` with these numbers come first after what has landed on `target`.
    /// Nothing but objects is written.
    ///
    /// # Errors
    /// `BAD_REQUEST` if a number is no edit of the session, has landed, or names a part of a squashed
    /// commit, and if a commit that has to move is not an edit as edt wrote it; `EDITS_OVERLAP` if
    /// the edits need others; `NOTHING_TO_LAND`; `OBJECT_MISSING`, `IO_ERROR`.
    pub(super) fn of(
        repo: &Repo,
        session: &Session,
        target: &LandTarget,
        only: &[u64],
    ) -> Result<FirstEdits> {
        let mut commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
        commits.reverse();
        let landed = landed(repo, session, target)?;
        let start = commits.iter().position(|commit| Some(commit.oid) == landed);
        let start = start.map_or(0, |at| at + 1);
        let chosen = match chosen(session, &commits, only)? {
            Ok(chosen) => chosen,
            Err((number, all)) => {
                let remedy = with_all(repo, session, target, only, &all);
                return Err(squashed(number, &all, remedy).into());
            }
        };
        let (had, chosen): (BTreeSet<usize>, BTreeSet<usize>) =
            chosen.into_iter().partition(|at| *at < start);
        let Some(last) = chosen.last().copied() else {
            return Err(nothing(session, target).into());
        };
        if !had.is_empty() {
            return Err(has_landed(&numbers_at(&commits, &had), target).into());
        }
        let is_other = |at: &usize| {
            let commit = &commits[*at];
            !chosen.contains(at) && (commit.is_edit() || commit.is_users())
        };
        let others: Vec<usize> = (start..commits.len()).filter(is_other).collect();
        let rest = others.iter().map(|at| commits[*at].edits()).sum();
        let first = match others.first() {
            Some(first) if *first < last => *first,
            _ => return Ok(FirstEdits { tip: commits[last].oid, rest, reordered: None }),
        };
        let moving = &commits[first..];
        if let Some(commit) = moving.iter().find(|commit| !can_move(commit)) {
            return Err(cannot_move(commit, number(&commits[last])).into());
        }
        let chosen = chosen.into_iter().filter(|at| *at > first).map(|at| at - first).collect();
        let order = Order { repo, session, only, moving, chosen };
        let (tip, reordered) = order.reordered()?;
        Ok(FirstEdits { tip, rest, reordered: Some(reordered) })
    }
}

/// How the edits `only` land with `all` of a squashed commit. That may be refused, too: then the
/// remedy of that refusal.
fn with_all(
    repo: &Repo,
    session: &Session,
    target: &LandTarget,
    only: &[u64],
    all: &[u64],
) -> String {
    let with: BTreeSet<u64> = only.iter().chain(all).copied().collect();
    let with: Vec<u64> = with.into_iter().collect();
    match FirstEdits::of(repo, session, target, &with) {
        Ok(_) => {
            let list: Vec<String> = with.iter().map(u64::to_string).collect();
            format!("`edt land --only {}` lands all of that commit.", list.join(","))
        }
        Err(found) => found.into_vec().pop().map(|finding| finding.remedy).unwrap_or_default(),
    }
}

/// An edit, and all that are in one commit with it.
type Squashed = (u64, Vec<u64>);

/// The places of the commits of the edits with these numbers; or an edit that is in one commit with
/// others that are not named.
fn chosen(
    session: &Session,
    commits: &[Commit],
    only: &[u64],
) -> Result<std::result::Result<BTreeSet<usize>, Squashed>> {
    let mut chosen = BTreeSet::new();
    for number in only {
        let has = |commit: &Commit| numbers(commit, session).contains(number);
        let at = commits.iter().position(has);
        let at = at.ok_or_else(|| unknown(session, *number))?;
        let all = numbers(&commits[at], session);
        if !all.iter().all(|own| only.contains(own)) {
            return Ok(Err((*number, all)));
        }
        chosen.insert(at);
    }
    Ok(Ok(chosen))
}

/// Whether a commit can be written again without a loss: an edit as edt wrote it. What the user
/// committed keeps its id, and an approval names the id of its commit.
fn can_move(commit: &Commit) -> bool {
    let is_own = !commit.is_users() && commit.rewritten.is_none();
    is_own && message::values(&commit.message, "Edt-Proposal").is_empty()
}

fn numbers_at(commits: &[Commit], places: &BTreeSet<usize>) -> Vec<u64> {
    places.iter().map(|at| number(&commits[*at])).collect()
}

fn number(commit: &Commit) -> u64 {
    commit.trailers.as_ref().map_or(0, |trailers| trailers.edit)
}

/// A commit that cannot be applied, by its place, with the paths in which it conflicts.
type Conflict = (usize, Vec<RepoPath>);

/// The commits that are written again.
struct Order<'a> {
    repo: &'a Repo,
    session: &'a Session,
    only: &'a [u64],
    /// In their present order.
    moving: &'a [Commit],
    /// The places of those that come first.
    chosen: BTreeSet<usize>,
}

impl Order<'_> {
    fn reordered(&self) -> Result<(Oid, Reordered)> {
        self.check_private()?;
        let mut writer = ObjectWriter::new(self.repo);
        let others: Vec<usize> =
            (0..self.moving.len()).filter(|at| !self.chosen.contains(at)).collect();
        let order: Vec<usize> = self.chosen.iter().copied().chain(others).collect();
        let trees = match self.trees(&mut writer, &order)? {
            Ok(trees) => trees,
            Err((at, paths)) => return Err(self.needs(&mut writer, at, &paths)?.into()),
        };
        if trees.last() != self.moving.last().map(|commit| &commit.tree) {
            let others = order.iter().filter(|at| !self.chosen.contains(at));
            let paths = Vec::new();
            return Err(self.overlap(&others.copied().collect(), &paths).into());
        }
        let below = self.moving.first().and_then(|commit| commit.parent);
        let (mut tip, mut first) = (below, None);
        for (step, (at, tree)) in order.iter().zip(trees).enumerate() {
            let original = self.repo.object(self.moving[*at].oid, ObjectKind::Commit)?;
            let parents: Vec<Oid> = tip.into_iter().collect();
            tip = Some(writer.rewrite_commit(&original, tree, &parents)?);
            if step + 1 == self.chosen.len() {
                first = tip;
            }
        }
        let tip = tip.unwrap_or(self.session.tip);
        let replaced = self.moving.iter().map(|commit| commit.oid).collect();
        let below = below.unwrap_or_else(|| self.repo.empty_tree());
        let objects = writer.loose_objects();
        let reordered = Reordered::of(self.repo, self.session, (tip, below), replaced, objects)?;
        Ok((first.unwrap_or(tip), reordered))
    }

    /// The tree after each commit in this `order`, or the first conflict.
    fn trees(
        &self,
        writer: &mut ObjectWriter<'_>,
        order: &[usize],
    ) -> Result<std::result::Result<Vec<Oid>, Conflict>> {
        let Some(first) = self.moving.first() else { return Ok(Ok(Vec::new())) };
        let (mut now, mut trees) = (first.parent_tree(self.repo)?, Vec::new());
        for at in order {
            let commit = &self.moving[*at];
            let before = commit.parent_tree(self.repo)?;
            match writer.merge_trees(before, now, commit.tree)? {
                Merged::Clean(tree) => now = tree,
                Merged::Conflicts(paths) => return Ok(Err((*at, paths))),
            }
            trees.push(now);
        }
        Ok(Ok(trees))
    }

    /// The refusal of a conflict of the commit at `at` in `paths`.
    fn needs(
        &self,
        writer: &mut ObjectWriter<'_>,
        at: usize,
        paths: &[RepoPath],
    ) -> Result<Finding> {
        if !self.chosen.contains(&at) {
            return Ok(self.overlap(&BTreeSet::from([at]), paths));
        }
        let mut needed = BTreeSet::new();
        for other in (0..at).filter(|other| !self.chosen.contains(other)) {
            let commit = &self.moving[other];
            let changed = self.repo.tree_diff(commit.parent_tree(self.repo)?, commit.tree)?;
            if changed.iter().any(|changed| paths.contains(&changed.path)) {
                needed.insert(other);
            }
        }
        if needed.len() <= MAX_TRIED {
            // The newest first: an edit can go only after those that need it.
            for other in needed.clone().into_iter().rev() {
                let with = needed.iter().filter(|one| **one != other);
                let with: BTreeSet<usize> = with.chain(&self.chosen).copied().collect();
                let with: Vec<usize> = with.into_iter().filter(|one| *one <= at).collect();
                if self.trees(writer, &with)?.is_ok() {
                    needed.remove(&other);
                }
            }
        }
        Ok(self.overlap(&needed, paths))
    }

    /// Files that no commit has are not merged here: their edits stay in their order.
    fn check_private(&self) -> Result<()> {
        let paths = |at: usize| -> BTreeSet<RepoPath> {
            let files = unwind::private_files(self.repo, &self.moving[at]).unwrap_or_default();
            files.iter().map(edt_journal::PrivateFile::path).collect()
        };
        for at in &self.chosen {
            let own = paths(*at);
            let is_other = |other: &usize| !self.chosen.contains(other);
            for other in (0..*at).filter(is_other).filter(|_| !own.is_empty()) {
                let shared: Vec<RepoPath> = own.intersection(&paths(other)).cloned().collect();
                if !shared.is_empty() {
                    return Err(self.overlap(&BTreeSet::from([other]), &shared).into());
                }
            }
        }
        Ok(())
    }

    /// `EDITS_OVERLAP`: the chosen edits need those at `others`.
    fn overlap(&self, others: &BTreeSet<usize>, paths: &[RepoPath]) -> Finding {
        // Their order on the branch may be another one than that of the numbers.
        let last = others.iter().chain(&self.chosen).max().map(|at| number(&self.moving[*at]));
        let last = last.unwrap_or_default();
        let others = numbers_at(self.moving, others);
        let names: Vec<String> = paths.iter().map(RepoPath::text).collect();
        let place = match names.as_slice() {
            [] => "the same lines".to_owned(),
            names => format!("the same lines of {}", names.join(", ").shown()),
        };
        let mut all: Vec<u64> = self.only.iter().chain(&others).copied().collect();
        all.sort_unstable();
        all.dedup();
        let list: Vec<String> = all.iter().map(u64::to_string).collect();
        let summary = format!(
            "Without {}, {} cannot land: they change {place}.",
            edits_of(&others),
            edits_of(self.only)
        );
        let remedy = format!(
            "`edt land --only {}` lands them together. Or `edt land --to {last}` lands all commits \
             up to edit {last}.",
            list.join(",")
        );
        let finding = Finding::new(Code::EditsOverlap, summary, remedy)
            .with_effect(Effect::NothingLanded)
            .with("edits", others)
            .with("paths", names);
        match paths {
            [one] => finding.at(one),
            _ => finding,
        }
    }
}

fn has_landed(numbers: &[u64], target: &LandTarget) -> Finding {
    let summary = format!("On {} has landed before: {}.", target.short(), edits_of(numbers));
    Finding::new(Code::BadRequest, summary, "Leave it out of `--only`.")
        .with_effect(Effect::NothingLanded)
}

/// The refusal to write `commit` again; `last` is the edit of the last commit that should land.
fn cannot_move(commit: &Commit, last: u64) -> Finding {
    let (id, subject) = (commit.oid.to_hex_with_len(12), commit.subject().shown());
    let what = if commit.is_users() {
        "is the user's"
    } else if commit.rewritten.is_some() {
        "was rewritten by the user"
    } else {
        "applied an approved proposal"
    };
    let summary = format!(
        "The commit {id} ({subject}) of the session {what}. The edits cannot land before it: it \
         would get another id."
    );
    let remedy = format!(
        "`edt land --to {last}` lands all commits up to edit {last}. `edt land` lands everything."
    );
    Finding::new(Code::BadRequest, summary, remedy)
        .with_effect(Effect::NothingLanded)
        .with("commit", commit.oid.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proposal::landing::land;
    use crate::session::landing::land::Landed;
    use crate::session::landing::options::LandOptions;
    use crate::session::refs::record::{RecordTip, Records, Undone};
    use crate::tests::{Scratch, refusal};
    use crate::txn::Request;

    /// A text of six lines that edits change, each with three others around it.
    fn text(lines: &[String]) -> String {
        lines.iter().map(|line| format!("=\n=\n=\n{line}\n=\n=\n=\n")).collect()
    }

    fn six() -> Vec<String> {
        (0..6).map(|at| format!("line {at}.")).collect()
    }

    /// A session in which edit `n` changes the line of that place to `n` edits.
    fn session_of(places: &[usize]) -> (Scratch, Vec<String>) {
        let mut lines = six();
        let scratch = Scratch::with(&[("a.txt", &text(&lines))]);
        scratch.begin("fix");
        for (at, place) in places.iter().enumerate() {
            let new = format!("place {place}, edit {}.", at + 1);
            scratch.edit(&format!("edit {}", at + 1), "a.txt", &lines[*place], &new);
            lines[*place] = new;
        }
        (scratch, lines)
    }

    fn only(edits: &[u64]) -> LandOptions {
        LandOptions { only: edits.to_vec(), ..LandOptions::default() }
    }

    #[test]
    fn the_record_names_the_commits_in_their_new_order_alone() {
        let (scratch, _) = session_of(&[0, 1, 2]);
        let (session, repo) = (scratch.session(), scratch.repo());
        land(&mut scratch.open(), &session, &only(&[3])).unwrap();
        let now = scratch.session();
        assert_ne!(now.tip, session.tip);
        assert_eq!(repo.tree_of(now.tip).unwrap(), repo.tree_of(session.tip).unwrap());
        let entry = RecordTip::of(&repo, &now).unwrap().unwrap();
        assert!(entry.is_on(&now), "{entry:#?}");
        assert_eq!((entry.number, entry.count), (3, 3));
        for undone in [Undone::Count, Undone::Never] {
            let records = Records::of(&repo, &now).unwrap();
            let numbers: Vec<u64> = records.commits(undone).map(number).collect();
            assert_eq!(numbers, [3, 1, 2]);
        }
        assert_eq!(now.last_number(&repo).unwrap(), 3);
    }

    /// The numbers of the edits on the branch, the newest first.
    fn log(scratch: &Scratch) -> Vec<u64> {
        let repo = scratch.repo();
        let commits = scratch.session().commits(&repo);
        commits.map(|commit| number(&commit.unwrap())).collect()
    }

    fn landed(scratch: &Scratch, edits: &[u64]) -> Landed {
        let session = scratch.session();
        land(&mut scratch.open(), &session, &only(edits)).unwrap()
    }

    #[test]
    fn an_edit_lands_without_the_rename_before_it() {
        let text = |line: &str| format!("{}{line}\n{}", "before\n".repeat(9), "after\n".repeat(9));
        let scratch = Scratch::with(&[("f.txt", &text("one"))]);
        scratch.begin("fix");
        scratch.apply(&Request::new("first").rename("f.txt", "g.txt")).unwrap();
        scratch.edit("second", "g.txt", "one", "two");
        let options = LandOptions { message: Some("mine".into()), ..only(&[2]) };
        let session = scratch.session();
        let landed = land(&mut scratch.open(), &session, &options).unwrap();
        assert_eq!((landed.edits, landed.rest, landed.warnings), (1, 1, Vec::new()));
        assert!(scratch.message(landed.commit).starts_with("mine\n\n"));
        assert_eq!(scratch.committed(landed.commit, "f.txt"), Some(text("two")));
        assert_eq!(log(&scratch), [1, 2]);
        scratch.undo(2).unwrap();
        assert_eq!(scratch.text("f.txt"), Some(text("one")));
        scratch.redo().unwrap();
        assert_eq!(scratch.text("g.txt"), Some(text("two")));
        assert_eq!(log(&scratch), [1, 2]);
        assert_eq!(scratch.committed(scratch.head(), "g.txt"), Some(text("two")));
    }

    #[test]
    fn an_edit_without_a_committed_change_stays_another_edit() {
        let (scratch, lines) = session_of(&[0, 3]);
        scratch.write(".git/info/exclude", "*.ign\n");
        scratch.write("p.ign", "one\n");
        scratch.edit("third", "p.ign", "one", "two");
        let of_two = landed(&scratch, &[2]);
        assert_eq!((of_two.edits, of_two.rest), (1, 2));
        assert_eq!(log(&scratch), [3, 1, 2]);
        let of_rest = landed(&scratch, &[1, 3]);
        assert_eq!((of_rest.edits, of_rest.rest), (2, 0));
        assert_eq!(scratch.committed(of_rest.commit, "a.txt"), Some(text(&lines)));
    }

    #[test]
    fn an_edit_in_its_earlier_place_has_its_earlier_commit() {
        let (scratch, _) = session_of(&[0, 1, 2]);
        let (repo, session) = (scratch.repo(), scratch.session());
        let commits = |session: &Session| -> Vec<Oid> {
            session.commits(&repo).map(|commit| commit.unwrap().oid).collect()
        };
        let before = commits(&session);
        scratch.set_ref("refs/heads/other", session.base);
        landed(&scratch, &[3]);
        assert_eq!(log(&scratch), [2, 1, 3]);
        let into = LandOptions { into: Some("other".into()), by_user: true, ..only(&[1]) };
        let now = scratch.session();
        let landed = land(&mut scratch.open(), &now, &into).unwrap();
        assert_eq!((landed.edits, landed.rest), (1, 2));
        assert_eq!(log(&scratch), [2, 3, 1]);
        let now = scratch.session();
        assert_eq!(commits(&now).last(), before.last());
        for undone in [Undone::Count, Undone::Never] {
            let records = Records::of(&repo, &now).unwrap();
            assert_eq!(records.commits(undone).map(number).collect::<Vec<_>>(), [1, 3, 2]);
        }
    }

    #[test]
    fn the_remedy_for_a_squashed_edit_can_be_followed() {
        let (scratch, _) = session_of(&[0, 1, 2, 3]);
        let repo = scratch.repo();
        let at = |count: usize| scratch.session().commits(&repo).nth(count).unwrap().unwrap();
        let (second, tip) = (at(2), at(0));
        scratch.set_ref("refs/heads/edt/fix", second.oid);
        let squashed = scratch.committed(tip.oid, "a.txt").unwrap();
        scratch.user_commit("edt/fix", &[("a.txt", Some(&squashed))], "squashed\n");
        let session = scratch.session();
        let finding = refusal(land(&mut scratch.open(), &session, &only(&[3])));
        let remedy =
            "`edt land --to 4` lands all commits up to edit 4. `edt land` lands everything.";
        assert_eq!(finding.remedy, remedy);
        let finding = refusal(land(&mut scratch.open(), &session, &only(&[1, 2, 3])));
        assert_eq!(finding.remedy, "`edt land --only 1,2,3,4` lands all of that commit.");
        assert_eq!(landed(&scratch, &[1, 2, 3, 4]).edits, 4);
    }

    #[test]
    fn a_redo_after_another_order_says_why_there_is_none() {
        let (scratch, _) = session_of(&[0, 1, 2]);
        let nothing = |scratch: &Scratch| refusal(scratch.redo()).summary;
        assert!(nothing(&scratch).ends_with("nothing was undone, or edits followed the undo."));
        scratch.undo(1).unwrap();
        landed(&scratch, &[2]);
        let summary = "There is nothing to redo in the session fix: `edt land --only` has since \
                       written the edits below what was undone again, in another order.";
        assert_eq!(nothing(&scratch), summary);
        // What was redone before is no reason.
        let (scratch, _) = session_of(&[0, 1, 2]);
        scratch.undo(1).unwrap();
        scratch.redo().unwrap();
        landed(&scratch, &[2]);
        assert!(nothing(&scratch).ends_with("nothing was undone, or edits followed the undo."));
    }

    #[test]
    fn what_another_edit_left_over_is_not_left_out() {
        let scratch = Scratch::with(&[("f.txt", "a\nb\n"), ("h.txt", &text(&six()))]);
        scratch.begin("fix");
        scratch.edit("first", "h.txt", "line 0.", "LINE 0.");
        scratch.edit("second", "h.txt", "line 5.", "LINE 5.");
        scratch.write("f.txt", "a\nmine\nb\n");
        scratch.edit("third", "f.txt", "mine", "yours");
        assert_eq!(landed(&scratch, &[2]).edits, 1);
        let session = scratch.session();
        let by_user = LandOptions { by_user: true, ..only(&[1, 3]) };
        let finding = refusal(land(&mut scratch.open(), &session, &by_user));
        let remedy = "`edt checkpoint` commits what is uncommitted, as your changes; `edt land` \
                      then lands the whole session. `edt land --only 1,3 --allow leaves_out` lands \
                      without it.";
        assert_eq!((finding.code, finding.remedy.as_str()), (Code::LeavesOut, remedy));
        let allow = vec!["leaves_out".to_owned()];
        let by_user = LandOptions { allow, ..by_user };
        let landed = land(&mut scratch.open(), &session, &by_user).unwrap();
        assert_eq!((landed.edits, landed.rest), (2, 0));
    }

    #[test]
    fn edits_that_need_each_other_alone_are_not_named() {
        let (scratch, _) = session_of(&[1, 1, 0, 5, 5]);
        let session = scratch.session();
        let finding = refusal(land(&mut scratch.open(), &session, &only(&[5])));
        assert_eq!((finding.code, &finding.evidence["edits"]), (Code::EditsOverlap, &[4].into()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

        #[test]
        fn edits_land_unless_they_need_others(
            places in prop::collection::vec(0..6_usize, 2..6),
            bits in 1..32_u32,
        ) {
            let chosen: Vec<usize> = (0..places.len()).filter(|at| bits >> at & 1 == 1).collect();
            prop_assume!(!chosen.is_empty());
            let (scratch, lines) = session_of(&places);
            let (session, repo) = (scratch.session(), scratch.repo());
            let edits: Vec<u64> = chosen.iter().map(|at| *at as u64 + 1).collect();
            let missing: BTreeSet<u64> = (0..places.len())
                .filter(|other| !chosen.contains(other))
                .filter(|other| chosen.iter().any(|at| other < at && places[*other] == places[*at]))
                .map(|other| other as u64 + 1)
                .collect();
            let landed = land(&mut scratch.open(), &session, &only(&edits));
            if !missing.is_empty() {
                let finding = refusal(landed);
                prop_assert_eq!(finding.code, Code::EditsOverlap);
                let named = finding.evidence["edits"].as_array().unwrap().clone();
                prop_assert!(!named.is_empty());
                prop_assert!(named.iter().all(|one| missing.contains(&one.as_u64().unwrap())));
                prop_assert_eq!(scratch.session().tip, session.tip);
                return Ok(());
            }
            let landed = landed.unwrap();
            let mut expected: Vec<String> = (0..6).map(|at| format!("line {at}.")).collect();
            for at in &chosen {
                expected[places[*at]] = format!("place {}, edit {}.", places[*at], at + 1);
            }
            prop_assert_eq!(scratch.committed(landed.commit, "a.txt"), Some(text(&expected)));
            prop_assert_eq!(landed.rest, (places.len() - chosen.len()) as u64);
            prop_assert_eq!(scratch.text("a.txt"), Some(text(&lines)));
            if landed.rest > 0 {
                let now = scratch.session();
                let same = repo.tree_of(now.tip).unwrap() == repo.tree_of(session.tip).unwrap();
                prop_assert!(same);
                let landed = land(&mut scratch.open(), &now, &LandOptions::default()).unwrap();
                prop_assert_eq!(scratch.committed(landed.commit, "a.txt"), Some(text(&lines)));
            }
        }
    }
}
