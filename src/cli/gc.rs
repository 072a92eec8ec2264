//! `edt gc`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{GOOD, NAME, paint, short};
use edt_core::session::collection::gc::{
    GcOptions, GcReport, ObjectStats, gc, has_many_loose_objects, object_stats, pack_loose_objects,
    remove_ended,
};
use edt_core::session::recording::snapshot::Snapshot;
use edt_git::Repo;
use edt_io::{background, clock, fs};
use edt_types::text::counted;
use edt_types::{Result, Status};

/// How long sessions are kept by default, in days.
const USUAL_DAYS: u32 = 30;

/// Remove old sessions that have ended and pack loose objects.
///
/// edt does `--auto` in the background if there are about 2,000 loose objects. It looks after a
/// landing and after each 128th edit. `gc.auto = 0` and `maintenance.auto = false` prevent it.
///
/// A session has ended when it landed, was abandoned, or lost its branch. A session that some
/// worktree uses is kept. Git keeps the objects of removed refs for two more weeks
/// (`gc.pruneExpire`). Private copies of ignored files are removed with their session. Equally old
/// copies of files as they were before a program are removed, and after a merge or rebase the refs
/// `refs/edt/resolution/<n>`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt gc --dry-run\n  edt gc --older-than 7")]
pub(super) struct Args {
    /// Keep sessions that are younger than this, in days.
    #[arg(long, value_name = "DAYS", default_value_t = USUAL_DAYS)]
    older_than: u32,
    /// Show what would be removed; remove nothing. As in every call, an interrupted one is recovered.
    #[arg(long)]
    dry_run: bool,
    /// Remove only sessions that ended 30 days ago; pack loose objects if there are many.
    #[arg(long, conflicts_with_all = ["dry_run", "older_than"])]
    auto: bool,
}

/// The answer of `edt gc`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.gc/1`.
    schema: &'static str,
    /// Whether this was a dry run, which changes nothing.
    dry_run: bool,
    /// Sessions that were removed.
    sessions: Vec<RemovedSession>,
    /// Refs that were removed, with their objects.
    refs: Vec<RemovedRef>,
    /// The object database before.
    before: Size,
    /// The object database after.
    after: Size,
    /// Disk space freed, in KiB.
    freed_kib: i64,
}

/// A session that was removed.
#[derive(Debug, Serialize, JsonSchema)]
struct RemovedSession {
    /// Its name.
    name: String,
    /// `landed`, `abandoned` or `deleted`.
    state: &'static str,
}

/// A ref that was removed.
#[derive(Debug, Serialize, JsonSchema)]
struct RemovedRef {
    /// Its full name.
    name: String,
    /// Its object, as hex. `git branch NAME OBJECT` restores a branch while Git keeps the object.
    object: String,
}

/// How large the object database is.
#[derive(Debug, Serialize, JsonSchema)]
struct Size {
    /// Loose objects.
    loose: u64,
    /// Packs.
    packs: u64,
    /// Both on disk, in KiB.
    kib: u64,
}

impl From<ObjectStats> for Size {
    fn from(store: ObjectStats) -> Size {
        Size { loose: store.loose, packs: store.packs, kib: store.kib }
    }
}

/// Starts `edt gc --auto` if there are many loose objects. A failure is ignored: the next landing tries
/// again.
pub(super) fn pack_in_background(repo: &Repo) {
    if has_many_loose_objects(repo)
        && let Ok(edt) = fs::current_program()
    {
        let _ = background::start(&edt, repo.root_path(), &["gc", "--auto", "--json"]);
    }
}

