//! Redacts secret values after names, in URLs and after flags, in one pass over the text.

use super::marks::{SECRET, head};
use super::names::{Assignment, VALUE_LEADS, is_code, is_secret_name, prefix_len};

/// Words that are followed by a credential.
const SCHEMES: &[&str] = &["bearer", "basic"];

/// Programs that take a password attached to `-p`.
const CLIENTS: &[&str] = &["mysql", "mariadb", "sshpass", "mongo"];

/// How many bytes of a bare value are examined.
const MAX_BARE_BYTES: usize = 512;

/// Replaces secret values after names, in URLs and after flags.
pub(super) fn without_values(text: &str) -> String {
    let mut scanner = Scanner {
        text,
        out: String::with_capacity(text.len()),
        at: 0,
        open: None,
        in_secret: None,
        client: false,
    };
    while let Some(c) = scanner.rest().chars().next() {
        scanner.step(c);
    }
    scanner.out
}

/// Scans a text once from start to end.
struct Scanner<'t> {
    text: &'t str,
    out: String,
    at: usize,
    /// The quote character of the current literal.
    open: Option<char>,
    /// Literals are values of a secret name, until this many brackets are closed.
    in_secret: Option<usize>,
    /// The line runs a program that takes a password attached to `-p`.
    client: bool,
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Copies the next `len` bytes.
    fn copy(&mut self, len: usize) {
        self.out.push_str(&self.rest()[..len]);
        self.at += len;
    }

    /// Replaces the next `len` bytes.
    fn redact(&mut self, len: usize) {
        self.out.push_str(SECRET);
        self.at += len;
    }

    fn step(&mut self, c: char) {
        let rest = self.rest();
        let word = prefix_len(rest, |c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if word > 0 {
            return self.word(&rest[..word]);
        }
        if rest.starts_with("://") {
            self.copy(3);
            return self.address();
        }
        if matches!(c, '"' | '`' | '\'') {
            return self.quote(c);
        }
        match (c, self.in_secret) {
            ('\n', _) => (self.in_secret, self.open, self.client) = (None, None, false),
            _ if self.open.is_some() => {}
            ('(' | '[' | '{', Some(depth)) => self.in_secret = Some(depth + 1),
            (')' | ']' | '}', Some(depth)) => self.in_secret = depth.checked_sub(1),
            (',' | ';', Some(0)) => self.in_secret = None,
            _ => {}
        }
        self.copy(c.len_utf8());
    }

    /// Handles a quote: the start or end of a literal, or an apostrophe.
    fn quote(&mut self, c: char) {
        let before = self.text[..self.at].chars().next_back().unwrap_or(' ');
        let apostrophe = c == '\'' && (before.is_alphanumeric() || matches!(before, '&' | '<'));
        match self.open {
            Some(open) if open == c && before != '\\' => self.open = None,
            None if self.in_secret.is_some() && !apostrophe => return self.literal(3, false),
            None if !apostrophe => self.open = Some(c),
            _ => {}
        }
        self.copy(1);
    }

    /// Redacts the literal that begins here, if it has at least `least` bytes. With
    /// `keep_short_words`, a short word without digits stays.
    fn literal(&mut self, least: usize, keep_short_words: bool) {
        let rest = self.rest();
        let slashes = prefix_len(rest, |c| c == '\\');
        let Some(c) = rest[slashes..].chars().next() else { return };
        let three = [c; 3].iter().collect::<String>();
        if rest.starts_with(&three) {
            let body = &rest[3..];
            let len =
                head(body, 4096).find(&three).unwrap_or_else(|| prefix_len(body, |c| c != '\n'));
            self.copy(3);
            self.redact(len);
            let end = if self.rest().starts_with(&three) { 3 } else { 0 };
            return self.copy(end);
        }
        self.copy(slashes + 1);
        let body = self.rest();
        let mut escapes = 0;
        let len = prefix_len(body, |next| {
            let ends = next == '\n'
                || next == c && if slashes == 0 { escapes % 2 == 0 } else { escapes <= slashes };
            escapes = if next == '\\' { escapes + 1 } else { 0 };
            !ends
        });
        // The closing quote has as many backslashes as the opening one.
        let trailing = len - body[..len].trim_end_matches('\\').len();
        let len = len - if body[len..].starts_with(c) { slashes.min(trailing) } else { 0 };
        let chars = || body[..len].chars();
        let plain = keep_short_words && len < 8 && !chars().any(|c| c.is_ascii_digit());
        if len < least || plain {
            self.copy(len);
        } else {
            self.redact(len);
        }
        let close = prefix_len(self.rest(), |next| next == '\\');
        let end = self.rest()[close..].starts_with(c);
        self.copy(if end { close + 1 } else { 0 });
    }

    /// Handles a word, which may be a secret name, or a flag that is followed by a secret.
    fn word(&mut self, word: &str) {
        if self.client
            && word.starts_with("-p")
            && (word.len() > 2 || self.rest()[2..].starts_with(['"', '\'']))
        {
            self.copy(2);
            let len = prefix_len(self.rest(), |c| !c.is_whitespace());
            return self.redact(len);
        }
        self.client |= CLIENTS.iter().any(|name| word.starts_with(name));
        self.copy(word.len());
        let rest = self.rest();
        if word == "--user" || word == "--proxy-user" || word.starts_with("-u") {
            let rest = head(rest, MAX_BARE_BYTES);
            let user = prefix_len(rest, |c| matches!(c, ' ' | '\t' | '=' | '"' | '\''));
            let user = user + prefix_len(&rest[user..], |c| !c.is_whitespace() && c != ':');
            let secret =
                prefix_len(&rest[user..], |c| !c.is_whitespace() && !matches!(c, '"' | '\''));
            if rest[user..].starts_with(':')
                && !rest[user + 1..user + secret].bytes().all(|b| b.is_ascii_digit())
            {
                self.copy(user + 1);
                return self.redact(secret - 1);
            }
        }
        if SCHEMES.contains(&word.to_ascii_lowercase().as_str()) && rest.starts_with(' ') {
            let len =
                prefix_len(&rest[1..], |c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`'));
            if rest[1..=len].bytes().any(|b| b.is_ascii_digit() || b == b'=') && len >= 6 {
                self.copy(1);
                self.redact(len);
            }
        } else if is_secret_name(word) {
            self.named(word);
        }
    }

    /// Redacts the user info of a URL, before the `@`.
    fn address(&mut self) {
        let all = prefix_len(head(self.rest(), MAX_BARE_BYTES), |c| {
            !c.is_whitespace() && !matches!(c, '"' | '\'' | '`' | '<' | '>')
        });
        let (all, host) = (
            &self.rest()[..all],
            prefix_len(&self.rest()[..all], |c| !matches!(c, '/' | '?' | '#')),
        );
        let port = all[..host]
            .rsplit_once(':')
            .is_none_or(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let near = if port { &all[..host] } else { all };
        if let Some(len) = near.rfind('@').or_else(|| all[..host].rfind('@')) {
            self.redact(len);
        }
    }

    /// Handles the text after a secret name.
    fn named(&mut self, name: &str) {
        let rest = self.rest();
        let closing = prefix_len(rest, |c| matches!(c, '"' | '\'' | '`' | '\\' | ']'));
        let spaces = prefix_len(&rest[closing..], |c| matches!(c, ' ' | '\t'));
        let after = &rest[closing + spaces..];
        let sign = &after[..prefix_len(after, |c| {
            matches!(c, '=' | ':' | '!' | '?' | '~' | '+' | '|' | '>' | '*')
        })];
        let element = sign == ">" && self.text[..self.at - name.len()].ends_with('<');
        // A flag, a header or a constant is not a variable.
        let is_flag_or_constant = name.contains('-') || !name.contains(char::is_lowercase);
        if !rest[..closing].contains('\\') && rest[..closing].chars().any(|c| Some(c) == self.open)
        {
            self.open = None;
        }
        if element || sign != "::" && sign.contains(['=', ':']) {
            let behind = prefix_len(&after[sign.len()..], |c| matches!(c, ' ' | '\t'));
            let compared = matches!(sign, "==" | "===" | "!=" | "!==" | "=~");
            self.copy(closing + spaces + sign.len() + behind);
            self.in_secret = Some(0);
            self.assigned(&Assignment {
                is_flag_or_constant: is_flag_or_constant || element,
                colon: !sign.contains('='),
                compared,
                no_space: behind == 0,
            });
        } else if closing == 0 && spaces == 0 && after.starts_with('(') {
            self.in_secret = Some(0);
        } else if closing == 0 && spaces > 0 {
            let flag = name.starts_with('-') && !after.starts_with('-');
            let len = word_at(head(after, MAX_BARE_BYTES), self.open);
            let (bare, next) = (&after[..len], after[len..].chars().next());
            if after.starts_with(['"', '\'', '`']) && self.open != after.chars().next() {
                self.copy(spaces);
                self.literal(3, !is_flag_or_constant);
            } else if !is_code(
                bare,
                next,
                &Assignment {
                    is_flag_or_constant: flag,
                    colon: false,
                    compared: !flag,
                    no_space: false,
                },
            ) && (flag || len >= 6 && !bare.contains(['(', '.', '[']))
            {
                self.copy(spaces);
                self.redact(len);
            }
        }
    }

    /// Handles the value after an assignment operator.
    fn assigned(&mut self, assignment: &Assignment) {
        let rest = self.rest();
        let blank = prefix_len(rest, |c| {
            matches!(c, ' ' | '\t' | '(' | '[' | '\\' | '|' | '>' | '-' | '+')
        });
        if rest[blank..].starts_with('\n') {
            return self.below(blank, rest.starts_with(['|', '>']));
        }
        let slashes = prefix_len(rest, |c| c == '\\');
        let prefix =
            prefix_len(rest, |c| c.is_ascii_alphabetic() || c == '#' || c == '@' || c == '$');
        let start =
            if prefix <= 3 && rest[prefix..].starts_with(['"', '\'']) { prefix } else { slashes };
        if let Some(quote) = rest[start..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))
        {
            let inner = rest[start + 1..].chars().next();
            let closes = inner.is_none_or(|c| {
                c.is_whitespace() || matches!(c, ',' | ')' | ';' | '+' | '.' | ']' | '}')
            });
            if slashes > 0 || self.open != Some(quote) || !closes {
                self.copy(start - slashes);
                self.open = self.open.filter(|open| slashes > 0 || *open != quote);
                self.literal(3, false);
            }
            return;
        }
        let near = &rest[..word_at(head(rest, MAX_BARE_BYTES), self.open)];
        let lead = prefix_len(near, |c| VALUE_LEADS.contains(&c));
        let examined =
            lead + prefix_len(&near[lead..], |c| !matches!(c, ',' | ';' | ')' | ']' | '}' | '&'));
        let after = &rest[examined..];
        let past = after.trim_start_matches([')', ']', '}']);
        let sticks = past.len() < after.len() && past.starts_with(|c: char| c.is_alphanumeric());
        if examined == 0 || !sticks && is_code(&rest[..examined], follower(after), assignment) {
            return;
        }
        // A passphrase may have several words: after a colon the rest of the line is the value.
        let open = self.open;
        let line = |c: char| !matches!(c, '\n' | '\t' | '"' | '`') && Some(c) != open;
        let all = if assignment.colon { prefix_len(rest, line) } else { word_at(rest, open) };
        let all = rest[..all].trim_end_matches([' ', '\t', ')', ']', '}', ',', ';']).len();
        self.in_secret = None;
        self.redact(all);
    }

    /// Handles a value on the next line: a block, a literal, or a word that is not code.
    fn below(&mut self, blank: usize, block: bool) {
        let indent = |line: &str| prefix_len(line, |c| matches!(c, ' ' | '\t'));
        let own = indent(self.text[..self.at].rsplit('\n').next().unwrap_or_default());
        self.copy(blank + 1);
        let rest = self.rest();
        let inner = indent(rest);
        if block {
            let deeper = |line: &&str| line.trim().is_empty() || indent(line) > own;
            let len: usize = rest.split_inclusive('\n').take_while(deeper).map(str::len).sum();
            let len = rest[..len].trim_end().len();
            self.copy(inner.min(len));
            if len > inner {
                self.redact(len - inner);
            }
            return;
        }
        self.copy(inner);
        let rest = self.rest();
        let assignment = Assignment {
            is_flag_or_constant: false,
            colon: false,
            compared: true,
            no_space: false,
        };
        let len = prefix_len(rest, |c| !c.is_whitespace());
        if rest.starts_with(['"', '\'', '`']) {
            self.literal(3, false);
        } else if matches!(rest[len..].chars().next(), None | Some('\n'))
            && !is_code(&rest[..len], None, &assignment)
        {
            self.redact(len);
        }
    }
}

/// The length of the bare word at the start of `text`, inside the quote `open`.
fn word_at(text: &str, open: Option<char>) -> usize {
    prefix_len(text, |c| !c.is_whitespace() && !matches!(c, '"' | '`' | '<') && Some(c) != open)
}

/// The next character after a word, if it indicates whether the word is code.
fn follower(after: &str) -> Option<char> {
    let next = after.trim_start_matches([' ', '\t']).chars().next();
    next.filter(|c| after.starts_with(*c) || "+-*/|&?<>=%".contains(*c))
}
