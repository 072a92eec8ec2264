//! Imports that an edit removes although the file still uses their names. Only in languages whose
//! programs start nevertheless: a compiler reports the others.

use std::collections::HashSet;

use super::subject::Subject;

/// The first name that an edit stops importing and that the new text still uses.
pub(super) fn lost(subject: &Subject<'_>) -> Option<String> {
    let language = subject.language()?.name;
    if !matches!(language, "python" | "javascript" | "typescript" | "tsx") {
        return None;
    }
    let (old, new) = subject.lines().texts();
    let removed = subject.hunks().iter().flat_map(|hunk| &old[hunk.old.clone()]);
    let names: Vec<&str> = removed.flat_map(|line| imported(language, line)).collect();
    if names.is_empty() {
        return None;
    }
    // An import of a block is one, too.
    let kept: HashSet<&str> =
        new.iter().flat_map(|line| imported(language, line.trim_ascii_start())).collect();
    let text = subject.text()?;
    // A star, or a list over several lines, may import any name.
    let opaque = |line: &&[u8]| {
        let line = line.trim_ascii();
        let imports = [&b"import "[..], b"from ", b"export "];
        imports.iter().any(|word| line.starts_with(word))
            && (line.contains(&b'*')
                || line.ends_with(b"(")
                || line.ends_with(b"{")
                || line.ends_with(b"\\"))
    };
    if new.iter().any(opaque) {
        return None;
    }
    let is_used = |name: &&str| is_used(subject, text, name);
    names.into_iter().filter(|name| !kept.contains(name)).find(is_used).map(str::to_owned)
}

/// The names that a line imports, if the line is an import by itself.
fn imported<'t>(language: &str, line: &'t [u8]) -> Vec<&'t str> {
    let Ok(line) = std::str::from_utf8(line) else { return Vec::new() };
    // An import of a block is the block's matter.
    if line.starts_with([' ', '\t']) {
        return Vec::new();
    }
    let line = line.trim().trim_end_matches(';');
    let list = |list: &'t str| {
        let names = list.split(',').map(|item| item.rsplit(" as ").next().unwrap_or(item));
        names.map(|name| name.trim().trim_start_matches("type ")).collect::<Vec<_>>()
    };
    let names = match language {
        "python" => {
            let line = line.split('#').next().unwrap_or(line);
            if let Some((_, names)) =
                line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
            {
                list(names.trim_matches(['(', ')']))
            } else if let Some(names) = line.strip_prefix("import ") {
                list(names).into_iter().map(|name| name.split('.').next().unwrap_or(name)).collect()
            } else {
                Vec::new()
            }
        }
        _ => match line.strip_prefix("import ").and_then(|rest| rest.rsplit_once(" from ")) {
            Some((names, _)) => {
                let names = names.trim_start_matches("type ");
                let (first, inside) = names.split_once('{').unwrap_or((names, ""));
                let first = first.trim().trim_end_matches(',');
                let first = first.strip_prefix("* as ").unwrap_or(first);
                let mut all = list(inside.trim_end().trim_end_matches('}'));
                all.push(first);
                all
            }
            None => Vec::new(),
        },
    };
    let is_name = |name: &&str| {
        name.len() > 1 && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    names.into_iter().filter(is_name).collect()
}

/// Whether code uses the name, and nowhere defines it.
fn is_used(subject: &Subject<'_>, text: &[u8], name: &str) -> bool {
    if subject.is_over() {
        return false;
    }
    let Some(Ok(tree)) = subject.new_tree() else { return false };
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'$';
    let mut used = false;
    for at in memchr::memmem::find_iter(text, name.as_bytes()) {
        if subject.is_over() {
            return false;
        }
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        if before.last().is_some_and(is_word) || after.first().is_some_and(is_word) {
            continue;
        }
        let line = &before[memchr::memrchr(b'\n', before).map_or(0, |end| end + 1)..];
        let line = line.trim_ascii_start();
        let imports = line.starts_with(b"from ") || line.starts_with(b"import ");
        if imports || tree.is_prose(at) {
            continue;
        }
        let behind = after.trim_ascii_start();
        let last = before.trim_ascii_end();
        let member = last.ends_with(b".") || last.ends_with(b"::") || last.ends_with(b"->");
        let defined = !member
            && (behind.starts_with(b"=") && !behind.starts_with(b"==")
                || behind.starts_with(b":") && !behind.starts_with(b"::")
                || behind.starts_with(b"in ")
                || behind.starts_with(b"of ")
                || defines(last));
        if defined {
            return false;
        }
        used |= !member;
    }
    used
}

/// Whether the last word of a text makes the next one a definition.
fn defines(before: &[u8]) -> bool {
    let start =
        before.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let words = [
        "def",
        "class",
        "function",
        "const",
        "let",
        "var",
        "fn",
        "struct",
        "enum",
        "type",
        "trait",
        "interface",
        "mod",
        "import",
        "as",
        "for",
        "static",
        "global",
        "macro",
        "mut",
        "use",
    ];
    let closes_list = before.ends_with(b",") || before.ends_with(b"(") || before.ends_with(b"{");
    // In a list the name may be a parameter or a part of a pattern: those are written before use.
    !closes_list && words.iter().any(|word| word.as_bytes() == &before[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::RepoPath;
    use std::time::Duration;

    fn found(path: &str, before: &str, after: &str) -> Option<String> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        lost(&Subject::new(&path, None, before, after, Vec::new(), Duration::from_secs(5)))
    }

    #[test]
    fn an_import_whose_name_is_used_is_missed() {
        for (path, import, rest, name) in [
            ("a.py", "import os\n", "x = os.getcwd()\n", "os"),
            ("a.py", "from a import b, c as dd\n", "x = dd(1)\n", "dd"),
            ("a.py", "import numpy as np\n", "x = np.zeros(1)\n", "np"),
            ("a.js", "import path from 'path';\n", "f(path.sep);\n", "path"),
            ("a.ts", "import { aa, type Bb } from './b';\n", "f<Bb>();\n", "Bb"),
            ("a.ts", "import * as zz from 'zod';\n", "zz.string();\n", "zz"),
        ] {
            let (before, after) = (format!("{import}{rest}"), rest.to_owned());
            assert_eq!(found(path, &before, &after).as_deref(), Some(name), "{import}");
            assert_eq!(found(path, &before, &format!("{import}{rest}{rest}")), None, "{import}");
        }
    }

    #[test]
    fn a_name_that_is_unused_or_defined_is_not() {
        for (path, before, after) in [
            ("a.py", "import os\nx = 1\n", "x = 1  # os\n"),
            ("a.py", "import os\nx = os\n", "os = 1\nx = os\n"),
            ("a.py", "import os\nx = os\n", "from b import os\nx = os\n"),
            ("a.py", "import os\nx = os\n", "from b import *\nx = os\n"),
            ("a.py", "import os\nx = os\n", "def f(self):\n    return self.os\n"),
            ("a.js", "import a1 from 'a';\nf(a1);\n", "const a1 = 1;\nf(a1);\n"),
            ("a.py", "from os import os\nx = 1\n", "from os import path\nx = 1\n"),
            ("a.py", "import os\nx = os\n", "if x:\n    import os\nx = os\n"),
        ] {
            assert_eq!(found(path, before, after), None, "{after}");
        }
    }
}