impl Args {
    /// Whether it removes what is kept by default.
    pub(super) const fn shortens(&self) -> bool {
        self.older_than < USUAL_DAYS && !self.dry_run
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if self.auto {
            let mut workspace = context.quiet_workspace()?;
            let mut report = remove_ended(&mut workspace, clock::seconds())?;
            workspace.release();
            let repo = &workspace.repo;
            if has_many_loose_objects(repo) {
                pack_loose_objects(repo)?;
            }
            report.after = object_stats(repo)?;
            return Ok(context.answer(&self.answer(report), render_human));
        }
        let age = i64::from(self.older_than) * 24 * 60 * 60;
        let options = GcOptions { before: clock::seconds() - age, dry_run: self.dry_run };
        let freed = gc(context.quiet_workspace()?, options)?;
        // Where another call is busy, the copies stay until the next one.
        if !self.dry_run
            && let Ok(workspace) = context.quiet_workspace()
        {
            Snapshot::discard_unneeded(&workspace);
        }
        Ok(context.answer(&self.answer(freed), render_human))
    }

    fn answer(&self, freed: GcReport) -> Answer {
        let kib = |store: ObjectStats| i64::try_from(store.kib).unwrap_or(i64::MAX);
        let named = |(name, object): (String, edt_git::Oid)| RemovedRef {
            name,
            object: object.to_string(),
        };
        Answer {
            schema: "edt.gc/1",
            dry_run: self.dry_run,
            freed_kib: kib(freed.before) - kib(freed.after),
            sessions: freed
                .sessions
                .into_iter()
                .map(|(name, state)| RemovedSession { name, state: state.name() })
                .collect(),
            refs: freed.refs.into_iter().map(named).collect(),
            before: freed.before.into(),
            after: freed.after.into(),
        }
    }
}

fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    let verb = if answer.dry_run { "would remove" } else { "removed" };
    for session in &answer.sessions {
        let _ = writeln!(out, "{verb} session {} ({})", paint(NAME, &session.name), session.state);
    }
    for one in &answer.refs {
        let _ = writeln!(out, "{verb} {} {}", short(&one.object), one.name);
    }
    let (before, after) = (&answer.before, &answer.after);
    if answer.dry_run {
        let _ = writeln!(
            out,
            "would pack {}; the object database has {} KiB",
            counted(before.loose, "loose object"),
            before.kib
        );
    } else {
        let _ = writeln!(
            out,
            "{} {} KiB: loose objects {} -> {}, {} -> {} KiB on disk",
            paint(GOOD, "freed"),
            answer.freed_kib,
            before.loose,
            after.loose,
            before.kib,
            after.kib
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use edt_core::session::landing::list::SessionState;

    use super::*;
    use crate::cli::tests::plain;

    fn report() -> GcReport {
        let store = |loose, kib| ObjectStats { loose, packs: 1, kib };
        GcReport {
            sessions: vec![("fix".to_owned(), SessionState::Landed)],
            refs: vec![(
                "refs/heads/edt/fix".to_owned(),
                edt_git::Oid::from_hex(&[b'a'; 40]).unwrap(),
            )],
            before: store(20, 100),
            after: store(0, 40),
        }
    }

    fn rendered(dry_run: bool) -> String {
        plain(&render_human(&Args { older_than: 30, dry_run, auto: false }.answer(report())))
    }

    #[test]
    fn removed_sessions_and_refs_are_listed_before_the_space() {
        assert_eq!(
            rendered(false),
            "removed session fix (landed)\nremoved aaaaaaaaaaaa refs/heads/edt/fix\nfreed 60 KiB: loose \
         objects 20 -> 0, 100 -> 40 KiB on disk\n"
        );
    }

    #[test]
    fn a_dry_run_says_what_would_be_done() {
        assert_eq!(
            rendered(true),
            "would remove session fix (landed)\nwould remove aaaaaaaaaaaa refs/heads/edt/fix\nwould pack \
         20 loose objects; the object database has 100 KiB\n"
        );
    }

    #[test]
    fn a_database_that_grew_frees_a_negative_amount() {
        let mut report = report();
        report.after.kib = 130;
        assert_eq!(
            Args { older_than: 30, dry_run: false, auto: false }.answer(report).freed_kib,
            -30
        );
    }
}
