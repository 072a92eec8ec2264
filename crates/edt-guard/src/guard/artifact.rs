//! Leftovers of a chat must not get into a file: a Markdown fence, prefixes of a listing, escaped
//! characters, escaped line ends, a sentence of the chat, a tag of a tool call.

use std::cell::OnceCell;

use super::chat;
pub use super::chat::Leftover;
use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_edit::line_anchor;
use edt_lang::families::{Family, Reads};
use edt_lang::pairs;
use edt_lang::unparsed::MAX_BYTES;
use edt_types::text::visible;
use edt_types::{Code, Finding};

/// The guard `chat_artifact`.
#[derive(Debug)]
pub struct ChatArtifact;

/// A shorter block shows no prefix, unless it is code.
const MIN_BLOCK: usize = 3;
/// A line has its own number as a prefix if it is off by at most this: the lines above may have
/// changed.
const OWN_NUMBER: usize = 3;

/// Extensions of files that have fences and listings by nature.
const PROSE: [&str; 21] = [
    "md", "markdown", "mdx", "mdc", "rst", "txt", "adoc", "asciidoc", "org", "ipynb", "diff",
    "patch", "rej", "orig", "qmd", "rmd", "tex", "snap", "csv", "tsv", "log",
];

impl Guard for ChatArtifact {
    fn name(&self) -> &'static str {
        "chat_artifact"
    }

    fn rule(&self) -> &'static str {
        "Added lines, in a file that had none of these, are a Markdown fence; or all begin with \
         `+` or with their line numbers; or have &lt; &gt; &amp; in place of the characters, or \
         \\n in place of line ends, outside strings and comments. Or the first or last line is a \
         sentence of the chat or a tag of a tool call. Or the whole text is a sentence about the \
         file, such as \"File created.\", or a placeholder."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        match file.within_limit(|| detect(file)) {
            Ok(found) => {
                GuardOutput::of(self.name(), found.map(|(what, row)| explain(file, what, row)))
            }
            Err(why) => vec![GuardOutput::Unchecked {
                word: self.name(),
                reason: format!("{} was not searched for leftovers: {why}.", file.path),
            }],
        }
    }
}

/// The first leftover that the edit adds, and its row.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<(Leftover, usize)> {
    subject.text()?;
    if let Some(found) = chat::at_an_end(subject) {
        return Some(found);
    }
    let is_code = is_code(subject);
    if let Some(row) = chat::in_place_of_file(subject, is_code) {
        return Some((Leftover::AboutFile, row));
    }
    if !is_code {
        return None;
    }
    let fresh: Vec<(usize, &[u8])> =
        subject.fresh_lines().filter(|(_, line)| !line.trim_ascii().is_empty()).collect();
    if fresh.is_empty() {
        return None;
    }
    let had = |which: fn(&[u8]) -> bool| subject.lines().texts().0.iter().any(|line| which(line));
    let fence = || {
        let last = subject.lines().texts().1.iter().rposition(|line| !line.trim_ascii().is_empty());
        let around = |row: usize| row == 0 || Some(row) == last;
        let counts = |row: usize| match readable_family(subject) {
            Some(family) => around(row) || is_family_code(subject, family, subject.start_of(row)),
            None if subject.language().is_some() => subject.is_code(row),
            None => around(row),
        };
        let (row, _) = fresh.iter().find(|(row, line)| is_fence(line) && counts(*row))?;
        (!had(is_fence)).then_some((Leftover::Fence, *row))
    };
    let escaped = || {
        let code = match subject.language() {
            Some(language) => !language.markup,
            None => subject.family().is_some(),
        };
        let found = |(row, line): &&(usize, &[u8])| {
            escapes(line).any(|at| in_code(subject, *row, line, at, true))
        };
        let (row, _) = fresh.iter().filter(|_| code).find(found)?;
        (!had_escapes(subject)).then_some((Leftover::Escaped, *row))
    };
    if is_markdown_page(subject) {
        return prefixed(subject);
    }
    fence().or_else(|| prefixed(subject)).or_else(escaped).or_else(|| line_ends(subject, &fresh))
}

/// Whether a file is code or data: it has a grammar, or an extension that prose has not.
pub(super) fn is_code(subject: &Subject<'_>) -> bool {
    let path = subject.path.text();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| !PROSE.contains(&extension.as_str()))
        || subject.language().is_some()
        || subject.family().is_some()
}

