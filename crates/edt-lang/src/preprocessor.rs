//! Texts with `#if` lines, as a preprocessor would leave them. The lines of branches that are not
//! taken become blank, so that every byte keeps its offset.
//!
//! A brace may open in one branch and in its alternative, and close once below both. Such a file
//! has no correct tree as it is. Three choices of branches show every line of most files in a
//! complete text.

use std::borrow::Cow;

use edt_types::text;

/// Which branch of a chain `#if … #elif … #else … #endif` is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchChoice {
    /// The first branch.
    First,
    /// The last branch, `#else` or not.
    Last,
    /// The `#else` branch; no branch if there is none.
    Else,
}

impl BranchChoice {
    pub const ALL: [BranchChoice; 3] =
        [BranchChoice::First, BranchChoice::Last, BranchChoice::Else];
}

/// A text with some lines blanked.
#[derive(Debug)]
pub struct Variant<'t> {
    /// As many bytes as the original text, at the same offsets.
    pub text: Cow<'t, [u8]>,
    /// Whether each line was kept; empty if all were.
    live: Vec<bool>,
}

impl Variant<'_> {
    /// Whether any line of `rows` (0-based) was kept.
    #[must_use]
    pub fn is_live(&self, mut rows: std::ops::Range<usize>) -> bool {
        self.live.is_empty() || rows.any(|row| self.live.get(row).copied().unwrap_or(true))
    }
}

/// A text and its chains of branches.
#[derive(Debug)]
pub struct Branches<'t> {
    text: &'t [u8],
    lines: Lines,
}

impl<'t> Branches<'t> {
    #[must_use]
    pub fn of(text: &'t [u8]) -> Branches<'t> {
        Branches { text, lines: Lines::of(text) }
    }

    /// Whether the text has no branches, so that every variant is the text itself.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.lines.chains.is_empty()
    }

    /// The rows of `#if` lines without an `#endif`.
    pub fn unclosed(&self) -> impl Iterator<Item = usize> + '_ {
        let open = self.lines.chains.iter().filter(|chain| chain.end == usize::MAX);
        open.filter_map(|chain| Some(chain.branches.first()?.row))
    }

    /// The rows of `#else` and `#endif` lines that belong to no `#if`.
    #[must_use]
    pub fn strays(&self) -> &[usize] {
        &self.lines.strays
    }

    #[must_use]
    pub fn variant(&self, take: BranchChoice) -> Variant<'t> {
        if self.is_plain() {
            return Variant { text: Cow::Borrowed(self.text), live: Vec::new() };
        }
        let live = self.lines.live(take);
        Variant { text: Cow::Owned(self.lines.blanked(self.text, &live)), live }
    }
}

/// The kind of a line for the preprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Text, or another directive.
    Text,
    /// A line of a conditional directive.
    Directive,
}

/// One chain of branches.
#[derive(Debug)]
struct Chain {
    /// The directives, without `#endif`.
    branches: Vec<Branch>,
    /// The row of `#endif`.
    end: usize,
    /// Whether this is an include guard, whose branch is always taken.
    guard: bool,
}

#[derive(Debug, Clone, Copy)]
struct Branch {
    row: usize,
    is_else: bool,
    /// Whether no compiler reads the branch: `#if 0`, and `#ifdef DOXYGEN`, which only that program
    /// defines.
    never: bool,
}

#[derive(Debug)]
struct Lines {
    kinds: Vec<Line>,
    /// The offset of each line.
    starts: Vec<usize>,
    chains: Vec<Chain>,
    strays: Vec<usize>,
}

impl Lines {
    fn of(text: &[u8]) -> Lines {
        let mut lines =
            Lines { kinds: Vec::new(), starts: Vec::new(), chains: Vec::new(), strays: Vec::new() };
        // Only such a line is of a chain. A text without chains needs no further work.
        let opens = |at: usize| {
            let word = text[at + 1..].trim_ascii_start();
            [&b"if"[..], b"el", b"endif"].iter().any(|start| word.starts_with(start))
        };
        if !memchr::memchr_iter(b'#', text).any(opens) {
            return lines;
        }
        let mut open: Vec<Chain> = Vec::new();
        let mut defined: Option<&[u8]> = None;
        let (mut continued, mut commented) = (false, false);
        let mut at = 0;
        for (row, line) in text::lines(text).enumerate() {
            lines.starts.push(at);
            at += line.len();
            let body = line.trim_ascii();
            let was = lines.kinds.last().copied().filter(|_| continued);
            continued = body.ends_with(b"\\");
            if let Some(was) = was {
                lines.kinds.push(was);
                continue;
            }
            let (word, rest) = if commented { (&b""[..], &b""[..]) } else { directive(body) };
            commented = stays_commented(body, commented);
            let branch = |is_else, never| Branch { row, is_else, never };
            match word {
                b"if" | b"ifdef" | b"ifndef" => {
                    let documents = word != b"ifndef"
                        && !rest.contains(&b'!')
                        && memchr::memmem::find(rest, b"DOXYGEN").is_some();
                    let chain = Chain {
                        branches: vec![branch(false, rest == b"0" || documents)],
                        end: usize::MAX,
                        guard: false,
                    };
                    open.push(chain);
                    defined = (word == b"ifndef").then_some(rest);
                    lines.kinds.push(Line::Directive);
                    continue;
                }
                b"elif" | b"elifdef" | b"elifndef" | b"else" => {
                    match open.last_mut() {
                        Some(chain) => {
                            if chain.branches.last().is_some_and(|last| last.is_else) {
                                lines.strays.push(row);
                            }
                            chain.branches.push(branch(word == b"else", false));
                        }
                        None => lines.strays.push(row),
                    }
                    lines.kinds.push(Line::Directive);
                }
                b"endif" => {
                    match open.pop() {
                        Some(mut chain) => {
                            chain.end = row;
                            lines.chains.push(chain);
                        }
                        None => lines.strays.push(row),
                    }
                    lines.kinds.push(Line::Directive);
                }
                b"define" => {
                    if let Some(name) = defined
                        && rest.starts_with(name)
                        && open.len() == 1
                        && let Some(chain) = open.last_mut()
                    {
                        chain.guard = true;
                    }
                    lines.kinds.push(Line::Text);
                }
                _ => lines.kinds.push(Line::Text),
            }
            if !body.is_empty() {
                defined = None;
            }
        }
        lines.chains.append(&mut open);
        lines
    }

