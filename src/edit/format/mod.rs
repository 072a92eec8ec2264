//! The forms in which a patch may come. Each is a member of [`FORMATS`], is known by its form, and comes to the same [`FilePatch`]es.
//!
//! To add one: its own file, a line in the list, its folder of scenarios.

mod apply_patch;
mod body;
mod fence;
mod head;
mod name;
mod rest;
mod search_replace;
mod section;
mod unified_diff;
mod whole_file;

use std::fmt;
use std::ops::Range;

use super::hunk::Hunk;
use crate::base::text;

/// Every form, in the order in which they are tried where two begin at one line.
pub const FORMATS: &[&dyn Format] = &[
    &apply_patch::ApplyPatch,
    &search_replace::SearchReplace,
    &unified_diff::UnifiedDiff,
    &whole_file::WholeFile,
];

/// A form in which a patch may come.
pub trait Format: Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// The line (0-based) where a text of this form begins; `None` if it has none.
    fn begins(&self, lines: &[&[u8]]) -> Option<usize>;

    /// Reads the text.
    ///
    /// # Errors
    /// The first place that cannot be understood.
    fn read(&self, source: &Source<'_>) -> Result<Parsed, Fault>;
}

/// The text of a patch.
#[derive(Debug)]
pub struct Source<'a> {
    /// Its lines, with their ends.
    pub lines: Vec<&'a [u8]>,
    /// The file that is meant where the patch names none.
    pub path: Option<&'a [u8]>,
}

/// What a patch does, file by file, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The files.
    pub files: Vec<FilePatch>,
    /// The lines of the patch that were understood (0-based, end excluded); what lies between is prose.
    pub used: Vec<Range<usize>>,
}

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file, as the patch names it.
    pub path: Vec<u8>,
    /// The 1-based line of the patch where it is named.
    pub source: usize,
    /// What is done.
    pub action: Action,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A new file.
    Create {
        /// Its content.
        content: Vec<u8>,
        /// Its mode bit.
        executable: bool,
    },
    /// The file goes.
    Delete {
        /// What it must hold, if the patch says so.
        old: Option<Hunk>,
    },
    /// The file changes.
    Update {
        /// Where.
        hunks: Vec<Hunk>,
        /// Where it moves.
        to: Option<Vec<u8>>,
        /// Its new mode bit.
        executable: Option<bool>,
    },
    /// The file is to hold exactly this, be it new or not.
    Whole {
        /// Its content.
        content: Vec<u8>,
    },
}

