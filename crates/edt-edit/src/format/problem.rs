//! Why a patch cannot be parsed, and what to send instead.

use std::fmt;

use edt_types::text;

/// Why a patch cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchParseError {
    /// The 1-based line of the patch.
    pub line: usize,
    /// The file that the line belongs to, if known.
    pub path: Option<Vec<u8>>,
    pub problem: PatchProblem,
}

/// What is wrong with a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchProblem {
    /// The text has none of the formats.
    UnknownFormat,
    /// The text has a part in a second format, with this name, which would be ignored.
    SecondFormat(&'static str),
    /// The line looks like part of a patch, but no format parsed it.
    UnparsedPart(Vec<u8>),
    /// A change has no file name.
    MissingPath,
    /// A header names two files but does not declare a rename.
    TwoFiles(Vec<u8>),
    /// A header has no change.
    NoChange,
    /// Changed lines follow the file names without a hunk header.
    MissingHunkHeader,
    /// A hunk neither removes nor adds a line.
    EmptyHunk,
    /// A hunk of a new file has context or removed lines, or a hunk of a deleted file has added
    /// lines.
    WrongSide,
    /// The line may be a file header or a changed line.
    AmbiguousLine,
    /// The line is not what the format requires here.
    Unexpected {
        /// What the format requires.
        expected: &'static str,
        /// The line that was found.
        found: Vec<u8>,
    },
    /// The patch ends before this part.
    UnexpectedEnd(&'static str),
    /// A block has more than one divider.
    MultipleDividers,
    /// A block has more than one end marker.
    MultipleEndMarkers,
    /// Not a text change, such as a binary patch.
    Unsupported(&'static str),
    /// A deletion does not show the deleted lines.
    DeletionWithoutContent,
    /// A fence has no file name although another fence has one.
    UnnamedFence,
    /// The fence may end the text of a Markdown file or be part of it.
    AmbiguousFence,
}

impl fmt::Display for PatchProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &[u8]| format!("{:?}", text::visible(text));
        match self {
            PatchProblem::UnknownFormat => f.write_str(
                "it is not a unified diff, a `*** Begin Patch` text, a SEARCH/REPLACE block or a \
                 fenced file with its name",
            ),
            PatchProblem::SecondFormat(name) => {
                write!(f, "another part, {name}, begins here and would be ignored")
            }
            PatchProblem::UnparsedPart(line) => {
                write!(
                    f,
                    "the line {} looks like part of a patch and would be ignored",
                    quoted(line)
                )
            }
            PatchProblem::MissingPath => f.write_str("no line names the file that this changes"),
            PatchProblem::TwoFiles(other) => write!(
                f,
                "the header names two files, the second is {}, without a `rename from` line",
                quoted(other)
            ),
            PatchProblem::NoChange => f.write_str("no change follows"),
            PatchProblem::MissingHunkHeader => {
                f.write_str("changed lines without a line `@@` above them")
            }
            PatchProblem::EmptyHunk => f.write_str("the hunk neither removes nor adds a line"),
            PatchProblem::WrongSide => f.write_str(
                "a new file must have only `+` lines and a deleted file only `-` lines; this \
                     hunk has others",
            ),
            PatchProblem::AmbiguousLine => {
                f.write_str("this line may be the header of a file or a changed line")
            }
            PatchProblem::Unexpected { expected, found } => {
                write!(f, "expected {expected}, found {}", quoted(found))
            }
            PatchProblem::UnexpectedEnd(expected) => write!(f, "the text ends before {expected}"),
            PatchProblem::MultipleDividers => {
                f.write_str("the block has more than one divider `=======`")
            }
            PatchProblem::MultipleEndMarkers => {
                f.write_str("the block has more than one end `>>>>>>> REPLACE`")
            }
            PatchProblem::Unsupported(what) => write!(f, "{what} is not a text change"),
            PatchProblem::DeletionWithoutContent => {
                f.write_str("the file is deleted, but none of its lines is shown")
            }
            PatchProblem::AmbiguousFence => f.write_str(
                "this fence may end the file's text or be part of it: more fences follow",
            ),
            PatchProblem::UnnamedFence => f.write_str("this fence has no file name"),
        }
    }
}

impl PatchProblem {
    /// What to send instead, in one sentence.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            PatchProblem::UnknownFormat => {
                "Send a unified diff, `*** Begin Patch` … `*** End Patch`, SEARCH/REPLACE blocks, \
                 or a complete file in a fence below its path in backticks."
            }
            PatchProblem::SecondFormat(_) => "Send each format in a separate request.",
            PatchProblem::UnparsedPart(_) => {
                "Write that part in the same format as the rest, unindented and with its file \
                 name, or remove the line."
            }
            PatchProblem::MissingPath => {
                "Name the file: `--- a/PATH` and `+++ b/PATH`, `*** Update File: PATH`, or its path \
                 on the line above the block."
            }
            PatchProblem::TwoFiles(_) => {
                "Send one path, or `rename from` and `rename to` lines for a move."
            }
            PatchProblem::MissingHunkHeader => {
                "Put a line `@@` above each run of changed lines; it needs no numbers."
            }
            PatchProblem::NoChange | PatchProblem::EmptyHunk => {
                "Send at least one line marked `-` or `+`."
            }
            PatchProblem::WrongSide => {
                "Mark every line of the content; for a file that exists send a patch against it, \
                 not against /dev/null."
            }
            PatchProblem::AmbiguousLine => {
                "Put `diff --git a/PATH b/PATH` above the header, or give the hunk's line counts."
            }
            PatchProblem::Unexpected { .. } | PatchProblem::UnexpectedEnd(_) => {
                "Send the complete patch again, with the expected text in that place."
            }
            PatchProblem::MultipleDividers | PatchProblem::MultipleEndMarkers => {
                "Use longer markers (`<<<<<<<<< SEARCH`, `=========`, `>>>>>>>>> REPLACE`) than \
                 any line of the text."
            }
            PatchProblem::Unsupported(_) => {
                "Make that change outside the patch; send only the text changes."
            }
            PatchProblem::DeletionWithoutContent => {
                "Use mode \"delete\", or `*** Delete File: PATH`."
            }
            PatchProblem::AmbiguousFence => {
                "Put the file into a fence of four or more characters, longer than any fence \
                 inside it, or send the file alone."
            }
            PatchProblem::UnnamedFence => {
                "Send only files, each fence below its path in backticks; use a fence longer \
                 than any inside the file."
            }
        }
    }
}
