//! Patterns of a shell: the names on disk that take their place, and the words that braces become.

use std::path::{Path, PathBuf};

use super::Programs;

/// The most words that one may become.
const MOST: usize = 2_000;

/// The names that take the place of `pattern`, seen from `dir`; none if nothing is like it.
pub(super) fn expanded(pattern: &str, dir: &Path, programs: &dyn Programs) -> Vec<String> {
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
            let folder: PathBuf = dir.join(before);
            let names = programs.names(&folder);
            let like = names.iter().filter(|name| matches(part, name));
            // What a pattern can mean in the root of a file system is not worth more than this.
            next.extend(like.take(MOST).map(|name| below(name)));
        }
        next.truncate(MOST);
        found = next;
    }
    found.retain(|name| name != pattern);
    let (there, rest): (Vec<String>, Vec<String>) =
        found.into_iter().partition(|name| programs.real(&dir.join(name)).is_some());
    if there.is_empty() { rest } else { there }
}

/// Whether `name` is like `pattern`. A bracket is taken for any character, a name with a dot wants one in the pattern.
fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with(['.', '[']) {
        return false;
    }
    like(pattern, name)
}

/// Whether `text` is like `pattern`, where a bracket stands for any one character.
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
    super::fit::alike(&simple, text)
}

/// The words that braces with commas become: `{a,b}c` is `ac` and `bc`.
pub(super) fn braces(text: &str) -> Vec<String> {
    let mut words = vec![text.to_owned()];
    while let Some(at) = words.iter().position(|word| group(word).is_some()) {
        let word = words.remove(at);
        let Some((from, to, parts)) = group(&word) else { break };
        let each = parts.iter().map(|part| format!("{}{part}{}", &word[..from], &word[to..]));
        words.extend(each.collect::<Vec<_>>());
        if words.len() > MOST {
            break;
        }
    }
    words
}

/// The first group of braces without others in it: where it begins and ends, and its parts.
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
    fn a_bracket_is_any_character_and_braces_are_all_their_words() {
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
