//! What the parsers of a language say about a text, and which error an edit adds.

use edt_types::RepoPath;

/// The most bytes that are judged. No parser can be stopped, and its stack may grow with each byte.
pub const MAX_JUDGED: usize = 256 << 10;
/// The stack of a parser: for brackets, of which [`crate::parse::MAX_DEPTH`] are open at most, and
/// for operators, of which each byte may be one. Only what is used takes memory.
const STACK: usize = 64 << 20;
const STACK_PER_BYTE: usize = 3 << 10;

/// What a parser says about a text of one dialect.
pub(crate) type SpecParser = fn(&str, &RepoPath) -> Result<(), Rejection>;

/// The first error of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The parser's own message.
    pub message: String,
    /// The byte offset of the error, at most the length of the text.
    pub at: usize,
}

/// What the parsers of a language say about a text. Its dialects are in order, the narrowest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// One for each dialect, up to the first that accepts the text.
    rejected: Vec<Rejection>,
    accepted: bool,
}

impl Judgement {
    /// The judgement of these parsers. `None` if they did not read the text: it is too large, not
    /// UTF-8, or a parser failed.
    pub(crate) fn of(parsers: &[SpecParser], path: &RepoPath, text: &[u8]) -> Option<Judgement> {
        if parsers.is_empty() || text.len() > MAX_JUDGED {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        if text.trim_ascii().is_empty() {
            return Some(Judgement { rejected: Vec::new(), accepted: true });
        }
        let judge = || {
            let mut rejected = Vec::new();
            let accepts = |parser: &SpecParser| match parser(text, path) {
                Ok(()) => true,
                Err(Rejection { message, at }) => {
                    rejected.push(Rejection { message, at: text.floor_char_boundary(at) });
                    false
                }
            };
            let accepted = parsers.iter().any(accepts);
            Judgement { rejected, accepted }
        };
        std::thread::scope(|scope| {
            let thread =
                std::thread::Builder::new().stack_size(STACK + text.len() * STACK_PER_BYTE);
            thread.spawn_scoped(scope, judge).ok()?.join().ok()
        })
    }

    /// Whether a dialect accepts the text.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// Whether the first dialect accepts the text.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.rejected.is_empty()
    }

    /// The error that an edit adds. A text that had no error is still of its dialect, or of a narrower
    /// one; `None` for `before` is a new file. Of several errors, it is the one that is found last in
    /// the text: that dialect fits best.
    #[must_use]
    pub fn added_to(&self, before: Option<&Judgement>) -> Option<&Rejection> {
        let most = before.map_or(usize::MAX, |before| before.rejected.len());
        if self.accepted && self.rejected.len() <= most {
            return None;
        }
        self.rejected.iter().take(most.saturating_add(1)).rev().max_by_key(|one| one.at)
    }
}
