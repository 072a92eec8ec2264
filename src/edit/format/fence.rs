//! Markdown fences, and the names of files that stand above them.

/// A line that opens or closes a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    /// Its mark.
    mark: u8,
    /// How often that stands.
    width: usize,
    /// What follows on the line.
    pub(super) info: &'a [u8],
}

/// Reads a line as a fence: three or more of one mark, at most three spaces before it.
pub(super) fn read(line: &[u8]) -> Option<Fence<'_>> {
    let trimmed = line.trim_ascii_start();
    let mark = *trimmed.first().filter(|b| matches!(b, b'`' | b'~'))?;
    let width = trimmed.iter().take_while(|&&b| b == mark).count();
    let indent = line.len() - trimmed.len();
    let info = trimmed[width..].trim_ascii();
    (width >= 3 && indent <= 3 && !line.starts_with(b"\t") && !(mark == b'`' && info.contains(&b'`')))
        .then_some(Fence { mark, width, info })
}

impl Fence<'_> {
    /// Whether `line` closes it.
    pub(super) fn closed_by(&self, line: &[u8]) -> bool {
        read(line).is_some_and(|other| other.mark == self.mark && other.width >= self.width && other.info.is_empty())
    }
}

/// The line that closes the fence opened at line `at`.
pub(super) fn end(lines: &[&[u8]], at: usize) -> Option<usize> {
    let fence = read(lines.get(at)?)?;
    (at + 1..lines.len()).find(|&line| fence.closed_by(lines[line]))
}

/// The name of a file that a line consists of, its decoration taken off: `**src/a.c**`, `### a.c:`, `File: a.c`, a comment.
pub(super) fn name(line: &[u8]) -> Option<Vec<u8>> {
    let mut name = line.trim_ascii();
    for prefix in [&b"#"[..], b"//", b"--", b"<!--", b"- ", b"* "] {
        while let Some(rest) = name.strip_prefix(prefix) {
            name = rest.trim_ascii_start();
        }
    }
    name = name.strip_suffix(b"-->").unwrap_or(name).trim_ascii();
    for word in [&b"file:"[..], b"path:", b"filename:", b"file "] {
        if name.len() > word.len() && name[..word.len()].eq_ignore_ascii_case(word) {
            name = name[word.len()..].trim_ascii_start();
        }
    }
    loop {
        let before = name.len();
        name = name.strip_suffix(b":").unwrap_or(name).trim_ascii();
        for mark in [b'*', b'`', b'"', b'\''] {
            if name.len() > 2 && name.first() == Some(&mark) && name.last() == Some(&mark) {
                name = &name[1..name.len() - 1];
            }
        }
        if name.len() == before {
            break;
        }
    }
    let plain = !name.is_empty()
        && !name.iter().any(|b| b.is_ascii_whitespace() || b.is_ascii_control() || b"<>|`*\"".contains(b));
    let like = name.contains(&b'.') || name.contains(&b'/') || is_bare_name(name);
    (plain && like && name != b"..." && !name.ends_with(b".")).then(|| name.to_vec())
}

/// The name in what follows the mark of a fence: `src/a.c`, `c src/a.c`, `c:src/a.c`, `path=src/a.c`, `title="src/a.c"`.
pub(super) fn name_in(info: &[u8]) -> Option<Vec<u8>> {
    let words = info.split(|b: &u8| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let mut words = words.map(|word| {
        let key = [&b"path="[..], b"file=", b"filename=", b"title="].into_iter().find_map(|key| word.strip_prefix(key));
        match (key, word.iter().position(|&b| b == b':')) {
            (Some(value), _) => value,
            (None, Some(at)) if word[..at].iter().all(u8::is_ascii_alphanumeric) => &word[at + 1..],
            _ => word,
        }
    });
    words.find_map(name)
}

/// Files that are known without a dot or a folder.
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
        for line in
            ["src/a.c", "**src/a.c**", "`src/a.c`:", "### src/a.c", "// src/a.c", "File: `src/a.c`", "<!-- src/a.c -->"]
        {
            assert_eq!(name(line.as_bytes()), Some(b"src/a.c".to_vec()), "{line}");
        }
        for line in ["Here is the change:", "```c", "", "...", "Done.", "see a.c for more"] {
            assert_eq!(name(line.as_bytes()), None, "{line}");
        }
        assert_eq!(name(b"Makefile\n"), Some(b"Makefile".to_vec()));
    }

    #[test]
    fn a_fence_may_carry_the_name() {
        for info in ["src/a.c", "c src/a.c", "c:src/a.c", "c path=src/a.c", "c title=\"src/a.c\""] {
            assert_eq!(name_in(info.as_bytes()), Some(b"src/a.c".to_vec()), "{info}");
        }
        assert_eq!(name_in(b"python"), None);
    }

    #[test]
    fn a_fence_is_closed_by_its_own_mark() {
        let lines: Vec<&[u8]> = vec![b"````md\n", b"```c\n", b"```\n", b"~~~~\n", b"````\n"];
        assert_eq!(end(&lines, 0), Some(4));
    }
}
