//! Markdown fences, and the file names above them.

/// A line that opens or closes a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    /// The fence character.
    mark: u8,
    /// How often the character is repeated.
    width: usize,
    /// The rest of the line.
    pub(super) info: &'a [u8],
}

/// Parses a fence: three or more of one character, after at most three spaces.
pub(super) fn read(line: &[u8]) -> Option<Fence<'_>> {
    let trimmed = line.trim_ascii_start();
    let mark = *trimmed.first().filter(|b| matches!(b, b'`' | b'~'))?;
    let width = trimmed.iter().take_while(|&&b| b == mark).count();
    let indent = line.len() - trimmed.len();
    let info = trimmed[width..].trim_ascii();
    (width >= 3
        && indent <= 3
        && !line.starts_with(b"\t")
        && !(mark == b'`' && info.contains(&b'`')))
    .then_some(Fence { mark, width, info })
}

impl Fence<'_> {
    /// Whether the info string announces a patch.
    pub(super) fn is_diff(&self) -> bool {
        let word = self.info.split(|b| !b.is_ascii_alphanumeric()).next().unwrap_or_default();
        word.eq_ignore_ascii_case(b"diff") || word.eq_ignore_ascii_case(b"patch")
    }

    pub(super) fn closed_by(&self, line: &[u8]) -> bool {
        read(line).is_some_and(|other| {
            other.mark == self.mark && other.width >= self.width && other.info.is_empty()
        })
    }
}

/// Whether the two lines open and close a fence.
pub(crate) fn is_fence(first: &[u8], last: &[u8]) -> bool {
    read(first).is_some_and(|fence| fence.closed_by(last))
}

/// Whether a fence is longer than the fences that its text may contain.
pub(super) fn is_long(line: &[u8]) -> bool {
    read(line).is_some_and(|fence| fence.width > 3)
}

/// The line that closes the fence opened at line `at`.
pub(super) fn end(lines: &[&[u8]], at: usize) -> Option<usize> {
    let fence = read(lines.get(at)?)?;
    (at + 1..lines.len()).find(|&line| fence.closed_by(lines[line]))
}

/// The file name that a line consists of, without decoration: `**src/a.c**`, `### a.c:`,
/// `File: a.c`, a comment. In backticks or after `File:` it may contain spaces, or have neither an
/// extension nor a directory.
pub(super) fn name(line: &[u8]) -> Option<Vec<u8>> {
    let bare = undecorated(line);
    let has_shape = has_extension(bare.text) || bare.text.contains(&b'/');
    let fits = if is_name(bare.text) {
        has_shape || bare.is == Named::Surely
    } else {
        let words: Vec<u8> = bare.text.iter().filter(|b| **b != b' ').copied().collect();
        has_shape && bare.is == Named::Surely && is_name(&words)
    };
    fits.then(|| bare.text.to_vec())
}

/// The same for a file that may not exist yet. Stricter: words such as `Before/After` and
/// `Node.js:` are not names.
pub(super) fn title(line: &[u8]) -> Option<Vec<u8>> {
    let bare = undecorated(line);
    let directory = bare.text.contains(&b'/');
    let extension = has_extension(bare.text);
    let sure =
        (bare.is > Named::Perhaps) || (extension && (!bare.colon || bare.marked || directory));
    (is_name(bare.text) && sure && (extension || directory)).then(|| bare.text.to_vec())
}

/// What the decoration says about the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    /// Nothing.
    Perhaps,
    /// It is a name, or prose that follows `file `.
    Likely,
    /// It is a name: in backticks, or after `File:`.
    Surely,
}

/// A line without its decoration.
struct Undecorated<'a> {
    text: &'a [u8],
    is: Named,
    /// Whether any decoration set it off from prose.
    marked: bool,
    /// Whether a colon followed it.
    colon: bool,
}

fn undecorated(line: &[u8]) -> Undecorated<'_> {
    let mut text = line.trim_ascii();
    let trimmed = text;
    for prefix in [&b"#"[..], b"//", b"--", b"<!--", b"- ", b"* "] {
        while let Some(rest) = text.strip_prefix(prefix) {
            text = rest.trim_ascii_start();
        }
    }
    text = text.strip_suffix(b"-->").unwrap_or(text).trim_ascii();
    let (mut is, mut marked, mut colon) = (Named::Perhaps, text.len() < trimmed.len(), false);
    for word in [&b"file:"[..], b"path:", b"filename:", b"file "] {
        if text.len() > word.len() && text[..word.len()].eq_ignore_ascii_case(word) {
            text = text[word.len()..].trim_ascii_start();
            marked = true;
            is = is.max(if word.ends_with(b":") { Named::Surely } else { Named::Likely });
        }
    }
    loop {
        let before = text.len();
        if let Some(rest) = text.strip_suffix(b":") {
            (text, colon) = (rest.trim_ascii(), true);
        }
        for mark in [b'*', b'`', b'"', b'\''] {
            if text.len() > 2 && text.first() == Some(&mark) && text.last() == Some(&mark) {
                text = &text[1..text.len() - 1];
                marked = true;
                is = is.max(if mark == b'`' { Named::Surely } else { Named::Perhaps });
            }
        }
        if text.len() == before {
            break;
        }
    }
    Undecorated { text, is, marked, colon }
}

