//! The arguments of `edt memory`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum MemoryCommand {
    /// List the episodes, most recently seen first.
    #[command(after_help = "Example:\n  edt memory list --language c")]
    List {
        /// Only episodes with this code.
        #[arg(long)]
        code: Option<String>,
        /// Only episodes of this language.
        #[arg(long)]
        language: Option<String>,
        /// The maximum number of episodes.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
        limit: u64,
    },
    /// Show one episode.
    #[command(after_help = "Example:\n  edt memory show 0123456789abcdef --json")]
    Show {
        /// The id of the episode, as `edt memory list` shows it.
        id: String,
    },
    /// Show the lesson that a refusal would have, and the episodes with a text.
    #[command(
        after_help = "Examples:\n  edt memory search --code OLD_TEXT_NOT_FOUND --language c\n  edt memory search 'close every brace'"
    )]
    Search {
        /// Words of a note, or of the query of an answer.
        #[arg(required_unless_present = "code")]
        text: Option<String>,
        /// The code of the refusal.
        #[arg(long)]
        code: Option<String>,
        /// The language of the file.
        #[arg(long, requires = "code")]
        language: Option<String>,
        /// The mode of the edit.
        #[arg(long, requires = "code")]
        mode: Option<String>,
    },
    /// Add a note in your own words, which refusals with a code show.
    #[command(
        after_help = "Example:\n  edt memory add --code OLD_TEXT_NOT_FOUND --language c 'Read it first: make writes it.'"
    )]
    Add {
        /// The text of the note, on one line.
        text: String,
        /// The code of the refusals that show it; not that of a guard.
        #[arg(long)]
        code: String,
        /// The language of the files; without it, of all files.
        #[arg(long)]
        language: Option<String>,
    },
    /// Adopt an imported episode, or end a deprecation.
    #[command(after_help = "Example:\n  edt memory edit 0123456789abcdef --adopt")]
    Edit {
        /// The id of the episode.
        id: String,
        /// Show the imported episode from now on.
        #[arg(long, required_unless_present = "revive")]
        adopt: bool,
        /// End the deprecation of the episode.
        #[arg(long)]
        revive: bool,
    },
    /// Deprecate an episode: answers no longer show it. It stays, with the reason.
    #[command(
        after_help = "Example:\n  edt memory deprecate 0123456789abcdef -m 'the Makefile uses spaces now'"
    )]
    Deprecate {
        /// The id of the episode.
        id: String,
        /// The reason.
        #[arg(short, long, default_value = "deprecated")]
        message: String,
    },
    /// Delete an episode.
    #[command(after_help = "Example:\n  edt memory delete 0123456789abcdef")]
    Delete {
        /// The id of the episode.
        id: String,
    },
    /// Name the present state; without a name, list the snapshots.
    #[command(after_help = "Example:\n  edt memory snapshot before-the-sprint")]
    Snapshot {
        /// The name of the snapshot.
        name: Option<String>,
    },
    /// Restore the memory to a snapshot. The present state stays as another snapshot.
    #[command(after_help = "Example:\n  edt memory restore before-the-sprint")]
    Restore {
        /// The snapshot's name.
        name: String,
    },
    /// Write the episodes as lines of JSON (`edt.episode/2`). With `-` these lines are the complete
    /// answer, also with `--json`.
    #[command(after_help = "Example:\n  edt memory export lessons.jsonl")]
    Export {
        /// The file to write, which must not exist; `-` is standard output.
        #[arg(default_value = "-")]
        file: PathBuf,
    },
    /// Import the episodes of an export. They are shown once you adopted them.
    #[command(
        after_help = "Examples:\n  edt memory import lessons.jsonl\n  git fetch origin refs/edt/memory && git cat-file blob FETCH_HEAD | edt memory import -"
    )]
    Import {
        /// A file with lines of JSON; `-` is standard input.
        file: PathBuf,
    },
    /// Count fixes by code and class, and how often lessons helped.
    #[command(after_help = "Example:\n  edt memory stats")]
    Stats,
}
