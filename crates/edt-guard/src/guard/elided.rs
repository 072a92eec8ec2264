//! Code must not be replaced by a placeholder that says it is still there.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::check::{Guard, GuardContext, GuardOutput};
use super::cut_mark;
use super::lone_comment::{self, without_comment_marks};
use super::subject::Subject;
use super::transaction::count;
use edt_lang::{Language, Parsed};
use edt_types::text::{counted, visible};
use edt_types::{Code, Finding};

/// The guard `elided_code`.
#[derive(Debug)]
pub struct ElidedCode;

/// A placeholder and the code that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elision<'a> {
    /// Its row in the new text.
    pub row: usize,
    /// Its line.
    pub line: &'a [u8],
    /// Number of lines that it replaces.
    pub lost: usize,
}

/// How a line says that something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placeholder {
    /// In words.
    Words,
    /// Dots alone.
    Dots,
}

/// Dots alone are a placeholder only if they replace this many lines: in some languages they are a
/// statement.
const MIN_FOR_DOTS: usize = 3;
/// A sentence of more words is not a placeholder.
const MAX_WORDS: usize = 14;
/// Changes this close to each other are one replacement: a line that both texts share may be
/// between the placeholder and the code that it replaces.
const NEAR: usize = 3;

impl Guard for ElidedCode {
    fn name(&self) -> &'static str {
        "elided_code"
    }

    fn rule(&self) -> &'static str {
        "An added comment or line stands for code that is left out (\"... existing code ...\", \
         \"rest unchanged\") where lines are removed, or a line of dots replaces three or more \
         lines. If no line is removed, nothing is refused. A warning: of a change, a comment alone \
         is left where four lines of code or more go, and it has no name from them."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        match file.within_limit(|| detect(file)) {
            Ok(None) => match lone_comment::first(file) {
                None => vec![GuardOutput::Pass],
                Some(found) => {
                    let message = lone_comment::message(file, &found);
                    vec![GuardOutput::Noted { word: self.name(), message }]
                }
            },
            Ok(Some(found)) => GuardOutput::of(self.name(), Some(explain(file, &found))),
            Err(why) => vec![GuardOutput::Unchecked {
                word: self.name(),
                reason: format!("{} was not searched for placeholders: {why}.", file.path),
            }],
        }
    }
}

/// The first placeholder that replaces something.
#[must_use]
pub fn detect<'a>(subject: &Subject<'a>) -> Option<Elision<'a>> {
    subject.text()?;
    if let Some((row, line)) = subject.fresh_lines().find(|(_, line)| cut_mark::is_in(line)) {
        return Some(Elision { row, line, lost: 0 });
    }
    subject.before?;
    let language = subject.language();
    let removed: OnceCell<HashMap<&[u8], i64>> = OnceCell::new();
    for (row, line) in subject.fresh_lines() {
        let Some(placeholder) = placeholder(line, language) else { continue };
        if subject.is_over() {
            return None;
        }
        if is_in_example(subject, row, line)
            || names_the_function_below(subject, row, line)
            || ends_a_list(subject, row, line)
            || is_in_new_fence(subject, row)
        {
            continue;
        }
        let removed = removed.get_or_init(|| {
            let mut removed = HashMap::new();
            count(&mut removed, subject.old_text(), 1);
            count(&mut removed, subject.after.unwrap_or_default(), -1);
            removed
        });
        let lost = lost_at(subject, row, removed);
        let dots = placeholder == Placeholder::Dots;
        if dots
            && (is_statement(subject, row)
                || is_end_of_an_excerpt(subject, row)
                || is_within_comment(subject, row)
                || is_in_new_text(subject, row))
        {
            continue;
        }
        let enough = if dots { MIN_FOR_DOTS } else { 1 };
        if lost >= enough {
            return Some(Elision { row, line, lost });
        }
    }
    None
}

/// Whether the dots are a statement of the language and the entire body, such as Python's `...`:
/// then the body is empty on purpose.
fn is_statement(subject: &Subject<'_>, row: usize) -> bool {
    let at = subject.start_of(row);
    let fills_body =
        |tree: &Parsed<'_>| !tree.has_error() && !tree.is_prose(at) && tree.is_only_statement(at);
    matches!(subject.new_tree(), Some(Ok(tree)) if fills_body(tree))
}

