//! The arguments of `edt memory`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum MemoryCommand {
    /// List the episodes, most recently seen first.
    #[command(after_help = "Example:\n  edt memory list --language c")]
    List(ListArgs),
    /// Show one episode.
    #[command(after_help = "Example:\n  edt memory show 0123456789abcdef")]
    Show(IdArgs),
    /// Show the lessons that the answer to a failure would include.
    #[command(
        after_help = "Example:\n  edt memory search 'int main' --code SYNTAX_ERROR --language c"
    )]
    Search(SearchArgs),
    /// Add a lesson in your own words.
    #[command(
        after_help = "Example:\n  edt memory add --code SYNTAX_ERROR --language c 'Close every brace in the same edit.'"
    )]
    Add(AddArgs),
    /// Replace the lesson of an episode by your own words, or end its deprecation.
    #[command(
        after_help = "Example:\n  edt memory edit 0123456789abcdef --lesson 'Indent with tabs.'"
    )]
    Edit(EditArgs),
    /// Deprecate an episode: answers no longer include its lesson. The episode stays, with the
    /// reason.
    #[command(
        after_help = "Example:\n  edt memory deprecate 0123456789abcdef -m 'the Makefile uses spaces now'"
    )]
    Deprecate(DeprecateArgs),
    /// Delete an episode. It stays in the history.
    #[command(after_help = "Example:\n  edt memory delete 0123456789abcdef")]
    Delete(IdArgs),
    /// Name the present state; without a name, list the snapshots.
    #[command(after_help = "Example:\n  edt memory snapshot before-the-sprint")]
    Snapshot(SnapshotArgs),
    /// Restore the memory to a snapshot or to a commit of its history. Later changes stay in the
    /// history.
    #[command(after_help = "Example:\n  edt memory restore before-the-sprint")]
    Restore(RestoreArgs),
    /// Write the episodes as lines of JSON (`edt.episode/1`). With `-` these lines are the complete
    /// answer, also with `--json`.
    #[command(after_help = "Example:\n  edt memory export lessons.jsonl")]
    Export(ExportArgs),
    /// Import the episodes of an export, or of a fetched commit of another memory.
    #[command(
        after_help = "Examples:\n  edt memory import lessons.jsonl\n  git fetch origin refs/edt/memory && edt memory import FETCH_HEAD"
    )]
    Import(ImportArgs),
    /// Count episodes and lessons, and how often lessons helped.
    #[command(after_help = "Example:\n  edt memory stats")]
    Stats,
}

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Only episodes with this code.
    #[arg(long)]
    pub(super) code: Option<String>,
    /// Only episodes of this language.
    #[arg(long)]
    pub(super) language: Option<String>,
    /// The maximum number of episodes.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(super) limit: u64,
}

#[derive(Debug, clap::Args)]
pub(super) struct IdArgs {
    /// The id of the episode, as `edt memory list` shows it.
    pub(super) id: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// The text of the failed edit: its `old_text` or its content.
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
    /// The text of the lesson.
    pub(super) lesson: String,
    /// The code of the refusals whose answers should include it.
    #[arg(long)]
    pub(super) code: String,
    /// The language of the files.
    #[arg(long)]
    pub(super) language: Option<String>,
    /// The mode of the edits.
    #[arg(long)]
    pub(super) mode: Option<String>,
    /// An example of the text that such edits send.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) like: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct EditArgs {
    /// The id of the episode.
    pub(super) id: String,
    /// The new text of the lesson.
    #[arg(long, value_name = "TEXT", conflicts_with = "no_lesson")]
    pub(super) lesson: Option<String>,
    /// Remove your own words.
    #[arg(long)]
    pub(super) no_lesson: bool,
    /// End the deprecation of the episode.
    #[arg(long)]
    pub(super) revive: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeprecateArgs {
    /// The id of the episode.
    pub(super) id: String,
    /// The reason.
    #[arg(short, long, default_value = "deprecated")]
    pub(super) message: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct SnapshotArgs {
    /// The name of the snapshot.
    pub(super) name: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// The snapshot's name, or a commit.
    pub(super) name: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// The file to write, which must not exist; `-` is standard output.
    #[arg(default_value = "-")]
    pub(super) file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(super) struct ImportArgs {
    /// A file with lines of JSON (`-` is standard input), else a commit or a ref.
    pub(super) from: String,
}

impl ExportArgs {
    /// Whether it writes a file.
    pub(super) fn writes(&self) -> bool {
        self.file.as_os_str() != "-"
    }
}
