//! `edt gc`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{GOOD, NAME, paint, short};
use crate::base::{Result, Status};
use crate::io::clock;
use crate::session::gc::{Freed, Gc, Store, gc};

/// Remove old sessions that have ended and pack loose objects. Never happens by itself.
///
/// A session has ended when it landed, was abandoned, or lost its branch. One that some worktree is in stays. Removing takes
/// the refs; Git keeps the objects for two weeks more (`gc.pruneExpire`).
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt gc --dry-run\n  edt gc --older-than 7")]
pub(super) struct Args {
    /// Keep what is younger, in days.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    older_than: u32,
    /// Tell what would go; change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The answer of `edt gc`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.gc/1`.
    schema: &'static str,
    /// Whether nothing was changed.
    dry_run: bool,
    /// Sessions that were removed.
    sessions: Vec<Gone>,
    /// Refs that were removed, with the objects they named.
    refs: Vec<Ref>,
    /// The object database before.
    before: Size,
    /// The object database after.
    after: Size,
    /// Bytes freed on disk, in whole KiB.
    freed_kib: i64,
}

/// A session that was removed.
#[derive(Debug, Serialize, JsonSchema)]
struct Gone {
    /// Its name.
    name: String,
    /// `landed`, `abandoned` or `deleted`.
    state: &'static str,
}

/// A ref that was removed.
#[derive(Debug, Serialize, JsonSchema)]
struct Ref {
    /// Its full name.
    name: String,
    /// The object it named, as hex: `git branch NAME OBJECT` brings a branch back while Git keeps it.
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

impl From<Store> for Size {
    fn from(store: Store) -> Size {
        Size { loose: store.loose, packs: store.packs, kib: store.kib }
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let age = i64::from(self.older_than) * 24 * 60 * 60;
        let freed = gc(&repo, Gc { before: clock::wall().0 - age, dry: self.dry_run })?;
        Ok(context.answer(&self.answer(freed), people))
    }

    fn answer(&self, freed: Freed) -> Answer {
        let kib = |store: Store| i64::try_from(store.kib).unwrap_or(i64::MAX);
        let named =
            |(name, object): (String, crate::git::Oid)| Ref { name, object: object.to_string() };
        Answer {
            schema: "edt.gc/1",
            dry_run: self.dry_run,
            freed_kib: kib(freed.before) - kib(freed.after),
            sessions: freed
                .sessions
                .into_iter()
                .map(|(name, state)| Gone { name, state: state.name() })
                .collect(),
            refs: freed.refs.into_iter().map(named).collect(),
            before: freed.before.into(),
            after: freed.after.into(),
        }
    }
}

fn people(answer: &Answer) -> String {
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
            "would pack {} loose objects; the object database has {} KiB",
            before.loose, before.kib
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
