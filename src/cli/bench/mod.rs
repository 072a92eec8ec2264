//! `edt bench`.

mod import;
mod list;
mod model;
mod run;
mod table;

use std::path::PathBuf;

use super::context::Context;
use crate::base::{Code, Finding, Result, Status};
use crate::bench::report::{Report, Timing, html};
use crate::bench::runner::{self, Work};
use crate::bench::store;
use crate::io::streams;
use crate::memory::exchange;

pub(super) use import::Imported;
pub(super) use list::{Checks, Listed};

/// Measure agents on tasks: strategies and guards side by side, with intervals and paired differences.
///
/// A task is a folder with the files before, an instruction and a judge; an agent is a program that speaks JSON lines. Everything happens
/// in scratch repositories. `docs/bench.md` tells how to write both.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt bench list\n  edt bench run formats collisions stale\n  edt bench run repeats --strategy none,episodic,placebo --sessions 3 --out results\n  edt bench report results"
)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Run(Box<run::Args>),
    List(list::Args),
    Check(list::CheckArgs),
    Import(import::Args),
    Merge(MergeArgs),
    Report(ReportArgs),
    #[command(hide = true)]
    Unit(UnitArgs),
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        match &self.what {
            What::Run(args) => args.run(context),
            What::List(args) => args.run(context),
            What::Check(args) => args.run(context),
            What::Import(args) => args.run(context),
            What::Merge(args) => args.run(context),
            What::Report(args) => args.run(context),
            What::Unit(args) => args.run(context),
        }
    }
}

/// Whether a report has times.
#[derive(Debug, Clone, Copy, clap::Args)]
struct TimesArgs {
    /// Leave out what differs from run to run: the same seed and agent then give the same bytes.
    #[arg(long)]
    no_times: bool,
}

impl TimesArgs {
    const fn timing(self) -> Timing {
        if self.no_times { Timing::LeftOut } else { Timing::Told }
    }
}

/// Put the shards of one run together.
///
/// Shards of other runs are refused: another suite, seed, version, agent or setting.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example, of a run in two parts on two machines:\n  edt bench run repeats --shard 1/2 --out part1\n  edt bench run repeats --shard 2/2 --out part2\n  edt bench merge part1 part2 --out whole"
)]
struct MergeArgs {
    /// The shards' folders.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Where the whole goes: a folder without results.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    times: TimesArgs,
}

impl MergeArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let dirs: Vec<PathBuf> = self.dirs.iter().map(|dir| context.start.join(dir)).collect();
        let (plan, done) = store::merge(&dirs, &context.start.join(&self.out))?;
        Ok(context.answer(&Report::of(&plan, &done, self.times.timing()), table::report))
    }
}

/// Print the report of a run, or of what is done of it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt bench report results\n  edt bench report results --format json --no-times > report.json\n  edt bench report results --format html > report.html"
)]
struct ReportArgs {
    /// The run's folder.
    #[arg(value_name = "DIR")]
    results: PathBuf,
    /// Its form; table unless --json is given.
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    times: TimesArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For a terminal.
    Table,
    /// `edt.bench-report/1`.
    Json,
    /// One page with plots that needs nothing else.
    Html,
}

impl ReportArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let (plan, done) = store::load(&context.start.join(&self.results))?;
        let report = Report::of(&plan, &done, self.times.timing());
        match self.format {
            Some(Format::Json) if !context.json => context.print(&super::render::json(&report)),
            Some(Format::Html) if !context.json => context.print(&html::page(&report)),
            Some(Format::Table | Format::Html) if context.json => {
                let message = "--format and --json ask for two forms. Nothing was printed.";
                return Err(
                    Finding::new(Code::BadRequest, message, "Leave one of them out.").into()
                );
            }
            _ => drop(context.answer(&report, table::report)),
        }
        Ok(Status::Applied)
    }
}

/// Do what a worker is told on standard input: the other end of `bench run`.
#[derive(Debug, clap::Args)]
struct UnitArgs {}

impl UnitArgs {
    #[expect(clippy::unused_self, reason = "every command has arguments")]
    fn run(&self, context: &Context) -> Result<Status> {
        // The episodes that a strategy begins with, quoted, and what else there is to say.
        const MOST: u64 = 3 * exchange::MOST_FILE;
        let bad = |why: String| {
            Finding::new(
                Code::BadRequest,
                why,
                "`edt bench run` calls this; it is not made to be called by hand.",
            )
        };
        let read = streams::own_input_at_most(MOST)
            .map_err(|error| bad(format!("The work cannot be read: {error}.")))?;
        let read = read.ok_or_else(|| bad(format!("The work has more than {MOST} bytes.")))?;
        let work: Work = serde_json::from_slice(&read)
            .map_err(|error| bad(format!("The work cannot be read: {error}.")))?;
        let worked = runner::work(&work)?;
        context.print(&super::render::json(&worked));
        Ok(Status::Applied)
    }
}