/// Whether a page has Markdown in it on purpose: front matter of a generator, a section, or an element
/// that a script renders.
fn is_markdown_page(subject: &Subject<'_>) -> bool {
    let page = subject.language().is_some_and(|language| language.name == "html");
    let text = subject.after.unwrap_or_default();
    let has = |sign: &[u8]| memchr::memmem::find(text, sign).is_some();
    page && (text.starts_with(b"---\n") || has(b"{{#markdown}}") || has(b"<xmp"))
}

fn is_fence(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let Some(info) = line.strip_prefix(b"```").or_else(|| line.strip_prefix(b"~~~")) else {
        return false;
    };
    info.len() <= 40
        && info.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-_#. :/=\"".contains(byte))
}

/// A block of added lines that all have a prefix.
fn prefixed(subject: &Subject<'_>) -> Option<(Leftover, usize)> {
    let (old, new) = subject.lines().texts();
    let family = readable_family(subject);
    let code = subject.language().is_some() || family.is_some();
    let is_broken = OnceCell::new();
    let broken = || {
        *is_broken.get_or_init(|| {
            matches!(subject.new_tree(), Some(Ok(tree))
                if subject.faults(tree).is_ok_and(|all| !all.is_empty()))
        })
    };
    let had_plus = OnceCell::new();
    let had_plus = || *had_plus.get_or_init(|| old.iter().any(|line| line.starts_with(b"+")));
    let had_numbers = OnceCell::new();
    // In C, no line begins with `12: `. In other languages, that is an entry or found by the grammar.
    let marked = subject.language().is_some_and(|language| !language.preprocessor);
    let had_numbers =
        || *had_numbers.get_or_init(|| old.iter().any(|line| numbered(line, marked).is_some()));
    let is_prose = |row: usize| {
        let code = |family| is_family_code(subject, family, subject.start_of(row));
        family.map_or_else(|| subject.is_prose(row), |family| !code(family))
    };
    for rows in subject.added() {
        let lines: Vec<(usize, &[u8])> = rows
            .map(|row| (row, new[row]))
            .filter(|(_, line)| !line.trim_ascii().is_empty())
            .collect();
        let Some(&(first, _)) = lines.first() else { continue };
        // Without a grammar, a line such as `2: b,` may be an entry.
        let short = family.is_some() && lines.len() < MIN_BLOCK;
        let enough = lines.len() >= if code { 1 } else { MIN_BLOCK };
        let is_plus = |line: &[u8]| {
            line.starts_with(b"+") && !line.starts_with(b"++") && line.trim_ascii().len() > 1
        };
        // In code, a plus sign at the start of a line usually has a blank after it.
        let set_off = |line: &[u8]| {
            line.starts_with(b"+ ") && line.get(2).is_some_and(|byte| !byte.is_ascii_whitespace())
        };
        let enough = enough
            && (lines.len() >= MIN_BLOCK
                || !lines.iter().any(|(_, line)| set_off(line))
                || broken());
        let all_plus = lines.iter().all(|(_, line)| is_plus(line) || line.trim_ascii() == b"+");
        if enough && all_plus && !had_plus() && !is_prose(first) {
            return Some((Leftover::Plus, first));
        }
        let numbers: Vec<Option<usize>> =
            lines.iter().map(|(_, line)| numbered(line, marked || short)).collect();
        if numbers.iter().all(Option::is_none) || had_numbers() {
            continue;
        }
        // The numbers are rising, and few lines have the number of their own row without that.
        let rising =
            |pair: &[Option<usize>]| matches!(pair, [Some(a), Some(b)] if a < b && *b <= a + 3);
        let own = |at: usize| {
            code && numbers[at].is_some_and(|number| number.abs_diff(lines[at].0 + 1) <= OWN_NUMBER)
        };
        let whole = numbers.len() >= MIN_BLOCK || own(0);
        if whole && numbers[0].is_some() && numbers.windows(2).all(rising) {
            return Some((Leftover::LineNumbers, first));
        }
        // A part of the block, below or above lines without numbers.
        let part = |at: &usize| {
            own(*at)
                && numbers[*at..].windows(2).take_while(|pair| rising(pair)).count() + 1
                    >= MIN_BLOCK
        };
        if let Some(at) = (0..numbers.len()).find(part).filter(|at| !is_prose(lines[*at].0)) {
            return Some((Leftover::LineNumbers, lines[at].0));
        }
    }
    None
}

