//! Code must not be replaced by a promise that it is still there.

use super::{Guard, Judgement, Subject};
use crate::base::text::visible;
use crate::base::{Code, Finding};
use crate::policy::Policy;

/// The guard `elided_code`.
#[derive(Debug)]
pub struct ElidedCode;

/// A placeholder and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elision<'a> {
    /// Its row in the would-be text.
    pub row: usize,
    /// Its line.
    pub line: &'a [u8],
    /// Lines that went in its place.
    pub lost: usize,
}

/// How much a line says that something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// In words beside dots.
    Words,
    /// In words alone: a placeholder only if the comment says nothing else.
    Sentence,
    /// Dots alone.
    Dots,
}

/// Dots alone are a placeholder only for this many lines: in some languages they are a statement.
const MIN_FOR_DOTS: usize = 3;
/// A longer sentence is no placeholder.
const MAX_WORDS: usize = 14;
/// Changes this close to each other are one replacement: a line that both texts share may stand between the placeholder and what it
/// replaces.
const NEAR: usize = 3;

impl Guard for ElidedCode {
    fn name(&self) -> &'static str {
        "elided_code"
    }

    fn rule(&self) -> &'static str {
        "An added comment or bare line says that the rest is left out (\"... existing code ...\", \"rest unchanged\") where lines go, or is \
         bare dots where three or more go. A placeholder that replaces nothing is a comment."
    }

    fn source(&self) -> &'static str {
        "benches/guards"
    }

    fn judge(&self, subject: &Subject<'_>, _: &Policy) -> Judgement {
        detect(subject).map(|found| explain(subject, &found)).into()
    }
}

/// The first placeholder that replaces something.
#[must_use]
pub fn detect<'a>(subject: &Subject<'a>) -> Option<Elision<'a>> {
    subject.text()?;
    subject.before?;
    for (row, line) in subject.fresh_lines() {
        let Some(says) = says(line) else { continue };
        if says == Says::Sentence && is_among_comments(subject, row) {
            continue;
        }
        let lost = lost_at(subject, row);
        let enough = if says == Says::Dots { MIN_FOR_DOTS } else { 1 };
        if lost >= enough {
            return Some(Elision { row, line, lost });
        }
    }
    None
}

/// The lines with content that the change around `row` takes away and brings nowhere else.
fn lost_at(subject: &Subject<'_>, row: usize) -> usize {
    let (old, new) = subject.lines().texts();
    let mut gone: Vec<&[u8]> = Vec::new();
    let near = |range: &std::ops::Range<usize>| range.start <= row + NEAR && row < range.end + NEAR;
    for hunk in subject.hunks().iter().filter(|hunk| near(&hunk.new)) {
        gone.extend(old[hunk.old.clone()].iter().map(|line| line.trim_ascii()));
    }
    let has_word = |line: &&[u8]| line.iter().any(u8::is_ascii_alphanumeric);
    let stands = |line: &[u8]| new.iter().any(|other| other.trim_ascii() == line);
    gone.into_iter().filter(has_word).filter(|line| !stands(line)).count()
}

/// Whether a comment stands right above or below: then the line is part of a longer one.
fn is_among_comments(subject: &Subject<'_>, row: usize) -> bool {
    let new = subject.lines().texts().1;
    let comment = |row: usize| {
        let line = new.get(row).and_then(|line| std::str::from_utf8(line).ok()).map_or("", str::trim);
        bare(line).1
            || line.starts_with('*')
            || says(line.as_bytes()).is_none() && subject.is_prose(row) && !line.is_empty()
    };
    row > 0 && comment(row - 1) || comment(row + 1)
}

/// Whether a line is a placeholder.
fn says(line: &[u8]) -> Option<Says> {
    let text = std::str::from_utf8(line).ok()?.trim();
    if text.len() > 160 {
        return None;
    }
    let (body, comment) = bare(text);
    let lower = body.to_lowercase().replace('…', "...");
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return (lower.contains("...") && lower.chars().all(|c| ".… ".contains(c))).then_some(Says::Dots);
    }
    let edge = lower.trim_matches(|c: char| "()[]<>:-\",'*; ".contains(c));
    let dots = edge.starts_with("...") || edge.ends_with("...");
    let plain = |c: char| c.is_alphanumeric() || " .,'()[]:-\"".contains(c);
    let bare = edge.starts_with("... ") && lower.chars().all(plain) || text.starts_with("\"...");
    if words.len() > MAX_WORDS || !(comment || bare) {
        return None;
    }
    if dots && leaves_out_after_dots(&words) {
        return Some(Says::Words);
    }
    (comment && leaves_out(&words)).then_some(Says::Sentence)
}

/// A line without the marks of a comment, and whether it had any.
fn bare(text: &str) -> (&str, bool) {
    const OPEN: [&str; 12] = ["<!--", "{/*", "/**", "/*", "///", "//", "##", "#", "--", ";;", ";", "%"];
    const CLOSE: [&str; 3] = ["-->", "*/}", "*/"];
    let open = OPEN.iter().find_map(|mark| text.strip_prefix(mark));
    let star = || text.strip_prefix("* ").filter(|_| text.contains("...") || text.contains('…'));
    let Some(body) = open.or_else(star) else { return (text, false) };
    let body = CLOSE.iter().find_map(|mark| body.trim_end().strip_suffix(mark)).unwrap_or(body);
    (body.trim(), true)
}