/// Why a patch cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The 1-based line of the patch.
    pub line: usize,
    /// The file it is about, if that is known.
    pub path: Option<Vec<u8>>,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It has none of the forms.
    NoForm,
    /// It has a second form, of this name, that would be left out.
    SecondForm(&'static str),
    /// A line that looks like a part of a patch, and belongs to none that was understood.
    LeftOut(Vec<u8>),
    /// A change without the name of its file.
    NoFile,
    /// A header that names two files, without saying that one becomes the other.
    TwoFiles(Vec<u8>),
    /// A header without a change.
    Empty,
    /// Changed lines right below the names of a file.
    NoHead,
    /// A hunk that neither removes nor adds anything.
    IdleHunk,
    /// A hunk of a new file that has lines that stand there, or of a deleted one that has lines that come.
    WrongSide,
    /// A line that may be the header of a file or a changed line.
    HeaderOrText,
    /// A line where another was due.
    Unexpected {
        /// What was due.
        due: &'static str,
        /// What stands there.
        found: Vec<u8>,
    },
    /// The patch ends before this.
    Ends(&'static str),
    /// The divider of a block stands in it more than once.
    Dividers,
    /// The end of a block stands below it more than once.
    Closings,
    /// A feature that is not a text change, such as a binary patch.
    Unsupported(&'static str),
    /// A deletion that does not say what is deleted.
    BlindDeletion,
    /// A fence without the name of a file beside one that has it.
    NamelessFence,
    /// A fence that may end the text of a Markdown file, or stand in it.
    InnerFence,
}

/// Reads a patch of any form; `path` is the file that is meant where it names none.
///
/// # Errors
/// The first place that cannot be understood. Nothing of a patch is ever left out in silence.
pub fn read(patch: &[u8], path: Option<&[u8]>) -> Result<(&'static str, Vec<FilePatch>), Fault> {
    // A byte-order mark is no part of its first line.
    let patch = patch.strip_prefix(text::BOM).unwrap_or(patch);
    let source = Source { lines: text::lines(patch).collect(), path };
    let fault = |line: usize, problem| Fault { line: line + 1, path: None, problem };
    let begin = |format: &&'static dyn Format| format.begins(&source.lines);
    let found = FORMATS.iter().filter_map(|format| Some((begin(format)?, *format)));
    let (_, format) =
        found.min_by_key(|(line, _)| *line).ok_or_else(|| fault(0, Problem::NoForm))?;
    let parsed = format.read(&source)?;
    if let Some((line, problem)) = rest::first_part(&source.lines, &parsed.used) {
        return Err(fault(line, problem));
    }
    if parsed.files.is_empty() {
        return Err(fault(0, Problem::Empty));
    }
    Ok((format.name(), parsed.files))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &[u8]| format!("{:?}", text::visible(text));
        match self {
            Problem::NoForm => f.write_str(
                "it is no unified diff, no `*** Begin Patch`, no SEARCH/REPLACE block and no fenced file with its name",
            ),
            Problem::SecondForm(name) => write!(f, "another part, {name}, begins here and would be left out"),
            Problem::LeftOut(line) => {
                write!(f, "the line {} looks like a part of a patch and would be left out", quoted(line))
            }
            Problem::NoFile => f.write_str("nothing says which file this changes"),
            Problem::TwoFiles(other) => write!(
                f,
                "the header names two files, the second {}, and no `rename from` says that one becomes the other",
                quoted(other)
            ),
            Problem::Empty => f.write_str("no change follows"),
            Problem::NoHead => f.write_str("changed lines stand here without a line `@@` above them"),
            Problem::IdleHunk => f.write_str("the hunk neither removes nor adds a line"),
            Problem::WrongSide => {
                f.write_str("a new file has only `+` lines, a deleted one only `-` lines; this has others")
            }
            Problem::HeaderOrText => f.write_str("this line may be the header of a file or a changed line"),
            Problem::Unexpected { due, found } => write!(f, "{due} was due, found {}", quoted(found)),
            Problem::Ends(due) => write!(f, "the text ends before {due}"),
            Problem::Dividers => f.write_str("the block has more than one divider `=======`"),
            Problem::Closings => f.write_str("the block has more than one end `>>>>>>> REPLACE`"),
            Problem::Unsupported(what) => write!(f, "{what} is no text change"),
            Problem::BlindDeletion => f.write_str("the file is deleted, but not one of its lines is shown"),
            Problem::InnerFence => {
                f.write_str("this fence may be the end of the file's text, or a part of it: more fences follow")
            }
            Problem::NamelessFence => f.write_str("this fence has no file name"),
        }
    }
}

impl Problem {
    /// What to send instead, in one sentence.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Problem::NoForm => {
                "Send a unified diff, `*** Begin Patch` … `*** End Patch`, SEARCH/REPLACE blocks, or a whole file in a fence below its path in backticks."
            }
            Problem::SecondForm(_) => "Send each form in a request of its own.",
            Problem::LeftOut(_) => {
                "Write that part in the form of the rest, unindented and with its file, or take the line out."
            }
            Problem::NoFile => {
                "Name the file: `--- a/PATH` and `+++ b/PATH`, `*** Update File: PATH`, or its path on the line above the block."
            }
            Problem::TwoFiles(_) => {
                "Send one path, or `rename from` and `rename to` lines for a move."
            }
            Problem::NoHead => {
                "Put a line `@@` above each run of changed lines; it needs no numbers."
            }
            Problem::Empty | Problem::IdleHunk => "Send at least one line marked `-` or `+`.",
            Problem::WrongSide => {
                "Mark every line of the content; for a file that exists send a patch against it, not against /dev/null."
            }
            Problem::HeaderOrText => {
                "Put `diff --git a/PATH b/PATH` above the header, or give the hunk's line counts."
            }
            Problem::Unexpected { .. } | Problem::Ends(_) => {
                "Send the patch again with what was due there, complete to its last line."
            }
            Problem::Dividers | Problem::Closings => {
                "Use longer markers (`<<<<<<<<< SEARCH`, `=========`, `>>>>>>>>> REPLACE`) than any line of the text."
            }
            Problem::Unsupported(_) => {
                "Make that change outside the patch; send the text changes alone."
            }
            Problem::BlindDeletion => "Use mode \"delete\", or `*** Delete File: PATH`.",
            Problem::InnerFence => {
                "Put the file into a fence of four or more marks, longer than any inside it, or send it alone."
            }
            Problem::NamelessFence => {
                "Send only files, each fence below its path in backticks; use a fence longer than any inside the file."
            }
        }
    }
}
