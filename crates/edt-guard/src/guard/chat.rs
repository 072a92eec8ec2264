//! Sentences of a chat and tags of tool calls, which models leave as the first or last line of a
//! file.

use super::subject::Subject;
use edt_types::text;

/// The kind of a leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// A line of three backticks.
    Fence,
    /// Every line begins with `+`.
    Plus,
    /// Every line begins with its number.
    LineNumbers,
    /// `&lt;`, `&gt;`, `&amp;` in place of the characters.
    Escaped,
    /// `\n` in place of line ends.
    LineEnds,
    /// A sentence of the chat as the first or last line.
    Sentence,
    /// A tag of a tool call as the first or last line.
    ToolTag,
    /// A sentence about the file, or a placeholder, as all of the file.
    AboutFile,
}

/// Tags that tool calls and prompts have around the text of a file.
const TAGS: [&str; 27] = [
    "antml:function_calls",
    "antml:invoke",
    "antml:parameter",
    "answer",
    "content",
    "diff",
    "edit",
    "file",
    "file_content",
    "file_contents",
    "file_text",
    "function_calls",
    "function_results",
    "invoke",
    "new_content",
    "new_str",
    "new_string",
    "new_text",
    "old_str",
    "parameter",
    "replace",
    "replace_in_file",
    "response",
    "tool_call",
    "tool_result",
    "tool_use",
    "write_to_file",
];

/// Extensions of files in which such a tag may be an element of the file's own.
const MARKUP: [&str; 12] =
    ["xml", "html", "htm", "xhtml", "svg", "vue", "svelte", "jsp", "xsd", "xsl", "xslt", "rss"];

/// The first or last line that has content, if it is fresh and no text of a file.
pub(super) fn at_an_end(subject: &Subject<'_>) -> Option<(Leftover, usize)> {
    let lines = &subject.lines().texts().1;
    let filled = |line: &&[u8]| !line.trim_ascii().is_empty();
    let first = lines.iter().position(&filled)?;
    let last = lines.iter().rposition(filled)?;
    let kind = |row: usize, is_sentence: fn(&str) -> bool| {
        let line = std::str::from_utf8(lines[row]).ok()?.trim();
        // Most lines begin in another way.
        if is_sentence(line) {
            return Some((Leftover::Sentence, row));
        }
        let (name, closes) = tag(line)?;
        is_stray(subject, name, closes).then_some((Leftover::ToolTag, row))
    };
    let found = kind(first, opens_answer).or_else(|| kind(last, closes_answer));
    found.filter(|(_, row)| {
        subject.fresh_lines().any(|(fresh, _)| fresh == *row) && !subject.is_prose(*row)
    })
}

/// The row of a sentence about the file, or of a placeholder, that is all of the file: "File a.py
/// created." A text of less than four lines may become one, and so may a new file that is hidden or
/// not code (`is_code`).
pub(super) fn in_place_of_file(subject: &Subject<'_>, is_code: bool) -> Option<usize> {
    const MAX_BYTES: usize = 400;
    const MIN_LINES: usize = 4;
    let filled = |line: &&[u8]| !line.trim_ascii().is_empty();
    let text = subject.text().filter(|text| text.len() <= MAX_BYTES)?;
    let path = subject.path.text();
    let was_more = match subject.before {
        Some(before) => text::lines(before).filter(filled).take(MIN_LINES).count() == MIN_LINES,
        None => is_code && !path.starts_with('.') && !path.contains("/."),
    };
    let lines: Vec<&[u8]> = text::lines(text).collect();
    let row = lines.iter().position(filled)?;
    let line = std::str::from_utf8(lines[row]).ok()?.trim();
    let name = path.rsplit('/').next().unwrap_or(&path).to_lowercase();
    let is_all = lines.iter().filter(|line| filled(line)).count() <= 2;
    (was_more && is_all && is_about_file(line, &name)).then_some(row)
}

/// Whether a line says that a file of that name was written, or is a placeholder in brackets.
fn is_about_file(line: &str, name: &str) -> bool {
    const WRITTEN: [&str; 9] = [
        "created",
        "updated",
        "written",
        "wrote",
        "saved",
        "modified",
        "edited",
        "overwritten",
        "replaced",
    ];
    const CONTENT: [&str; 6] = ["file", "content", "contents", "code", "bytes", "lines"];
    const BRACKETS: [(char, char); 2] = [('[', ']'), ('<', '>')];
    /// What a placeholder says of the text that it stands for.
    const LEFT_OUT: [&str; 8] =
        ["full", "rest", "entire", "complete", "whole", "here", "existing", "remaining"];
    let lower = line.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |set: &[&str]| words.iter().any(|word| set.contains(word));
    let names_it = has(&CONTENT) || name.len() > 3 && lower.contains(name);
    let inside = BRACKETS.iter().find_map(|(open, close)| {
        line.strip_prefix(*open)?.strip_suffix(*close).filter(|inside| {
            let marks = if *open == '[' { " _.…,;:/" } else { " _.…" };
            inside.chars().all(|c| c.is_alphanumeric() || marks.contains(c))
        })
    });
    if inside.is_some() {
        return words.len() >= 2 && names_it && (has(&LEFT_OUT) || has(&WRITTEN));
    }
    let text = lower.trim_start_matches(|c: char| !c.is_alphanumeric() && !c.is_ascii());
    let text = text.trim_start();
    let first = words.first().copied().unwrap_or_default();
    let begins = WRITTEN.contains(&first)
        || ["the file", "file ", "successfully", "content", name]
            .iter()
            .any(|start| text.starts_with(start));
    begins
        && names_it
        && (2..=25).contains(&words.len())
        && has(&WRITTEN)
        && !line.contains(['{', '<', '#', '=', ';'])
}