/// Whether the text can be a file name.
fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && !name
            .iter()
            .any(|b| b.is_ascii_whitespace() || b.is_ascii_control() || b"<>|`*\"(),=;".contains(b))
        && name.iter().any(u8::is_ascii_alphabetic)
        && !name.ends_with(b".")
        && !name.ends_with(b"/")
}

/// Whether the last component has an extension, begins with a dot, or is known without an
/// extension.
fn has_extension(name: &[u8]) -> bool {
    let last = name.rsplit(|&b| b == b'/').next().unwrap_or_default();
    let extension =
        last.rsplit(|&b| b == b'.').next().filter(|extension| extension.len() < last.len());
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"+-_".contains(b);
    is_bare_name(last)
        || (last.len() > 1 && last.starts_with(b"."))
        || extension.is_some_and(|extension| {
            (1..=10).contains(&extension.len()) && extension.iter().all(plain)
        })
}

/// The file name in the info string of a fence: `src/a.c`, `c src/a.c`, `c:src/a.c`,
/// `path=src/a.c`, `title="src/a.c"`.
pub(super) fn name_in(info: &[u8]) -> Option<Vec<u8>> {
    let words = info.split(|b: &u8| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
    // `{.python .numberLines}` are attributes.
    let mut words = words.filter(|word| !word.starts_with(b"{") && !word.ends_with(b"}"));
    words.find_map(|word| {
        let key = [&b"path="[..], b"file=", b"filename=", b"title="]
            .into_iter()
            .find_map(|key| word.strip_prefix(key));
        match (key, word.iter().position(|&b| b == b':')) {
            (Some(value), _) => name(value),
            (None, Some(at)) if word[..at].iter().all(u8::is_ascii_alphanumeric) => {
                name(&word[at + 1..])
            }
            // A language may contain a slash: `text/x-python`.
            _ => title(word),
        }
    })
}

/// Files that are known without an extension or a directory.
fn is_bare_name(name: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"Makefile",
        b"makefile",
        b"GNUmakefile",
        b"Dockerfile",
        b"Justfile",
        b"Rakefile",
        b"Gemfile",
        b"Procfile",
        b"LICENSE",
        b"README",
        b"CHANGELOG",
        b"AUTHORS",
        b"CODEOWNERS",
        b"Jenkinsfile",
        b"Vagrantfile",
        b"BUILD",
        b"WORKSPACE",
    ];
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_loses_its_decoration() {
        for line in [
            "src/a.c",
            "**src/a.c**",
            "`src/a.c`:",
            "### src/a.c",
            "// src/a.c",
            "File: `src/a.c`",
            "<!-- src/a.c -->",
        ] {
            assert_eq!(name(line.as_bytes()), Some(b"src/a.c".to_vec()), "{line}");
        }
        for line in ["Here is the change:", "```c", "", "...", "Done.", "see a.c for more"] {
            assert_eq!(name(line.as_bytes()), None, "{line}");
        }
        assert_eq!(name(b"Makefile\n"), Some(b"Makefile".to_vec()));
        for (line, wanted) in [
            ("`dir with space/f.txt`", "dir with space/f.txt"),
            ("**`my notes.md`**:", "my notes.md"),
            ("File: dir with space/f.txt", "dir with space/f.txt"),
            ("`configure`", "configure"),
            ("`-rf`", "-rf"),
            ("Path: gradlew", "gradlew"),
        ] {
            assert_eq!(name(line.as_bytes()), Some(wanted.as_bytes().to_vec()), "{line}");
        }
        for line in ["File contents below:", "`see the notes`", "configure", "in src/a.c", "`f(x)`"]
        {
            assert_eq!(name(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_word_with_a_dot_or_a_slash_is_not_a_title() {
        for line in [
            "Before/After:",
            "Before/After",
            "**and/or**",
            "Node.js:",
            "foo.bar():",
            "`foo.bar()`",
            "x=a.c",
        ] {
            assert_eq!(title(line.as_bytes()), None, "{line}");
        }
        for (line, wanted) in [
            ("a.c", "a.c"),
            ("`a.c`:", "a.c"),
            ("**a.c:**", "a.c"),
            ("### a.c:", "a.c"),
            ("src/a.c:", "src/a.c"),
            ("File: bin/run", "bin/run"),
            ("`debian/rules`", "debian/rules"),
            (".gitignore", ".gitignore"),
            ("src/Makefile", "src/Makefile"),
        ] {
            assert_eq!(title(line.as_bytes()), Some(wanted.as_bytes().to_vec()), "{line}");
        }
    }

    #[test]
    fn a_fence_may_have_the_name_in_its_info_string() {
        for info in ["src/a.c", "c src/a.c", "c:src/a.c", "c path=src/a.c", "c title=\"src/a.c\""] {
            assert_eq!(name_in(info.as_bytes()), Some(b"src/a.c".to_vec()), "{info}");
        }
        for info in ["python", "text/x-python", "{.python .numberLines}", "python 3.11"] {
            assert_eq!(name_in(info.as_bytes()), None, "{info}");
        }
    }

    #[test]
    fn a_fence_is_closed_by_its_own_mark() {
        let lines: Vec<&[u8]> = vec![b"````md\n", b"```c\n", b"```\n", b"~~~~\n", b"````\n"];
        assert_eq!(end(&lines, 0), Some(4));
    }
}