/// The line number that a listing puts before a line; before a colon only if not `marked`.
fn numbered(line: &[u8], marked: bool) -> Option<usize> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = line_anchor::without_digits(line.get(digits..)?);
    let blank = rest.iter().take_while(|&&byte| byte == b' ').count();
    let sign = &rest[blank..];
    let marks = [&b"|"[..], b"\t", "→".as_bytes(), "│".as_bytes()];
    let has_mark = marks.iter().any(|mark| sign.starts_with(mark));
    let colon = || !marked && sign.starts_with(b":") && !sign.starts_with(b"::");
    if digits == 0 || digits > 6 || !(has_mark || colon()) {
        return None;
    }
    std::str::from_utf8(&line[..digits]).ok()?.parse().ok()
}

/// The places of escaped characters in a line.
fn escapes(line: &[u8]) -> impl Iterator<Item = usize> + '_ {
    // `p = &lt;` at the end of a statement is the address of a variable.
    let goes_on = |rest: Option<&[u8]>| rest.is_some_and(|rest| !rest.trim_ascii().is_empty());
    let escaped = move |at: &usize| {
        let after =
            |word: &&[u8]| line[*at..].starts_with(word) && goes_on(line.get(at + word.len()..));
        [&b"&lt;"[..], b"&gt;", b"&amp;"].iter().any(after)
    };
    memchr::memchr_iter(b'&', line).filter(escaped)
}

/// Whether the old text has escaped characters outside strings and comments, or anywhere if it has no
/// tree.
fn had_escapes(subject: &Subject<'_>) -> bool {
    let mut start = 0;
    subject.lines().texts().0.iter().any(|line| {
        let at = start;
        start += line.len();
        escapes(line).any(|escape| match subject.old_tree() {
            Some(Ok(tree)) if !subject.is_over() => !tree.is_prose(at + escape),
            _ => true,
        })
    })
}

/// Whether a byte of a row is outside strings and comments. The body of a macro is code if `macros`.
fn in_code(subject: &Subject<'_>, row: usize, line: &[u8], at: usize, macros: bool) -> bool {
    let blank = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let start = subject.start_of(row) - blank;
    if subject.is_over() {
        return false;
    }
    if let Some(family) = subject.family() {
        return is_family_code(subject, family, start + at);
    }
    matches!(subject.new_tree(), Some(Ok(tree))
        if !tree.is_prose(start + at) || macros && tree.is_code(start + at))
}