/// The tool's tag that is the entire line, and whether it closes.
fn tag(line: &str) -> Option<(&str, bool)> {
    let inside = line.strip_prefix('<')?.strip_suffix('>')?;
    let (inside, closes) = match inside.strip_prefix('/') {
        Some(inside) => (inside, true),
        None => (inside, false),
    };
    let name = inside.split([' ', '\t']).next()?;
    TAGS.contains(&name).then_some((name, closes))
}

/// Whether a tag is not an element of the file: in markup, only one without a partner is not.
fn is_stray(subject: &Subject<'_>, name: &str, closes: bool) -> bool {
    let path = subject.path.text();
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    if !extension.is_some_and(|extension| MARKUP.contains(&extension.as_str())) {
        return true;
    }
    let partner = if closes { format!("<{name}") } else { format!("</{name}") };
    memchr::memmem::find(subject.after.unwrap_or_default(), partner.as_bytes()).is_none()
}

/// Whether a first line announces the text below.
fn opens_answer(line: &str) -> bool {
    const GREETINGS: [&str; 7] =
        ["sure", "certainly", "of course", "absolutely", "okay", "great", "got it"];
    const NEWS: [&str; 12] = [
        "i've ",
        "i have ",
        "i'll ",
        "i will ",
        "let me ",
        "here is",
        "here's",
        "here are",
        "below is",
        "now i",
        "looking at",
        "this is the",
    ];
    const DONE: [&str; 22] = [
        "updated",
        "modified",
        "complete",
        "full",
        "corrected",
        "revised",
        "rewritten",
        "refactored",
        "fixed",
        "final",
        "improved",
        "new version",
        "new file",
        "added",
        "implemented",
        "file with",
        "code with",
        "version of",
        "changes",
        "changed",
        "cleaned",
        "content of",
    ];
    if line.len() > 300 || !line.starts_with(|c: char| c.is_ascii_uppercase()) {
        return false;
    }
    let lower = line.to_lowercase().replace('’', "'");
    let greeting = GREETINGS.iter().find_map(|word| lower.strip_prefix(word));
    let rest = greeting.and_then(|rest| rest.strip_prefix(['!', ',', '.']));
    let text = rest.map_or(lower.as_str(), str::trim_start);
    let says =
        |words: &[&str], what: fn(&str, &str) -> bool| words.iter().any(|word| what(text, word));
    let begins: fn(&str, &str) -> bool = |text, word| text.starts_with(word);
    let has: fn(&str, &str) -> bool = |text, word| text.contains(word);
    let news = says(&NEWS, begins);
    news && rest.is_some()
        || news
            && says(&DONE, has)
            && (lower.ends_with(':') || text.starts_with('i') && lower.ends_with('.'))
}