/// Whether the dots are the first or last line of a fence in prose, and dots are at its other end,
/// too: then the fence is an excerpt.
fn is_end_of_an_excerpt(subject: &Subject<'_>, row: usize) -> bool {
    let lines = subject.lines().texts().1;
    let has = |row: Option<usize>, sign: &[u8]| {
        row.and_then(|row| lines.get(row)).is_some_and(|line| line.trim_ascii().starts_with(sign))
    };
    let fence = |row: &usize| has(Some(*row), b"```");
    let end = if fence(&(row + 1)) {
        (0..row).rev().find(fence).map(|fence| fence + 1)
    } else if has(row.checked_sub(1), b"```") {
        (row + 1..lines.len()).find(fence).map(|fence| fence - 1)
    } else {
        None
    };
    subject.language().is_none() && end != Some(row) && has(end, b"...")
}

/// Whether the line is in a fence in prose, which the edit adds and which replaces fewer lines and no
/// other fence.
fn is_in_new_fence(subject: &Subject<'_>, row: usize) -> bool {
    if subject.language().is_some() {
        return false;
    }
    let (old, new) = subject.lines().texts();
    let is_fence = |line: &&[u8]| line.trim_ascii().starts_with(b"```");
    let above: Vec<usize> = (0..row).filter(|row| is_fence(&new[*row])).collect();
    let hunk = subject.hunks().iter().find(|hunk| hunk.new.contains(&row));
    above.len() % 2 == 1
        && hunk.zip(above.last()).is_some_and(|(hunk, open)| {
            hunk.new.contains(open)
                && hunk.old.len() < hunk.new.len()
                && !old[hunk.old.clone()].iter().any(is_fence)
        })
}

/// Whether the line continues an example of Python: `... ` below `>>> `, and says nothing about the
/// rest of a file.
fn is_in_example(subject: &Subject<'_>, row: usize, line: &[u8]) -> bool {
    const REST: [&[u8]; 5] = [b"existing", b"rest of", b"remaining", b"unchanged", b"same as"];
    let is_python = subject.language().is_some_and(|language| language.name == "python");
    let line = line.to_ascii_lowercase();
    if !is_python || REST.iter().any(|word| memchr::memmem::find(&line, word).is_some()) {
        return false;
    }
    let lines = subject.lines().texts().1;
    let has = |row: usize, sign: &[u8]| lines[row].trim_ascii_start().starts_with(sign);
    let first = (0..row).rev().find(|row| !has(*row, b"..."));
    has(row, b"... ") && first.is_some_and(|row| has(row, b">>> "))
}

/// Whether a comment of a shell script says how the function below the comment is called:
/// `# fail message...` above `fail () {`.
fn names_the_function_below(subject: &Subject<'_>, row: usize, line: &[u8]) -> bool {
    let Some(comment) = line.trim_ascii().strip_prefix(b"# ") else { return false };
    let name = comment.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let lines = subject.lines().texts().1;
    let below = lines[row + 1..].iter().find(|line| !line.starts_with(b"#"));
    let called = below.and_then(|line| line.strip_prefix(name)).map(<[u8]>::trim_ascii_start);
    subject.language().is_some_and(|language| language.name == "bash")
        && !name.is_empty()
        && called.is_some_and(|rest| rest.starts_with(b"()"))
}

/// Whether `- etc...` is the last item of a list in a comment.
fn ends_a_list(subject: &Subject<'_>, row: usize, line: &[u8]) -> bool {
    let item = |line: &[u8]| {
        let line = line.trim_ascii();
        let item = line.strip_prefix(b"* ")?.trim_ascii_start().strip_prefix(b"-")?;
        Some(item.trim_ascii_start().to_owned())
    };
    let lines = subject.lines().texts().1;
    let above = row.checked_sub(1).and_then(|above| item(lines[above]));
    item(line).is_some_and(|item| item == b"etc...") && above.is_some()
}

/// Whether the dots are within a comment of several lines: then they are a part of an example.
fn is_within_comment(subject: &Subject<'_>, row: usize) -> bool {
    let lines = subject.lines().texts().1;
    let marks = subject.language().map_or(&[][..], |language| language.line_comments);
    let is_comment = |row: Option<usize>| {
        let line = row.and_then(|row| lines.get(row)).map(|line| line.trim_ascii());
        line.is_some_and(|line| marks.iter().any(|mark| line.starts_with(mark.as_bytes())))
    };
    is_comment(Some(row)) && is_comment(row.checked_sub(1)) && is_comment(Some(row + 1))
}