/// The family of the text, if its brackets are read.
fn readable_family(subject: &Subject<'_>) -> Option<&'static Family> {
    subject.family().filter(|family| family.reads == Reads::Pairs)
}

/// Whether a byte is outside strings and comments of a family whose brackets are read.
fn is_family_code(subject: &Subject<'_>, family: &Family, at: usize) -> bool {
    let text = subject.after.unwrap_or_default();
    text.len() <= MAX_BYTES && !subject.is_over() && pairs::is_code(family, text, at)
}

/// Escaped line ends in code, outside strings and comments, where no language has them.
fn line_ends(subject: &Subject<'_>, fresh: &[(usize, &[u8])]) -> Option<(Leftover, usize)> {
    let ends = |line: &[u8]| memchr::memmem::find_iter(line, b"\\n").collect::<Vec<_>>();
    let faults = OnceCell::new();
    // A string that a directive is in is not one for the grammar, nor is a character, `'\n'`, in the
    // body of a macro. A string that goes on in the line below ends with `\n\`.
    let quoted = |line: &[u8], at: usize| {
        if line[..at].ends_with(b"'") && line[at + 2..].starts_with(b"'")
            || line[at + 2..].trim_ascii_end() == b"\\"
        {
            return true;
        }
        let quotes = memchr::memchr_iter(b'"', &line[..at]);
        let open = quotes.filter(|quote| !line[..*quote].ends_with(b"\\")).count() % 2 == 1;
        open && line[at..].contains(&b'"')
    };
    let found = |(row, line): &&(usize, &[u8])| {
        let all = ends(line);
        match subject.new_tree() {
            Some(Ok(tree)) => {
                let broken = || {
                    let faults = faults.get_or_init(|| subject.faults(tree).unwrap_or_default());
                    faults.iter().any(|fault| fault.rows.contains(row))
                };
                all.iter().any(|at| !quoted(line, *at) && in_code(subject, *row, line, *at, false))
                    && broken()
            }
            _ if all.len() < 3 => false,
            // Where a line begins, it is indented.
            _ if subject.family().is_some() => {
                let begins = |at: &&usize| {
                    line[**at + 2..].starts_with(b"  ") || line[**at + 2..].starts_with(b"\t")
                };
                all.iter().filter(begins).count() > 1
                    && all.iter().all(|at| in_code(subject, *row, line, *at, false))
            }
            _ => subject.lines().texts().1.len() <= 1,
        }
    };
    fresh.iter().find(found).map(|(row, _)| (Leftover::LineEnds, *row))
}

fn explain(subject: &Subject<'_>, what: Leftover, row: usize) -> Finding {
    let line = row + 1;
    let text = subject.lines().texts().1.get(row).copied().unwrap_or_default();
    let what = match what {
        Leftover::Fence => "a Markdown fence",
        Leftover::Plus => "lines that all begin with `+`",
        Leftover::LineNumbers => "lines that begin with their numbers",
        Leftover::Escaped => "&lt;, &gt; or &amp; where the character itself belongs",
        Leftover::LineEnds => "\\n where lines should end",
        Leftover::Sentence => "a sentence of the chat",
        Leftover::ToolTag => "a tag of a tool call",
        Leftover::AboutFile => "a sentence about the file in place of its text",
    };
    let path = subject.path;
    Finding::new(
        Code::ChatArtifact,
        format!("{path} would have {what} at line {line}: \"{}\".", visible(text.trim_ascii())),
        "Send the text exactly as it should be in the file: no fence, no listing, no escapes, no \
         words about it.",
    )
    .nothing_changed()
    .or_override("If it belongs there, repeat with allow: [\"chat_artifact\"].")
    .at(path)
    .with("line", line)
}

#[cfg(test)]
mod tests {
    #[test]
    fn leftovers_are_found_without_a_grammar() {
        let before = "struct S {\n  var a: Int\n  func b() {\n    c()\n  }\n}\n";
        let of = |from: &str, to: &str| found_in("a.swift", before, &before.replace(from, to));
        let joined = "  func b() {\\n    c()\\n  }\\n";
        assert_eq!(of("  func b() {\n    c()\n  }\n", joined), Some(Leftover::LineEnds));
        assert_eq!(of("c()", &format!("c(\"{joined}\")")), None);
        assert_eq!(of("c()", "c(a &lt; 1)"), Some(Leftover::Escaped));
        assert_eq!(of("c()", "c(\"a &lt; 1\") // &lt; b"), None);
        assert_eq!(of("    c()\n", "```swift\n    c()\n"), Some(Leftover::Fence));
        assert_eq!(of("    c()\n", "/*\n```swift\n    c()\n```\n*/\n"), None);
        assert_eq!(of("    c()\n", "+    c(1)\n"), Some(Leftover::Plus));
        assert_eq!(of("    c()\n", "4|    c(1)\n"), Some(Leftover::LineNumbers));
        let lists = "project(a C)\nadd_executable(a a.c)\n";
        let fenced = format!("```\n{lists}```\n");
        assert_eq!(found_in("CMakeLists.txt", lists, &fenced), Some(Leftover::Fence));
    }

    #[test]
    fn a_fence_in_a_script_of_a_page_is_found() {
        let page = |text: &str| format!("<script>\na();\n{text}b();\n</script>\n");
        let path = edt_types::RepoPath::parse(b"a.html").unwrap();
        let found = |text: &str| {
            let (before, after) = (page(""), page(text));
            let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
            let limit = std::time::Duration::from_secs(5);
            detect(&Subject::new(&path, None, before, after, Vec::new(), limit))
        };
        assert_eq!(found("```html\nc();\n```\n"), Some((Leftover::Fence, 2)));
        assert_eq!(found("/*\n```\nc();\n```\n*/\n"), None);
    }

    #[test]
    fn a_page_may_have_markdown_in_it() {
        let page = "{{#markdown}}\n```html\n<b>c</b>\n```\n{{/markdown}}\n";
        assert_eq!(found_in("a.html", "<p>b</p>\n", &format!("<p>b</p>\n{page}")), None);
        let plain = "<p>b</p>\n```html\n<b>c</b>\n```\n";
        assert!(found_in("a.html", "<p>b</p>\n", plain).is_some());
    }

    #[test]
    fn a_here_document_may_begin_with_a_plus_sign() {
        let text = "cat > a <<EOF\n+b-c\nd\nEOF\ne\n";
        assert_eq!(found_in("a.sh", &text.replace("+b-c\n", ""), text), None);
        let outside = "+b-c\ncat > a <<EOF\nd\nEOF\ne\n";
        assert!(found_in("a.sh", &outside.replace("+b-c\n", ""), outside).is_some());
    }

    fn found_in(path: &str, before: &str, after: &str) -> Option<Leftover> {
        let path = edt_types::RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let limit = std::time::Duration::from_secs(5);
        let subject = Subject::new(&path, None, before, after, Vec::new(), limit);
        detect(&subject).map(|(what, _)| what)
    }

    use super::*;

    #[test]
    fn numbers_with_a_colon_are_no_code_of_c() {
        let before = "int a;\nint b;\n";
        assert!(found_in("a.c", before, "int a;\n2: int b;\n") == Some(Leftover::LineNumbers));
        assert_eq!(found_in("a.c", before, "int a;\nint b = c ?\n  1 : 2;\n"), None);
        assert_eq!(found_in("a.js", "a = {\n}\n", "a = {\n2: b,\n}\n"), None);
    }

    #[test]
    fn numbers_of_a_part_of_a_block_are_found_in_code() {
        let before = "fun a() = 1\n";
        let after = |numbers: [usize; 4]| {
            let lines = numbers.map(|number| format!("{number:6}\tval b{number} = 2\n"));
            format!("{before}val c = 3\n{}", lines.concat())
        };
        assert_eq!(found_in("a.kt", before, &after([3, 4, 5, 6])), Some(Leftover::LineNumbers));
        // A table whose entries have other numbers than their rows.
        assert_eq!(found_in("a.kt", before, &after([13, 14, 15, 16])), None);
        assert_eq!(found_in("a.txt", before, &after([3, 4, 5, 6])), None);
    }

    #[test]
    fn an_entity_in_a_string_allows_none_in_code() {
        let before = "ESC = {\"<\": \"&lt;\"}\n";
        let code = format!("{before}def f(a, b):\n    return a &lt; b and b &gt; 2\n");
        assert_eq!(found_in("a.py", before, &code), Some(Leftover::Escaped));
        let string = format!("{before}GT = \"a &gt; b\"\n");
        assert_eq!(found_in("a.py", before, &string), None);
        assert_eq!(found_in("a.py", "c = d &amp; e\n", "c = d &amp; e\nf = g &amp; h\n"), None);
    }

    #[test]
    fn the_body_of_a_macro_is_code() {
        let body = |text: &str| format!("#define A(b, c) \\\n  ((b) && \\\n   {text})\n");
        let added = |text: &str| found_in("a.c", &body("(c)"), &body(text));
        assert_eq!(added("(c) &lt; 1"), Some(Leftover::Escaped));
        assert_eq!(added("f(\"&lt; 1\")"), None);
        assert_eq!(added("(c) /* &lt; 1 */"), None);
    }

    #[test]
    fn a_string_between_directives_may_have_line_ends() {
        let text = |last: &str| format!("f(\n#ifdef A\n\"b\\n\"\n#endif\n\"c\\n{last}\n\"d\");\n");
        assert_eq!(found_in("a.c", &text("\""), &text(" e\"")), None);
        let lost = "int a;\\nint b;\n";
        assert_eq!(found_in("a.c", "int a;\n", lost), Some(Leftover::LineEnds));
    }

    #[test]
    fn a_character_in_a_macro_may_be_a_line_end() {
        let body = |text: &str| {
            format!(
                "/*\n * A. */\n#define B(c) \\\n    (A(c,'\\r',0) /* D */ \\\n{text})\nvoid f() {{\n"
            )
        };
        let after = body("     || A(c,'\\n',0) /* E */ \\\n");
        assert_eq!(found_in("a.c", &body(""), &after), None);
        let after = "void f() {\n  g(\na b\\n\\\n\");\n";
        assert_eq!(found_in("a.c", "void f() {\n", after), None);
    }

    #[test]
    fn fences_and_line_numbers_are_distinguished_from_code() {
        assert!(is_fence(b"```rust\n") && is_fence(b"  ```") && is_fence(b"~~~ c"));
        assert!(!is_fence(b"```${x}``` is text") && !is_fence(b"`x`"));
        assert_eq!(numbered(b"  12 | int x;", true), Some(12));
        assert_eq!(numbered("   7→int x;".as_bytes(), true), Some(7));
        assert_eq!(numbered(b"12:a3f4c1095e | int x;", true), Some(12));
        assert_eq!((numbered(b"12: x", false), numbered(b"12: x", true)), (Some(12), None));
        assert_eq!(numbered(b"12 int", false), None);
        assert_eq!(numbered(b"| 12", false), None);
    }
}