/// Whether a last line speaks to the reader of the chat.
fn closes_answer(line: &str) -> bool {
    const OFFERS: [&str; 14] = [
        "let me know if you",
        "please let me know if you",
        "let me know whether",
        "i hope this",
        "hope this helps",
        "feel free to ask",
        "would you like me to",
        "do you want me to",
        "shall i ",
        "is there anything else",
        "i've updated",
        "i've made",
        "i've added",
        "i have updated",
    ];
    if line.len() > 300 || !line.starts_with(|c: char| c.is_ascii_uppercase()) {
        return false;
    }
    let lower = line.to_lowercase().replace('’', "'");
    let about =
        ["this change", "these changes", "this implementation", "this version", "the changes"];
    let claims = ["should now", "will now", "now ", "ensures", "make sure", "fixes"];
    let claim = about.iter().find_map(|about| lower.strip_prefix(about)).is_some_and(|rest| {
        let rest = rest.trim_start();
        claims.iter().any(|claim| rest.starts_with(claim))
    });
    claim || OFFERS.iter().any(|offer| lower.starts_with(offer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::RepoPath;
    use std::time::Duration;

    fn found(path: &str, before: &str, after: &str) -> Option<(Leftover, usize)> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        at_an_end(&Subject::new(&path, None, before, after, Vec::new(), Duration::from_secs(5)))
    }

    #[test]
    fn sentences_of_a_chat_are_found_at_both_ends() {
        for line in [
            "Here's the updated file:",
            "Here is the complete code with the fix:",
            "Sure! Here is the file:",
            "I've updated the function as you asked.",
            "Below is the corrected version:",
            "Certainly, here’s the new version:",
        ] {
            for path in ["a.md", "a.py", "a.txt", "a"] {
                let after = format!("\n{line}\n\nx\n");
                let expected = Some((Leftover::Sentence, 1));
                assert_eq!(found(path, "x\n", &after), expected, "{path}: {line}");
            }
        }
        for line in [
            "Let me know if you need anything else!",
            "I hope this helps.",
            "Would you like me to add tests?",
            "These changes should now make the tests pass.",
        ] {
            assert_eq!(
                found("a.md", "x\n", &format!("x\n\n{line}\n\n")),
                Some((Leftover::Sentence, 2)),
                "{line}"
            );
        }
    }

    #[test]
    fn tags_of_tool_calls_are_found_at_both_ends() {
        for (after, row) in [
            ("x\n</content>\n", 1),
            ("<file_text>\nx\n", 0),
            ("x\n</parameter>\n", 1),
            ("<parameter name=\"content\">\nx\n", 0),
            ("x\n</invoke>\n", 1),
        ] {
            for path in ["a.md", "a.py", "a.toml", "a.xml"] {
                let expected = Some((Leftover::ToolTag, row));
                assert_eq!(found(path, "x\n", after), expected, "{path}: {after}");
            }
        }
    }

    fn stands_for_file(path: &str, before: Option<&str>, after: &str) -> bool {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let before = before.map(str::as_bytes);
        let limit = Duration::from_secs(5);
        let after = Some(after.as_bytes());
        let subject = Subject::new(&path, None, before, after, Vec::new(), limit);
        in_place_of_file(&subject, !path.as_bytes().ends_with(b".md")).is_some()
    }

    #[test]
    fn a_sentence_about_the_file_is_not_the_file() {
        let (four, three) = ("a\nb\n\nc\nd\n", "a\nb\nc\n");
        for line in [
            "[written k.kt, 732 bytes/30 lines; use Read to view the content]",
            "File k.kt has been updated successfully.",
            "The file has been updated successfully",
            "<full file content here>",
            "[rest of file]",
            "File created",
            "Successfully wrote 732 bytes to k.kt (30 lines)",
            "Updated k.kt\n\nThe function has a test now.",
            "\u{2705} k.kt saved",
        ] {
            assert!(stands_for_file("src/k.kt", Some(four), line), "{line}");
            assert!(stands_for_file("src/k.kt", None, line), "{line}");
            assert!(!stands_for_file("src/k.md", None, line), "{line}");
            assert!(!stands_for_file("src/k.kt", Some(three), line), "{line}");
            assert!(!stands_for_file("src/k.kt", Some(four), &format!("{line}\na\nb\n")), "{line}");
        }
    }

    #[test]
    fn a_short_file_is_not_a_sentence_about_it() {
        let four = "a\nb\nc\nd\n";
        for (path, text) in [
            ("k.kt", "package a.file"),
            ("k.json", "[\"file created\", \"b\"]"),
            ("k.py", "from .file import created"),
            ("k.md", "See [the file](created.md)."),
            ("k.md", "# Updated file"),
            ("VERSION", "1.2.3"),
            ("k.html", "<p>The file was created</p>"),
            ("k.md", "Moved to another file."),
            ("k.js", "export { file, created } from './file'"),
            ("k.ini", "[file]"),
        ] {
            assert!(!stands_for_file(path, Some(four), text), "{text}");
        }
    }

    #[test]
    fn text_of_files_is_not_a_leftover() {
        for (path, before, after) in [
            ("a.md", "x\n", "Here is how it works.\nx\n"),
            ("a.md", "x\n", "x\nLet me know what you think in the issues.\n"),
            ("a.md", "x\n", "x\n\nHere's the updated file:\n\nx\n"),
            ("a.md", "x\n\nI hope this helps.\n", "y\n\nI hope this helps.\n"),
            ("a.xml", "x\n", "<content>\nx\n</content>\n"),
            ("a.html", "x\n", "x\n</body>\n"),
            ("a.py", "x\n", "\"\"\"\nI've updated the function.\n\"\"\"\nx\n"),
            ("a.md", "", "This is the README of a program.\n"),
            ("a.txt", "x\n", "This is the final version of the report.\nx\n"),
            ("NEWS", "x\n", "Here are the changes of version 2.\nx\n"),
        ] {
            assert_eq!(found(path, before, after), None, "{path}: {after}");
        }
    }
}