/// Whether the row is in a string or a comment that begins above it, in an added row.
fn is_in_new_text(subject: &Subject<'_>, row: usize) -> bool {
    let Some(Ok(tree)) = subject.new_tree() else { return false };
    let at = subject.start_of(row);
    let begins = (0..row).rev().take_while(|row| subject.is_prose(row + 1)).last();
    !tree.has_error()
        && tree.is_prose(at)
        && begins.is_some_and(|begins| subject.added().iter().any(|rows| rows.contains(&begins)))
}

/// The lines with content that the change around `row` removes and adds nowhere else. `removed`
/// counts the removed lines of the whole file.
fn lost_at(subject: &Subject<'_>, row: usize, removed: &HashMap<&[u8], i64>) -> usize {
    let old = subject.lines().texts().0;
    let near = |range: &std::ops::Range<usize>| range.start <= row + NEAR && row < range.end + NEAR;
    let mut here: HashMap<&[u8], i64> = HashMap::new();
    for hunk in subject.hunks().iter().filter(|hunk| near(&hunk.new)) {
        old[hunk.old.clone()].iter().for_each(|line| count(&mut here, line, 1));
    }
    let lost = here
        .into_iter()
        .map(|(line, times)| times.min(removed.get(line).copied().unwrap_or_default()));
    lost.map(|times| usize::try_from(times).unwrap_or_default()).sum()
}

/// The kind of placeholder that a line is in that language, or in any if the language is unknown.
fn placeholder(line: &[u8], language: Option<&Language>) -> Option<Placeholder> {
    let text = std::str::from_utf8(line).ok()?.trim();
    if text.len() > 160 {
        return None;
    }
    let (body, comment) = without_comment_marks(text, language);
    let lower = body.to_lowercase().replace('…', "...");
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return (lower.contains("...") && lower.chars().all(|c| ". ()[]{}<>".contains(c)))
            .then_some(Placeholder::Dots);
    }
    // `[arguments...]` explains how a program or a function, `f(a [, ...])`, is called, as does
    // `[argument]...`. `^---` points at the line above.
    let closed = lower.trim_end_matches([')', '\'', '"', '`', ';']);
    let repeated = closed.strip_suffix("]...").and_then(|rest| Some(rest.rsplit_once(" [")?.1));
    let usage = closed.ends_with("...]") && lower.contains(" [")
        || repeated.is_some_and(|name| {
            let names = [&CODE_NOUNS[..], &REMAINDER, &UNCHANGED].concat();
            name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) && !names.contains(&name)
        });
    // `[...rest] a` names the rest of a list.
    let rest = lower.strip_prefix("[...").and_then(|list| list.split_once("] "));
    let rest = rest.is_some_and(|(name, _)| name.chars().all(char::is_alphanumeric));
    if usage || rest || lower.starts_with('^') {
        return None;
    }
    let edge = lower.trim_matches(|c: char| "()[]<>:-\",'*; ".contains(c));
    let dots = edge.starts_with("...") || edge.ends_with("...");
    // `...this.items,` and `...args: A<B>` in a comment are code.
    let typed = |rest: &str| {
        let name = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        name.starts_with(": ") && name.contains(['<', '['])
    };
    let spread = edge.strip_prefix("...").is_some_and(|rest| {
        rest.starts_with(char::is_alphabetic) && (rest.contains(['.', '(']) || typed(rest))
    });
    let plain = |c: char| c.is_alphanumeric() || " .,'()[]:-\"".contains(c);
    let bare = edge.starts_with("... ") && lower.chars().all(plain) || text.starts_with("\"...");
    let inside = |open: &[char], close: &[char]| {
        let inside = lower.strip_prefix(open)?.strip_suffix(close)?;
        (!inside.contains(['<', '>', '[', ']', '=', ','])).then_some(inside)
    };
    // `(rest of the methods ...)`, and not `[...rest, a]`.
    let has_dots = |inside: &str| inside.starts_with("...") || inside.ends_with("...");
    let alone = words.len() > 1
        && inside(&['(', '[', '{'], &[')', ']', '}']).map(str::trim).is_some_and(has_dots);
    if words.len() > MAX_WORDS || !(comment || bare || alone) {
        return None;
    }
    // `<!-- <div class="row">` is an element, as is `<b>Fields:</b>`.
    let bracketed = comment && inside(&['<', '['], &['>', ']']).is_some();
    if (dots && !spread || alone || bracketed) && omits_after_dots(&words) {
        return Some(Placeholder::Words);
    }
    (comment && omits(&words)).then_some(Placeholder::Words)
}

