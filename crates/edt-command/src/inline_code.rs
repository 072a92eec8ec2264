//! Code on a command line or in a here-document: whether it may start programs, reach the network,
//! remove files, or hides what it calls. It is searched for names, not understood.

use super::builtin;
use super::evaluator::{CommandContext, Evaluator, RuleMatch};
use super::path_location::PathLocation;
use super::shell_ast::is_unknown;

/// Parts of code, in lower case, that write files.
const WRITES: [&str; 22] = [
    "write", "append", "mode=", "save", "to_csv", "dump(", "io.", "touch", "mkdir", "copy",
    "o_wronly", "o_rdwr", "o_creat", "o_trunc", "'w", "\"w", "'a'", "\"a\"", "'x'", "\"x\"", "'r+",
    "\"r+",
];
/// Parts that lead to the home directory.
const HOME: [&str; 5] = ["home", "expanduser", "environ", "getenv", "process.env"];
/// Parts that load other code.
const LOADS: [&str; 9] = [
    "require(\"/",
    "require('/",
    "require(\"..",
    "require('..",
    "from \"/",
    "from '/",
    "sys.path",
    "import(",
    "include",
];

impl Evaluator<'_> {
    /// The decision on code that is given as text.
    pub(super) fn inline_code(
        &self,
        language: &str,
        code: &str,
        context: &CommandContext,
    ) -> RuleMatch {
        let ask = |why: String| {
            RuleMatch::ask(
                "inline-code",
                format!(
                    "{why}. Write the code to a file in the worktree (`edt apply FILE --mode \
                     create`) and run that file."
                ),
            )
        };
        if is_unknown(code) {
            return ask("Part of the code is unknown before it runs".to_owned());
        }
        if let Some(name) = suspicious(language, code) {
            return ask(format!(
                "The code on the command line has {name:?}, which may do more than compute"
            ));
        }
        let is_inside = |dir: &std::path::PathBuf| {
            self.resolve_path(dir).is_some_and(|dir| self.is_in_worktree(&dir))
        };
        let elsewhere = paths(code).map(|path| self.locate(path, context)).max()
            > Some(PathLocation::Root)
            || !context.dirs.iter().all(is_inside);
        if (elsewhere || has_any(code, &HOME)) && has_any(code, &WRITES) {
            return ask("The code may write outside the worktree".to_owned());
        }
        if elsewhere && has_any(code, &LOADS) {
            return ask("The code may load code from outside the worktree".to_owned());
        }
        self.worktree_code("inline-code", "The code on the command line")
    }
}

/// The first part of the code that may do more than compute.
fn suspicious<'a>(language: &str, code: &'a str) -> Option<&'a str> {
    let own = format!("code-{language}");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = code.split(|c: char| !is_name(c)).filter(|name| !name.is_empty());
    let hidden = |name: &&str| name.starts_with("__") && !builtin::is_named("code-harmless", name);
    let mut named = names.filter(|name| {
        builtin::is_named("code", name)
            || builtin::is_named(&own, name)
            || hidden(name)
            || name.starts_with("spawn")
            || name.starts_with("execv")
            || name.starts_with("execl")
    });
    if let Some(name) = named.next() {
        return Some(name);
    }
    // Some languages take other letters for the same name.
    let mut two = code.chars().zip(code.chars().skip(1));
    let is_letter = |c: char| !c.is_ascii() && c.is_alphanumeric();
    if two.any(|(a, b)| is_letter(a) && is_name(b) || is_name(a) && is_letter(b)) {
        return Some("a letter that is not ASCII");
    }
    let compact: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let quotes = matches!(language, "perl" | "ruby" | "php");
    let texts = [
        ("import(", true),
        ("global[", true),
        ("this[", true),
        ("process[", true),
        ("`", quotes),
        ("%x", language == "ruby"),
        ("\\x", true),
        ("\\u", language == "node"),
    ];
    let text = texts.iter().find(|(text, counts)| *counts && compact.contains(text));
    if let Some((text, _)) = text {
        return Some(text);
    }
    if language == "perl" && has_code_flag(code) {
        return Some("/e");
    }
    let mut calls = compact.split("require(").skip(1);
    let literal = |call: &str| {
        let quote = call.chars().next().filter(|c| matches!(c, '\'' | '"'));
        quote.is_some_and(|quote| {
            call[1..].split_once(quote).is_some_and(|(_, after)| after.starts_with(')'))
        })
    };
    (!calls.all(literal)).then_some("require")
}

/// Whether a substitution of Perl has the flag `e`, which runs its replacement.
fn has_code_flag(code: &str) -> bool {
    let by = |c: char| c.is_ascii_punctuation() && !matches!(c, ';' | '_' | '"' | '\'');
    let parts: Vec<&str> = code.split(by).collect();
    let last = parts.len() - 1;
    parts.iter().enumerate().skip(2).any(|(at, part)| {
        let flags: String = part.chars().take_while(char::is_ascii_lowercase).collect();
        let rest = &part[flags.len()..];
        let ends = if rest.is_empty() {
            at == last
        } else {
            rest.starts_with(|c: char| c == ';' || c.is_whitespace())
        };
        flags.contains('e') && ends && flags.chars().all(|c| "egimsxrop".contains(c))
    })
}

fn has_any(code: &str, parts: &[&str]) -> bool {
    let lower = code.to_lowercase();
    parts.iter().any(|part| lower.contains(part))
}

/// Texts in the code that may be paths elsewhere.
fn paths(code: &str) -> impl Iterator<Item = &str> {
    let quoted = code.split(['\'', '"', '`']);
    quoted.filter(|text| {
        (text.starts_with(['/', '~']) || text.contains("..") || text.contains(".git"))
            && text.len() > 1
            && !text.contains(char::is_whitespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_starts_removes_or_sends_is_suspicious() {
        for (language, code) in [
            ("python", "import os; os.system('id')"),
            ("python", "from os import remove; remove('x')"),
            ("python", "getattr(x, 'sys' + 'tem')()"),
            ("python", "().__class__.__bases__"),
            ("python", "import os; os.execvp('sh', [])"),
            ("node", "require('child_' + 'process')"),
            ("node", "import('fs')"),
            ("perl", "s/a/id/e"),
            ("perl", "s/(.*)/uc $1/gee;"),
            ("perl", "print `id`"),
            ("ruby", "%x(id)"),
            ("lua", "os.execute('id')"),
        ] {
            assert!(suspicious(language, code).is_some(), "{language}: {code}");
        }
    }

    #[test]
    fn code_that_computes_reads_or_writes_is_not() {
        for (language, code) in [
            ("python", "import json, sys; print(json.load(sys.stdin)['name'])"),
            ("python", "print(open('x').read().replace('a', 'b'))"),
            ("python", "cursor.execute('select 1')"),
            ("node", "const fs = require('fs'); console.log(fs.readFileSync('x', 'utf8'))"),
            ("perl", "s/the/one/g"),
            ("perl", "print if /e/"),
            ("perl", "s{a}{b}g; print"),
        ] {
            assert_eq!(suspicious(language, code), None, "{language}: {code}");
        }
    }
}
