//! Names whose values are secret, and bare values that are code.

use edt_types::secret_names::spans::{ENDS, KEY_PREFIXES, WORDS};

/// Bare values that are code, in lower case.
const KEYWORDS: &[&str] = &[
    "true",
    "false",
    "null",
    "nil",
    "none",
    "undefined",
    "yes",
    "no",
    "on",
    "off",
    "string",
    "str",
    "bytes",
    "byte",
    "char",
    "bool",
    "boolean",
    "int",
    "number",
    "any",
    "object",
    "void",
    "auto",
    "var",
    "let",
    "const",
    "static",
    "mut",
    "dyn",
    "impl",
    "new",
    "await",
    "async",
    "not",
    "return",
    "if",
    "else",
    "for",
    "while",
    "match",
    "switch",
    "case",
    "break",
    "continue",
    "pass",
    "raise",
    "throw",
    "yield",
    "lambda",
    "fn",
    "func",
    "function",
    "self",
    "this",
    "super",
    "optional",
    "option",
    "list",
    "vec",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "usize",
    "f64",
    "size_t",
    "int32",
    "int64",
    "typeof",
    "unsigned",
    "struct",
    "enum",
];

/// Characters that code may have at the start of a value.
pub(super) const VALUE_LEADS: [char; 10] = ['(', '[', '{', '<', '&', '*', '!', '$', '%', '-'];

/// Whether an identifier has a word that names a secret. Words end at `_`, `-`, digits and case
/// changes.
#[must_use]
pub(super) fn is_secret_name(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let hump = c.is_uppercase()
            && (before.is_lowercase() || chars.peek().is_some_and(|next| next.is_lowercase()));
        if !c.is_alphabetic() || hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    let is_one = |word: &String| {
        WORDS.contains(&word.as_str()) || ENDS.iter().any(|end| word.ends_with(end))
    };
    words.iter().any(is_one)
        || words.windows(2).any(|pair| pair[1] == "key" && KEY_PREFIXES.contains(&pair[0].as_str()))
}

/// How a value was assigned to a name.
#[expect(clippy::struct_excessive_bools, reason = "independent properties of an assignment")]
pub(super) struct Assignment {
    /// The name is a flag, a header or a constant.
    pub(super) is_flag_or_constant: bool,
    /// The separator is a colon.
    pub(super) colon: bool,
    /// The value is only compared, or follows without an operator.
    pub(super) compared: bool,
    pub(super) no_space: bool,
}

/// Whether a bare value is code and not a secret: a number, a keyword, a placeholder, a call, or
/// another name. `next` is the character after it.
pub(super) fn is_code(value: &str, next: Option<char>, assignment: &Assignment) -> bool {
    let variable = value
        .strip_prefix('$')
        .is_some_and(|name| name.starts_with(['(', '{']) || !name.contains(char::is_lowercase));
    let place = variable || value.starts_with("&'") || value.starts_with('%') && value.len() <= 3;
    let bare = value.trim_start_matches(VALUE_LEADS).trim_end_matches(['>', '?', '!', ':']);
    let number =
        bare.len() <= 5 && bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_'));
    if place || number || KEYWORDS.contains(&bare.to_ascii_lowercase().as_str()) {
        return true;
    }
    let (name, tail) = bare
        .split_at(prefix_len(bare, |c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '?')));
    let digits = name.contains(|c: char| c.is_ascii_digit());
    let ends = next.is_some_and(|c| matches!(c, ',' | ')' | ']' | '}'));
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') || name.ends_with(':') {
        return false;
    }
    if tail.starts_with("->") || tail.starts_with(['(', '[', '<', '{']) {
        return !digits || ends || tail.len() == 1;
    }
    if !tail.is_empty() || digits {
        return false;
    }
    if is_secret_name(name.rsplit(['.', ':']).next().unwrap_or(name)) {
        return true;
    }
    let goes_on = next.is_some_and(|c| match c {
        '"' | '\'' | '`' => false,
        ';' => !assignment.is_flag_or_constant && !assignment.no_space,
        ',' | ')' | ']' | '}' | '=' | '<' | '>' | '|' | '?' => {
            !assignment.is_flag_or_constant || !assignment.no_space
        }
        _ => !assignment.colon,
    });
    let path =
        name.contains("::") || name.contains('.') && !assignment.colon && !assignment.no_space;
    goes_on || !assignment.is_flag_or_constant && (assignment.compared || path)
}

/// The length in bytes of the longest prefix of `text` whose characters all satisfy `is`.
pub(super) fn prefix_len(text: &str, mut is: impl FnMut(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised_in_every_style() {
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "client-secret",
            "githubToken",
            "API_KEY",
            "aws.secretKey",
            "x-apikey",
            "HTTPAuthorization",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_contain_the_letters_are_not_secret() {
        for name in
            ["passenger", "keyboard", "monkey", "primary_key", "tokenizer", "secretary", "key"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    fn code(value: &str) -> bool {
        let assignment = Assignment {
            is_flag_or_constant: false,
            colon: false,
            compared: false,
            no_space: false,
        };
        is_code(value, None, &assignment)
    }

    #[test]
    fn numbers_keywords_and_calls_are_code() {
        for value in
            ["0", "1.5", "None", "true", "get_password()", "${TOKEN}", "$TOKEN", "config.token"]
        {
            assert!(code(value), "{value}");
        }
    }

    #[test]
    fn a_bare_word_with_digits_may_be_a_secret() {
        for value in ["hunter2", "abc123def", "correct!"] {
            assert!(!code(value), "{value}");
        }
    }
}
