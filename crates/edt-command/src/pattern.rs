//! Shell patterns: expansion to file names, and brace expansion.

use std::path::{Path, PathBuf};

use super::Host;

/// How many words one word may expand to.
const MAX_WORDS: usize = 2_000;

/// The file names that `pattern` expands to in `dir`; empty if none matches.
pub(super) fn expanded(pattern: &str, dir: &Path, host: &dyn Host) -> Vec<String> {
    let (begin, rest) = match pattern.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", pattern),
    };
    let mut found = vec![begin.to_owned()];
    for part in rest.split('/') {
        let is_pattern = part.contains(['*', '?', '[']);
        let mut next = Vec::new();
        for before in &found {
            let below = |name: &str| match before.as_str() {
                "" | "/" => format!("{before}{name}"),
                _ => format!("{before}/{name}"),
            };
            if !is_pattern {
                next.push(below(part));
                continue;
            }
            let directory: PathBuf = dir.join(before);
            let names = host.directory_entries(&directory);
            let like = names.iter().filter(|name| matches(part, name));
            // Bounds the cost of patterns that match very many files.
            next.extend(like.take(MAX_WORDS).map(|name| below(name)));
        }
        next.truncate(MAX_WORDS);
        found = next;
    }
    found.retain(|name| name != pattern);
    let (there, rest): (Vec<String>, Vec<String>) =
        found.into_iter().partition(|name| host.real_path(&dir.join(name)).is_some());
    if there.is_empty() { rest } else { there }
}

/// Whether `name` matches `pattern`. A bracket matches any character; a leading dot must be matched
/// explicitly.
fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with(['.', '[']) {
        return false;
    }
    like(pattern, name)
}

/// Whether `text` matches `pattern`, where a bracket expression matches any one character.
pub(super) fn like(pattern: &str, text: &str) -> bool {
    let mut simple = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let end = if c == '[' {
            rest.char_indices().skip(2).find(|(_, c)| *c == ']').map(|(at, _)| at)
        } else {
            None
        };
        simple.push(if end.is_some() { '?' } else { c });
        rest = &rest[end.map_or(c.len_utf8(), |end| end + 1)..];
    }
    super::matching::glob_match(&simple, text)
}

/// Expands braces with commas: `{a,b}c` becomes `ac` and `bc`.
pub(super) fn braces(text: &str) -> Vec<String> {
    let mut words = vec![text.to_owned()];
    while let Some(at) = words.iter().position(|word| group(word).is_some()) {
        let word = words.remove(at);
        let Some((from, to, parts)) = group(&word) else { break };
        let each = parts.iter().map(|part| format!("{}{part}{}", &word[..from], &word[to..]));
        words.extend(each.collect::<Vec<_>>());
        if words.len() > MAX_WORDS {
            break;
        }
    }
    words
}

/// The first innermost brace group: start, end and parts.
fn group(word: &str) -> Option<(usize, usize, Vec<&str>)> {
    let mut open = None;
    for (at, c) in word.char_indices() {
        match c {
            '{' if !word[..at].ends_with('$') => open = Some(at),
            '}' => {
                if let Some(from) = open.filter(|from| word[*from..at].contains(',')) {
                    return Some((from, at + 1, word[from + 1..at].split(',').collect()));
                }
                open = None;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bracket_matches_any_character_and_braces_expand_to_all_words() {
        for (pattern, text, is) in [
            ("[.]git", ".git", true),
            ("*[a-z]*", "config", true),
            ("*.o", "x.c", false),
            (".g[!x]t", ".git", true),
        ] {
            assert_eq!(like(pattern, text), is, "{pattern} {text}");
        }
        assert!(!matches("*", ".git") && matches(".*", ".git"));
        assert_eq!(braces("{.git,src}"), [".git", "src"]);
        assert_eq!(braces("a{b,c{d,e}}"), ["ab", "acd", "ab", "ace"]);
        assert_eq!(braces("${a,b}{}"), ["${a,b}{}"]);
    }
}
