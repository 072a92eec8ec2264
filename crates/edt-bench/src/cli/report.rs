//! `edt-bench merge` and `edt-bench report`.

use std::path::PathBuf;

use super::context::{Context, print};
use super::{render, table};
use crate::report::{Report, Timing, html};
use crate::results_dir;
use edt_types::{Code, Finding, Result, Status};

/// Whether a report has times.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct TimesArgs {
    /// Leave out the times: then the same seed and agent give the same bytes.
    #[arg(long)]
    no_times: bool,
}

impl TimesArgs {
    pub(super) const fn timing(self) -> Timing {
        if self.no_times { Timing::Omitted } else { Timing::Included }
    }
}

/// Merge the shards of one run.
///
/// Shards of different runs are refused: another suite, seed, version, agent or setting.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example, a run in two parts on two machines:\n  edt-bench run numeric --shard 1/2 \
                  --out part1\n  edt-bench run numeric --shard 2/2 --out part2\n  edt-bench merge \
                  part1 part2 --out whole"
)]
pub(super) struct MergeArgs {
    /// The shards' directories.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// The directory for the merged results; it must not have results yet.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    times: TimesArgs,
}

impl MergeArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let dirs: Vec<PathBuf> = self.dirs.iter().map(|dir| context.start.join(dir)).collect();
        let (plan, results) = results_dir::merge(&dirs, &context.start.join(&self.out))?;
        let report = Report::of(&plan, &results, self.times.timing());
        Ok(context.answer(&report, table::report))
    }
}

/// Print the report of a run; of the finished units if the run is not complete.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt-bench report results\n  edt-bench report results --format json \
                  --no-times > report.json\n  edt-bench report results --format html > report.html"
)]
pub(super) struct ReportArgs {
    /// The run's directory.
    #[arg(value_name = "DIR")]
    results: PathBuf,
    /// The form; table unless --json is given.
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
    /// One self-contained page with plots.
    Html,
}

impl ReportArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (plan, results) = results_dir::load(&context.start.join(&self.results))?;
        let report = Report::of(&plan, &results, self.times.timing());
        match self.format {
            Some(Format::Json) if !context.json => print(&render::json(&report)),
            Some(Format::Html) if !context.json => print(&html::page(&report)),
            Some(Format::Table | Format::Html) if context.json => {
                let summary = "--format and --json ask for two forms; nothing was printed.";
                let remedy = "Leave one of them out.";
                return Err(Finding::new(Code::BadRequest, summary, remedy).into());
            }
            _ => drop(context.answer(&report, table::report)),
        }
        Ok(Status::Applied)
    }
}
