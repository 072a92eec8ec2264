//! Which names have secret values, and which bare values behind them are more code.

/// Words of names whose values are secret.
const NAMES: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "secrets",
    "token",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "apikey",
];

/// What such words end in, where words are not parted.
const ENDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authtoken",
    "accesstoken",
];

/// What stands before `key` in a name whose value is secret.
const KEYS: &[&str] = &[
    "api",
    "access",
    "private",
    "secret",
    "encryption",
    "signing",
    "auth",
    "master",
    "account",
    "shared",
    "storage",
    "session",
    "crypto",
    "cipher",
    "aes",
    "hmac",
    "rsa",
    "ssh",
    "deploy",
    "service",
];

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

/// What code may begin a value with.
pub(super) const LEADS: [char; 10] = ['(', '[', '{', '<', '&', '*', '!', '$', '%', '-'];

/// Whether an identifier names a secret: it has such a word, where words end at `_`, `-`, digits and changes of case.
#[must_use]
pub fn names_a_secret(name: &str) -> bool {
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
        NAMES.contains(&word.as_str()) || ENDS.iter().any(|end| word.ends_with(end))
    };
    words.iter().any(is_one)
        || words.windows(2).any(|pair| pair[1] == "key" && KEYS.contains(&pair[0].as_str()))
}

/// How a value was given to a name.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts that have nothing to do with each other"
)]
pub(super) struct Given {
    /// The name is a flag, a header's or a constant.
    pub(super) loud: bool,
    /// By a colon.
    pub(super) colon: bool,
    /// It is only compared, or stands there.
    pub(super) compared: bool,
    /// Without a space.
    pub(super) glued: bool,
}

/// Whether a bare value is more code, and no secret: a number, a keyword, a placeholder, a call, or another name. `next` follows it.
pub(super) fn is_code(value: &str, next: Option<char>, given: &Given) -> bool {
    let variable = value
        .strip_prefix('$')
        .is_some_and(|name| name.starts_with(['(', '{']) || !name.contains(char::is_lowercase));
    let place = variable || value.starts_with("&'") || value.starts_with('%') && value.len() <= 3;
    let bare = value.trim_start_matches(LEADS).trim_end_matches(['>', '?', '!', ':']);
    let number =
        bare.len() <= 5 && bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_'));
    if place || number || KEYWORDS.contains(&bare.to_ascii_lowercase().as_str()) {
        return true;
    }
    let (name, tail) =
        bare.split_at(run(bare, |c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '?')));
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
    if names_a_secret(name.rsplit(['.', ':']).next().unwrap_or(name)) {
        return true;
    }
    let goes_on = next.is_some_and(|c| match c {
        '"' | '\'' | '`' => false,
        ';' => !given.loud && !given.glued,
        ',' | ')' | ']' | '}' | '=' | '<' | '>' | '|' | '?' => !given.loud || !given.glued,
        _ => !given.colon,
    });
    let path = name.contains("::") || name.contains('.') && !given.colon && !given.glued;
    goes_on || !given.loud && (given.compared || path)
}

/// How many bytes of `text` `is` takes from its beginning.
pub(super) fn run(text: &str, mut is: impl FnMut(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}