    fn live(&self, take: BranchChoice) -> Vec<bool> {
        let mut live: Vec<bool> = self.kinds.iter().map(|kind| *kind == Line::Text).collect();
        for chain in &self.chains {
            let taken = chain.taken(take);
            for (i, branch) in chain.branches.iter().enumerate() {
                let end =
                    chain.branches.get(i + 1).map_or(chain.end, |next| next.row).min(live.len());
                if taken != Some(i) {
                    live[branch.row..end].fill(false);
                }
            }
        }
        live
    }

    fn blanked(&self, text: &[u8], live: &[bool]) -> Vec<u8> {
        let mut out = text.to_vec();
        for (row, _) in live.iter().enumerate().filter(|(_, live)| !**live) {
            let end = self.starts.get(row + 1).copied().unwrap_or(text.len());
            for byte in &mut out[self.starts[row]..end] {
                if *byte != b'\n' && *byte != b'\r' {
                    *byte = b' ';
                }
            }
        }
        out
    }
}

impl Chain {
    fn taken(&self, take: BranchChoice) -> Option<usize> {
        let first = usize::from(self.branches.first().is_some_and(|branch| branch.never));
        let last = self.branches.len() - 1;
        match take {
            _ if self.guard => Some(0),
            BranchChoice::First => (first <= last).then_some(first),
            BranchChoice::Last => (first <= last).then_some(last),
            BranchChoice::Else => self.branches.iter().position(|branch| branch.is_else),
        }
    }
}

/// Whether a block comment is open after a line; `open` says whether one is open before it. Strings
/// end with their line.
fn stays_commented(line: &[u8], mut open: bool) -> bool {
    if memchr::memchr(b'*', line).is_none() {
        return open;
    }
    let mut rest = line;
    loop {
        let mark: &[u8] = if open { b"*/" } else { b"/*" };
        let Some(at) = memchr::memmem::find(rest, mark) else { return open };
        let before = &rest[..at];
        let quoted = memchr::memchr_iter(b'"', before).count() % 2 == 1;
        if !open && (quoted || memchr::memmem::find(before, b"//").is_some()) {
            return false;
        }
        open = !open;
        rest = &rest[at + 2..];
    }
}

/// The keyword and the rest of a `#` line; empty for other lines.
pub(super) fn directive(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(rest) = line.strip_prefix(b"#") else { return (b"", b"") };
    let rest = rest.trim_ascii_start();
    let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
    (&rest[..end], rest[end..].trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let branches = Branches::of(text.as_bytes());
        let shown = |take: &BranchChoice| {
            String::from_utf8_lossy(&branches.variant(*take).text)
                .replace(' ', "")
                .replace('\n', "/")
        };
        let mut texts: Vec<String> = BranchChoice::ALL.iter().map(shown).collect();
        texts.dedup();
        texts
    }

    #[test]
    fn a_function_split_by_branches_becomes_complete() {
        let text = "#ifdef A\nint f(int a) {\n#else\nint f(void) {\n#endif\n}\n";
        assert_eq!(texts(text), ["/intf(inta){////}/", "///intf(void){//}/"]);
    }

    #[test]
    fn a_branch_without_an_alternative_may_be_left_out() {
        assert_eq!(texts("#if A\nx;\n#endif\ny;\n"), ["/x;//y;/", "///y;/"]);
    }

    #[test]
    fn an_include_guard_is_always_taken_and_if_0_never() {
        assert_eq!(texts("#ifndef A_H\n#define A_H\nx;\n#endif\n"), ["/#defineA_H/x;//"]);
        for never in ["#if 0", "#ifdef DOXYGEN", "#if defined(A_DOXYGEN)"] {
            assert_eq!(texts(&format!("{never}\njunk {{\n#else\ny;\n#endif\n")), ["///y;//"]);
        }
        assert_eq!(texts("#ifndef DOXYGEN\nx;\n#endif\n"), ["/x;//", "///"]);
    }

    #[test]
    fn a_directive_in_a_comment_is_no_branch() {
        assert_eq!(texts("/* Usage:\n#ifdef FOO\n*/\nx;\n"), ["/*Usage:/#ifdefFOO/*//x;/"]);
        assert_eq!(
            texts("int a; /* b */\n#if A\nx;\n#endif\n"),
            ["inta;/*b*///x;//", "inta;/*b*/////"]
        );
    }

    #[test]
    fn an_else_or_an_endif_alone_is_a_stray() {
        let strays = |text: &str| Branches::of(text.as_bytes()).strays().to_vec();
        assert_eq!(strays("#if A\n#else\n#endif\n#endif\n"), [3]);
        assert_eq!(strays("{\n#else\n}\n#if B\n#elif C\n#else\n#else\n#endif\n"), [1, 6]);
        assert_eq!(strays("/*\n#endif\n*/\n#error x\n"), [0_usize; 0]);
    }

    #[test]
    fn text_without_branches_is_borrowed() {
        assert!(matches!(
            Branches::of(b"int x;\n").variant(BranchChoice::Else).text,
            Cow::Borrowed(_)
        ));
    }
}
