//! The arguments of `edt memory`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum What {
    /// List the episodes, those that were seen last first.
    #[command(after_help = "Example:\n  edt memory list --language c")]
    List(ListArgs),
    /// Show one episode.
    #[command(after_help = "Example:\n  edt memory show 0123456789abcdef")]
    Show(IdArgs),
    /// Show the lessons that a failure would be answered with.
    #[command(
        after_help = "Example:\n  edt memory search 'int main' --code SYNTAX_ERROR --language c"
    )]
    Search(SearchArgs),
    /// Write a lesson of your own down.
    #[command(
        after_help = "Example:\n  edt memory add --code SYNTAX_ERROR --language c 'Close every brace in the same edit.'"
    )]
    Add(AddArgs),
    /// Put your own words in place of what an episode tells, or take back that it is deprecated.
    #[command(
        after_help = "Example:\n  edt memory edit 0123456789abcdef --lesson 'Indent with tabs.'"
    )]
    Edit(EditArgs),
    /// Have an episode told no more. It stays, with the reason.
    #[command(
        after_help = "Example:\n  edt memory deprecate 0123456789abcdef -m 'the Makefile uses spaces now'"
    )]
    Deprecate(DeprecateArgs),
    /// Delete an episode. The history still holds it.
    #[command(after_help = "Example:\n  edt memory delete 0123456789abcdef")]
    Delete(IdArgs),
    /// Give the present state a name; without a name, list the snapshots.
    #[command(after_help = "Example:\n  edt memory snapshot before-the-sprint")]
    Snapshot(SnapshotArgs),
    /// Make the memory what it was at a snapshot, or at a commit of its history. What came since stays in the history.
    #[command(after_help = "Example:\n  edt memory restore before-the-sprint")]
    Restore(RestoreArgs),
    /// Write the episodes as lines of JSON (`edt.episode/1`); to `-`, these lines are the whole answer, also with `--json`.
    #[command(after_help = "Example:\n  edt memory export lessons.jsonl")]
    Export(ExportArgs),
    /// Take in the episodes of an export, or of another memory's commit that was fetched.
    #[command(
        after_help = "Examples:\n  edt memory import lessons.jsonl\n  git fetch origin refs/edt/memory && edt memory import FETCH_HEAD"
    )]
    Import(ImportArgs),
    /// Count what is remembered, and how well it serves.
    #[command(after_help = "Example:\n  edt memory stats")]
    Stats,
}

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Only of this code.
    #[arg(long)]
    pub(super) code: Option<String>,
    /// Only of this language.
    #[arg(long)]
    pub(super) language: Option<String>,
    /// How many.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(super) limit: u64,
}

#[derive(Debug, clap::Args)]
pub(super) struct IdArgs {
    /// Its id, as `edt memory list` shows it.
    pub(super) id: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// The text it is about: what was sent as `old_text`, or as content.
    pub(super) text: String,
    /// The code of the refusal.
    #[arg(long)]
    pub(super) code: Option<String>,
    /// The language of the file.
    #[arg(long)]
    pub(super) language: Option<String>,
    /// The mode of the edit.
    #[arg(long)]
    pub(super) mode: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// What is to be told.
    pub(super) lesson: String,
    /// The code of the refusals that it answers.
    #[arg(long)]
    pub(super) code: String,
    /// The language of the files.
    #[arg(long)]
    pub(super) language: Option<String>,
    /// The mode of the edits.
    #[arg(long)]
    pub(super) mode: Option<String>,
    /// A text like those it is about.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) like: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct EditArgs {
    /// Its id.
    pub(super) id: String,
    /// Your own words.
    #[arg(long, value_name = "TEXT", conflicts_with = "no_lesson")]
    pub(super) lesson: Option<String>,
    /// Take your own words back.
    #[arg(long)]
    pub(super) no_lesson: bool,
    /// Have it told again.
    #[arg(long)]
    pub(super) revive: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeprecateArgs {
    /// Its id.
    pub(super) id: String,
    /// Why.
    #[arg(short, long, default_value = "deprecated")]
    pub(super) message: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct SnapshotArgs {
    /// The name.
    pub(super) name: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// The snapshot's name, or a commit.
    pub(super) name: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// The file to write; `-` is standard output. It must not be there yet.
    #[arg(default_value = "-")]
    pub(super) file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(super) struct ImportArgs {
    /// A file of lines of JSON (`-` is standard input), else a commit or a ref.
    pub(super) from: String,
}