/// Nouns for the omitted code.
const CODE_NOUNS: [&str; 48] = [
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
/// Words for the omitted part.
const REMAINDER: [&str; 8] =
    ["rest", "remaining", "remainder", "existing", "previous", "original", "other", "others"];
/// Words for code that was left out or left as it was.
const UNCHANGED: [&str; 10] = [
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
];

fn has(words: &[&str], set: &[&str]) -> bool {
    words.iter().any(|word| set.contains(word))
}

fn follows(words: &[&str], first: &[&str], second: &[&str]) -> bool {
    words.windows(2).any(|pair| first.contains(&pair[0]) && second.contains(&pair[1]))
}

/// Whether the words say that something is as it was.
fn says_unchanged(words: &[&str]) -> bool {
    has(words, &UNCHANGED)
        || follows(words, &["as"], &["before", "above", "it"])
        || is_as_it_is(words)
        || follows(words, &["not"], &["shown", "changed", "included"])
        || follows(
            words,
            &["stay", "stays", "remain", "remains"],
            &["the", "as", "same", "here", "identical"],
        )
        || follows(words, &["for"], &["brevity", "clarity"])
        || follows(words, &["goes", "go", "continues", "follows"], &["here", "as"])
        || follows(words, &["no"], &["changes", "change"])
        || follows(words, &["are", "is"], &["identical", "unaffected"])
}

/// Whether the words have "as is", but not "use as is", which describes a value.
fn is_as_it_is(words: &[&str]) -> bool {
    let used = ["use", "used", "uses"];
    let at = words.windows(2).position(|pair| pair == ["as", "is"]);
    at.is_some_and(|at| at.checked_sub(1).is_none_or(|above| !used.contains(&words[above])))
}

/// Whether words next to dots say that something is left out.
fn omits_after_dots(words: &[&str]) -> bool {
    let short = words.len() <= 4;
    let code = has(words, &CODE_NOUNS);
    has(words, &REMAINDER) && (code || short || says_unchanged(words))
        || says_unchanged(words)
        || short && code
        || short
            && has(
                words,
                &["snip", "etc", "keep", "same", "more", "unchanged", "continues", "here"],
            )
}

/// Whether a sentence without dots says that something is left out and is as it was.
fn omits(words: &[&str]) -> bool {
    // "in their original order" says nothing about code.
    let order = follows(words, &["original"], &["order"]);
    let remains = has(words, &REMAINDER[..if order { 5 } else { 6 }]);
    let everything = follows(words, &["everything", "anything"], &["else", "below", "above"]);
    let rest = remains || everything;
    let code = has(words, &CODE_NOUNS);
    let short = words.len() <= 9;
    let last = words.last().copied().unwrap_or_default();
    let noun = CODE_NOUNS[..12].contains(&last) || last == "here";
    // "the only file remaining is the count file" names one.
    let same = || {
        let is = ["is", "are", "stays", "stay"];
        let as_it_was = ["same", "original", "existing", "previous"];
        follows(words, &is, &["same", "as"])
            || words.windows(3).any(|three| {
                is.contains(&three[0]) && three[1] == "the" && as_it_was.contains(&three[2])
            })
    };
    let first = |set: &[&str]| words.first().is_some_and(|first| set.contains(first));
    let kept = || says_unchanged(words) || first(&["keep", "leave"]) || same();
    match words {
        ["unchanged" | "snip" | "etc"]
        | ["no", "changes"]
        | ["as", "before"]
        | ["and", "so", "on"]
        | ["same", "as", "before" | "above" | "original" | "previously", ..] => words.len() <= 5,
        ["no", "changes", "here" | "below" | "above" | "needed", ..] => words.len() <= 6,
        ["todo", "implement" | "add" | "complete" | "port" | "keep", ..] => {
            words.len() <= 7 && has(words, &REMAINDER[..3])
        }
        ["similar" | "similarly" | "same" | "likewise", "for", ..] => {
            words.len() <= 7 && has(words, &REMAINDER)
        }
        ["existing" | "remaining", noun] => CODE_NOUNS.contains(noun),
        _ => {
            short && rest && kept()
                || words.len() <= 4 && remains && noun
                || words.len() <= 4
                    && code
                    && (remains || has(words, &["your", "other", "more"]))
                    && matches!(last, "here" | "remains" | "remain" | "stays" | "stay")
                || words.len() <= 5 && code && says_unchanged(words)
                || words.len() <= 4 && first(&["omitted", "elided", "snipped", "truncated"])
        }
    }
}

fn explain(subject: &Subject<'_>, found: &Elision<'_>) -> Finding {
    let line = found.row + 1;
    let path = subject.path;
    if found.lost == 0 {
        return cut_mark::finding(path, line);
    }
    Finding::new(
        Code::ElidedCode,
        format!(
            "Line {line} of {path} would be a placeholder, \"{}\", and {} of code would be deleted \
             in its place.",
            visible(found.line.trim_ascii()),
            counted(found.lost, "line"),
        ),
        "Code that the content leaves out is deleted. Send a smaller edit (mode \"edit\" with the \
         text that changes), or the complete text.",
    )
    .nothing_changed()
    .or_override("If the line belongs there, repeat with allow: [\"elided_code\"].")
    .at(path)
    .with("line", line)
    .with("lines_lost", found.lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_a_new_text_usage_and_pointers_are_no_placeholders() {
        let found = |path: &str, before: &str, after: &str| {
            let path = edt_types::RepoPath::parse(path.as_bytes()).unwrap();
            let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
            let limit = std::time::Duration::from_secs(5);
            detect(&Subject::new(&path, None, before, after, Vec::new(), limit)).is_some()
        };
        let code = "a = f(1)\nb = f(2)\nc = f(3)\nd = f(4)\n";
        assert!(found("a.py", code, "...\ng = 1\n"));
        let example = "\"\"\"\n>>> @a\n... class C(object):\n\"\"\"\n";
        assert!(!found("a.py", &example.replace("(object)", ""), example));
        let rest = "\"\"\"Doc.\n\n>>> f()\n... existing code ...\n\"\"\"\n";
        assert!(found("a.py", code, rest));
        assert!(found("a.go", "package a\nvar a = 1\n", "package a\n>>> f\n... rest unchanged\n"));
        assert!(!found("a.py", code, "t = \"\"\"\n{% if a %}\n    ...\n\"\"\"\n"));
        let code = "package a\n// x [command]\nvar a = 1\n";
        assert!(found("a.go", code, "package a\n// existing code...\n"));
        assert!(found("a.go", code, "package a\n// existing code [unchanged]...\n"));
        for line in [
            "// greet [options] [arguments...]",
            "// touch([options,] file [, file ...])",
            "// cat(file [, file ...]')",
            "// set_options [ARG]...",
            "//     ^--- same as above",
        ] {
            assert!(!found("a.go", code, &format!("package a\n{line}\n")), "{line}");
        }
    }

    #[test]
    fn a_placeholder_in_a_new_example_replaces_nothing() {
        let found = |before: &str, after: &str| {
            let path = edt_types::RepoPath::parse(b"a.md").unwrap();
            let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
            let limit = std::time::Duration::from_secs(5);
            detect(&Subject::new(&path, None, before, after, Vec::new(), limit)).is_some()
        };
        let example = "Add this:\n\n```js\nfunction a() {\n  // ... existing code ...\n}\n```\n";
        assert!(!found("# Plan\n\nDo it.\n", &format!("# Plan\n\n{example}")));
        let full = example.replace("  // ... existing code ...\n", "  b();\n  c();\n");
        assert!(found(&full, example), "the fence was there");
        assert!(found(&full, &example.replace("```js", "```ts")), "the fence replaces one");
        assert!(found("# Plan\n\nDo it.\n", "# Plan\n\n... rest of the file unchanged ...\n"));
    }

    #[test]
    fn an_excerpt_in_markdown_has_dots_at_both_ends() {
        let found = |after: &str| {
            let path = edt_types::RepoPath::parse(b"a.md").unwrap();
            let before = "a\nb\nc\nd\ne\n";
            let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
            let limit = std::time::Duration::from_secs(5);
            detect(&Subject::new(&path, None, before, after, Vec::new(), limit)).is_some()
        };
        assert!(!found("x\n```\n...\ny = 1\n...\n```\n"));
        assert!(found("x\n```\ny = 1\n...\n```\n"));
        assert!(found("x\n```\n...\n```\n"));
        assert!(found("x\n...\ny = 1\n...\n"));
    }

    #[test]
    fn usage_of_a_function_below_and_the_end_of_a_list_are_no_placeholders() {
        let found = |path: &str, before: &str, after: &str| {
            let path = edt_types::RepoPath::parse(path.as_bytes()).unwrap();
            let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
            let limit = std::time::Duration::from_secs(5);
            detect(&Subject::new(&path, None, before, after, Vec::new(), limit)).is_some()
        };
        let code = "a=1\nb=2\nfail () {\n  echo \"$1\"\n}\n";
        let after = "# fail function...\n# Prints it.\nfail () {\n  echo \"$1\"\n}\n";
        assert!(!found("a.sh", code, after));
        assert!(found("a.sh", code, &after.replace("# fail", "# failing")));
        assert!(found("a.sh", code, &after.replace("fail ()", "other ()")));
        assert!(found("a.sh", code, "# fail function...\n"));
        for (line, is_placeholder) in
            [("[...rest] a", false), ("[...rest]", true), ("[...rest of the code] a", true)]
        {
            let after = format!("# {line}\nfail () {{\n  echo \"$1\"\n}}\n");
            assert_eq!(found("a.sh", code, &after), is_placeholder, "{line}");
        }
        let code = "/**\n * a\n */\nlet a = 1;\nlet b = 2;\n";
        let after = "/**\n * - a\n * -etc...\n */\nlet b = 2;\n";
        assert!(!found("a.ts", code, after));
        assert!(found("a.ts", code, &after.replace(" * - a\n", " * a\n")));
        assert!(found("a.ts", code, &after.replace("-etc", "- rest of the file, etc")));
        assert!(found("a.ts", code, "// - a\n// etc...\nlet b = 2;\n"));
    }

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
            "// the rest is the same",
            "// ... the rest is left as is",
            "// keep the original code",
            "// keep the remaining tests in their original order",
            "// TODO: keep the rest",
            "# omitted for clarity",
            "(rest of methods ...)",
            "(unchanged code ...)",
            "[... rest of the file ...]",
            "{ ... other fields ... }",
            "<!-- [rest of the page] -->",
        ] {
            assert_eq!(placeholder(line.as_bytes(), None), Some(Placeholder::Words), "{line}");
        }
        for line in
            ["...", "    # ...", "// …", "/* ... */", "(...)", "[...]", "{ ... }", "// [...]"]
        {
            assert_eq!(placeholder(line.as_bytes(), None), Some(Placeholder::Dots), "{line}");
        }
    }

    /// Wordings that models use.
    const WORDINGS: [&str; 36] = [
        "// ... existing code ...",
        "# rest unchanged",
        "/* same as before */",
        "// TODO: implement the rest",
        "<!-- unchanged -->",
        "// ... (unchanged)",
        "# ... (same as original)",
        "// remaining code is the same",
        "// [rest of the code]",
        "// (rest of implementation)",
        "// keep existing code",
        "// no changes below this line",
        "// rest of your code",
        "# your code here",
        "// ... other methods remain unchanged",
        "// other functions here",
        "# ... keep other tests ...",
        "// code omitted",
        "/* unchanged */",
        "// same as original implementation",
        "# previous content remains",
        "// existing imports",
        "// (existing code remains the same)",
        "// everything below is unchanged",
        "# continue with existing implementation",
        "// TODO: add the remaining methods",
        "// implementation unchanged",
        "// ...rest",
        "// and so on",
        "# etc.",
        "// similar for the other cases",
        "// snip",
        "// the rest of the class stays unchanged",
        "// body omitted for brevity",
        "// as before",
        "# same implementation as above",
    ];

    #[test]
    fn wordings_of_models_are_placeholders() {
        let missed: Vec<&str> = { WORDINGS.into_iter() }
            .filter(|line| placeholder(line.as_bytes(), None) != Some(Placeholder::Words))
            .collect();
        assert_eq!(missed, [""; 0]);
    }

    #[test]
    fn comments_that_are_not_placeholders() {
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
            "//     ...this.items,",
            "//     ...args: Parameters<A[B]>",
            "// Existing users are kept.",
            "// <b>Filterable fields:</b>",
            "# Same for all of them",
            "# The only file remaining is the count file",
            "// Keep errors and warnings intermixed in their original order",
            "// If it's a name, use as is; otherwise, declare: ...",
            "// <b>Filterable fields:</b>",
            "// Prompt (truncated)",
            "// skip the empty children but keep original index",
            "[...previous, item]",
            "[...other]",
            "(...arguments: any[])",
            "{...rest}",
        ] {
            assert_eq!(placeholder(line.as_bytes(), None), None, "{line}");
        }
    }
}
