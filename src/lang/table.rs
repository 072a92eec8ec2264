//! The languages as a table, made by `build.rs` from `grammars/languages.toml`.

use crate::base::RepoPath;

/// One language: how its files are known, and what its tree's nodes are.
#[derive(Debug)]
pub struct Language {
    /// Its name in lower case, such as `python`.
    pub name: &'static str,
    /// The folder below `grammars/` that holds its queries and samples; two grammars may share one.
    pub folder: &'static str,
    /// File extensions in lower case, without the dot.
    pub extensions: &'static [&'static str],
    /// Whole file names, such as `Makefile`.
    pub files: &'static [&'static str],
    /// Programs that a `#!` line starts it with.
    pub interpreters: &'static [&'static str],
    /// What begins a comment that ends with its line.
    pub line_comments: &'static [&'static str],
    /// What begins and ends a comment.
    pub block_comments: &'static [(&'static str, &'static str)],
    /// Whether `#if` lines choose among its lines, as in C.
    pub preprocessor: bool,
    /// Whether `&lt;` and its like are lawful in it.
    pub markup: bool,
    /// Node kinds of comments.
    pub comments: &'static [&'static str],
    /// Node kinds whose content is text, not code. Some grammars have no node for that text: compare it whole.
    pub strings: &'static [&'static str],
    /// Node kinds within which a name is defined once.
    pub scopes: &'static [&'static str],
    /// Node kinds that define a name: those that `definitions.scm` captures as `@definition`.
    pub defining: &'static [&'static str],
    /// Node kinds of statement and member lists, where a run of lines never stands twice in a row.
    pub containers: &'static [&'static str],
    /// Node kinds whose children, where each begins a line, begin at one column.
    pub aligned: &'static [&'static str],
    /// Node kinds that the grammar lets stand empty where the language does not: an empty one is an error.
    pub never_empty: &'static [&'static str],
    /// Node kinds, beside `ERROR`, that the grammar has for what is wrong.
    pub errors: &'static [&'static str],
    /// Extensions of another language that are this one's where a line begins with one of `signs`.
    pub shared_extensions: &'static [&'static str],
    /// What a line of a file with a shared extension begins with, at its margin.
    pub signs: &'static [&'static str],
    /// The query of its definitions: captures `@definition`, `@name`, `@distinct`, `@exempt`.
    pub definitions: &'static str,
    /// The query of what never stands twice in a row: captures `@compound`, `@simple`.
    pub blocks: &'static str,
    grammar: fn() -> tree_sitter::Language,
}

/// Every language this build knows.
pub static LANGUAGES: &[Language] = &include!(concat!(env!("OUT_DIR"), "/languages.rs"));

impl Language {
    /// Its grammar. Cheap: no text is parsed, no query compiled.
    #[must_use]
    pub fn grammar(&self) -> tree_sitter::Language {
        (self.grammar)()
    }

    fn signs(&self, text: &[u8]) -> bool {
        text.split(|&b| b == b'\n')
            .any(|line| self.signs.iter().any(|sign| line.starts_with(sign.as_bytes())))
    }
}

/// The language of a file: by its whole name, then by its extension in any case (and what stands in it, where two
/// languages share one), then, if it has none, by its `#!` line.
#[must_use]
pub fn of(path: &RepoPath, text: &[u8]) -> Option<&'static Language> {
    let name = path.as_bytes().rsplit(|&b| b == b'/').next()?;
    if let Some(known) = LANGUAGES.iter().find(|language| holds(language.files, name)) {
        return Some(known);
    }
    match name.iter().rposition(|&b| b == b'.') {
        Some(dot) if dot > 0 => {
            let extension = name[dot + 1..].to_ascii_lowercase();
            let shared = LANGUAGES.iter().find(|language| {
                holds(language.shared_extensions, &extension) && language.signs(text)
            });
            shared.or_else(|| {
                LANGUAGES.iter().find(|language| holds(language.extensions, &extension))
            })
        }
        _ => {
            let program = interpreter(text)?;
            LANGUAGES.iter().find(|language| holds(language.interpreters, program))
        }
    }
}

fn holds(words: &[&str], word: &[u8]) -> bool {
    words.iter().any(|known| known.as_bytes() == word)
}

/// The program that the `#!` line names, without its folder and its version: `/usr/bin/env -S python3.12 -u` is `python`.
fn interpreter(text: &[u8]) -> Option<&[u8]> {
    let line = text.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut program = last_name(words.next()?);
    if program == b"env" {
        // Options and assignments stand before the program.
        program = last_name(words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?);
    }
    let version =
        program.iter().rposition(|b| !b.is_ascii_digit() && *b != b'.').map_or(0, |last| last + 1);
    Some(&program[..version])
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(path: &str, text: &str) -> Option<&'static str> {
        of(&RepoPath::parse(path.as_bytes()).unwrap(), text.as_bytes())
            .map(|language| language.name)
    }

    #[test]
    fn the_interpreter_is_the_program_without_folder_and_version() {
        let of = |line: &str| {
            interpreter(line.as_bytes()).map(|name| String::from_utf8_lossy(name).into_owned())
        };
        assert_eq!(of("#!/bin/sh\nexit\n").as_deref(), Some("sh"));
        assert_eq!(of("#! /usr/bin/env python3.12 -u\r\n").as_deref(), Some("python"));
        assert_eq!(of("#!/usr/bin/env -S A=1 node --x\n").as_deref(), Some("node"));
        assert_eq!(of("#!\n"), None);
        assert_eq!(of("#!/usr/bin/env\n"), None);
        assert_eq!(of("\n#!/bin/sh\n"), None);
    }

    #[test]
    #[cfg(feature = "languages")]
    fn a_file_is_known_by_name_then_extension_then_first_line() {
        assert_eq!(name("a/b.c", ""), Some("c"));
        assert_eq!(name("A.PY", ""), Some("python"));
        assert_eq!(name("SConstruct", ""), Some("python"));
        assert_eq!(name("a/GNUmakefile", ""), Some("make"));
        assert_eq!(name("a.tsx", ""), Some("tsx"));
        assert_eq!(name("a.h", "int f(void);\n/* a\n * class A */\n"), Some("c"));
        assert_eq!(name("a.h", "#pragma once\nnamespace a {\n}\n"), Some("cpp"));
        assert_eq!(name("tool", "#!/usr/bin/env python3\n"), Some("python"));
        assert_eq!(name("tool.txt", "#!/usr/bin/env python3\n"), None, "it has an extension");
        assert_eq!(
            name(".tool", "#!/usr/bin/python\n"),
            Some("python"),
            "a leading dot begins no extension"
        );
        assert_eq!(name("py", ""), None);
        assert_eq!(name("tool", ""), None);
    }

    #[test]
    #[cfg(not(feature = "languages"))]
    fn a_build_without_languages_knows_none() {
        assert_eq!(LANGUAGES.len(), 0);
        assert_eq!(name("a.c", ""), None);
    }
}