/// What a placeholder stands for.
const CODE: [&str; 48] = [
    "code",
    "implementation",
    "implementations",
    "methods",
    "method",
    "functions",
    "function",
    "logic",
    "content",
    "contents",
    "file",
    "body",
    "lines",
    "imports",
    "fields",
    "tests",
    "cases",
    "definitions",
    "config",
    "configuration",
    "entries",
    "keys",
    "items",
    "class",
    "module",
    "block",
    "section",
    "properties",
    "members",
    "values",
    "settings",
    "declarations",
    "statements",
    "stuff",
    "parts",
    "part",
    "options",
    "elements",
    "steps",
    "rules",
    "targets",
    "props",
    "handlers",
    "routes",
    "variables",
    "parameters",
    "arguments",
    "things",
];
/// Which part of it.
const REST: [&str; 8] = ["rest", "remaining", "remainder", "existing", "previous", "original", "other", "others"];
/// What becomes of it.
const STATE: [&str; 14] = [
    "unchanged",
    "untouched",
    "omitted",
    "elided",
    "truncated",
    "snipped",
    "unmodified",
    "preserved",
    "retained",
    "intact",
    "skipped",
    "removed",
    "abbreviated",
    "hidden",
];

fn has(words: &[&str], set: &[&str]) -> bool {
    words.iter().any(|word| set.contains(word))
}

fn follows(words: &[&str], first: &[&str], second: &[&str]) -> bool {
    words.windows(2).any(|pair| first.contains(&pair[0]) && second.contains(&pair[1]))
}

/// Whether the words say that something stays as it was.
fn stays(words: &[&str]) -> bool {
    has(words, &STATE)
        || follows(words, &["as"], &["before", "is", "above", "it"])
        || follows(words, &["not"], &["shown", "changed", "included"])
        || follows(words, &["stay", "stays", "remain", "remains"], &["the", "as", "same", "here", "identical"])
        || follows(words, &["for"], &["brevity", "clarity"])
        || follows(words, &["goes", "go", "continues", "follows"], &["here", "as"])
        || follows(words, &["no"], &["changes"])
}

/// Whether words at dots say that something is left out.
fn leaves_out_after_dots(words: &[&str]) -> bool {
    let short = words.len() <= 4;
    let code = has(words, &CODE);
    has(words, &REST) && (code || short || stays(words))
        || stays(words)
        || short && code
        || short && has(words, &["snip", "etc", "keep", "same", "more", "unchanged", "continues", "here"])
}

/// Whether a sentence without dots says that something is left out and stays as it was.
fn leaves_out(words: &[&str]) -> bool {
    let rest = has(words, &REST[..6]);
    let short = words.len() <= 9;
    let noun = words.last().is_some_and(|last| CODE[..12].contains(last) || *last == "here");
    short && rest && stays(words)
        || short && has(words, &["keep", "leave"]) && rest
        || words.len() <= 4 && has(words, &REST[..6]) && noun
        || words.len() <= 5 && has(words, &CODE) && stays(words)
        || matches!(words, ["unchanged" | "snip" | "omitted"] | ["no", "changes"] | ["no", "changes", "here"])
}

fn explain(subject: &Subject<'_>, found: &Elision<'_>) -> Finding {
    let line = found.row + 1;
    let path = subject.path;
    Finding::new(
        Code::ElidedCode,
        format!(
            "Line {line} of {path} would be a placeholder, \"{}\", and {} line{} of code would be gone in its place. Nothing was changed.",
            visible(found.line.trim_ascii()),
            found.lost,
            if found.lost == 1 { "" } else { "s" },
        ),
        "What the content leaves out is deleted. Send a smaller edit (mode \"edit\" with the text that changes), or the whole text. If the \
         line belongs there, repeat with allow: [\"elided_code\"].",
    )
    .at(path)
    .with("line", line)
    .with("lines_lost", found.lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_in_every_comment_form() {
        for line in [
            "// ... existing code ...",
            "# rest unchanged",
            "    # ... (rest of the file unchanged)",
            "/* ... remaining methods stay the same ... */",
            "<!-- rest of the page as before -->",
            "-- existing query unchanged",
            "// rest of the code remains the same",
            "; remaining settings unchanged",
            "# existing implementation here",
            "... rest of the function ...",
            "\"...\": \"existing keys\",",
            "{/* ... other props ... */}",
            "// unchanged",
            "# (previous code omitted for brevity)",
            "// keep the rest",
        ] {
            assert!(matches!(says(line.as_bytes()), Some(Says::Words | Says::Sentence)), "{line}");
        }
        for line in ["...", "    # ...", "// …", "/* ... */"] {
            assert_eq!(says(line.as_bytes()), Some(Says::Dots), "{line}");
        }
    }

    #[test]
    fn comments_that_leave_nothing_out() {
        for line in [
            "// Skip the rest of the line",
            "# existing users keep their settings until the next login, see above",
            "// the same check as in parse()",
            "x = rest(unchanged)",
            "// returns the remaining bytes",
            "/* other */",
            "let rest = &text[1..];",
            "foo(...args)",
            "...(config.legacy?.plugins",
            "...rest,",
            "// the same mutex twice).",
            "// XXX ... move the rest of this into a callback.",
            "\"Formatting test file...\",",
            "// ...at this point the original input",
        ] {
            assert_eq!(says(line.as_bytes()), None, "{line}");
        }
    }
}
