//! The values that names, addresses and flags give away, taken out in one walk over the text.

use super::names::{Given, LEADS, is_code, names_a_secret, run};
use super::scrub::{SECRET, head};

/// Words after which a credential stands.
const SCHEMES: &[&str] = &["bearer", "basic"];

/// Programs that take a password right behind `-p`.
const CLIENTS: &[&str] = &["mysql", "mariadb", "sshpass", "mongo"];

/// A bare value is judged by so many bytes.
const NEAR: usize = 512;

/// Without the values that names, addresses and flags give away.
pub(super) fn without_values(text: &str) -> String {
    let mut walk = Walk {
        text,
        out: String::with_capacity(text.len()),
        at: 0,
        open: None,
        armed: None,
        client: false,
    };
    while let Some(c) = walk.rest().chars().next() {
        walk.step(c);
    }
    walk.out
}

/// A walk over a text, line by line, which never goes back.
struct Walk<'t> {
    text: &'t str,
    out: String,
    at: usize,
    /// The quote in which it stands.
    open: Option<char>,
    /// Literals are a secret's value, until this many brackets are closed again.
    armed: Option<usize>,
    /// The line begins a program that takes a password right behind `-p`.
    client: bool,
}

impl<'t> Walk<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next `len` bytes stay.
    fn keep(&mut self, len: usize) {
        self.out.push_str(&self.rest()[..len]);
        self.at += len;
    }

    /// The next `len` bytes go.
    fn lose(&mut self, len: usize) {
        self.out.push_str(SECRET);
        self.at += len;
    }

    fn step(&mut self, c: char) {
        let rest = self.rest();
        let word = run(rest, |c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if word > 0 {
            return self.word(&rest[..word]);
        }
        if rest.starts_with("://") {
            self.keep(3);
            return self.address();
        }
        if matches!(c, '"' | '`' | '\'') {
            return self.quote(c);
        }
        match (c, self.armed) {
            ('\n', _) => (self.armed, self.open, self.client) = (None, None, false),
            _ if self.open.is_some() => {}
            ('(' | '[' | '{', Some(depth)) => self.armed = Some(depth + 1),
            (')' | ']' | '}', Some(depth)) => self.armed = depth.checked_sub(1),
            (',' | ';', Some(0)) => self.armed = None,
            _ => {}
        }
        self.keep(c.len_utf8());
    }

    /// A quote: it begins or ends a literal, or is an apostrophe.
    fn quote(&mut self, c: char) {
        let before = self.text[..self.at].chars().next_back().unwrap_or(' ');
        let apostrophe = c == '\'' && (before.is_alphanumeric() || matches!(before, '&' | '<'));
        match self.open {
            Some(open) if open == c && before != '\\' => self.open = None,
            None if self.armed.is_some() && !apostrophe => return self.literal(3, false),
            None if !apostrophe => self.open = Some(c),
            _ => {}
        }
        self.keep(1);
    }

    /// Takes what stands in the quotes that begin here, if it has `least` bytes or more and, where `odd`, is more than a short word.
    fn literal(&mut self, least: usize, odd: bool) {
        let rest = self.rest();
        let slashes = run(rest, |c| c == '\\');
        let Some(c) = rest[slashes..].chars().next() else { return };
        let three = [c; 3].iter().collect::<String>();
        if rest.starts_with(&three) {
            let body = &rest[3..];
            let len = head(body, 4096).find(&three).unwrap_or_else(|| run(body, |c| c != '\n'));
            self.keep(3);
            self.lose(len);
            let end = if self.rest().starts_with(&three) { 3 } else { 0 };
            return self.keep(end);
        }
        self.keep(slashes + 1);
        let body = self.rest();
        let mut escapes = 0;
        let len = run(body, |next| {
            let ends = next == '\n'
                || next == c && if slashes == 0 { escapes % 2 == 0 } else { escapes <= slashes };
            escapes = if next == '\\' { escapes + 1 } else { 0 };
            !ends
        });
        // The closing quote has the slashes of the opening one.
        let trailing = len - body[..len].trim_end_matches('\\').len();
        let len = len - if body[len..].starts_with(c) { slashes.min(trailing) } else { 0 };
        let chars = || body[..len].chars();
        let plain = odd && len < 8 && !chars().any(|c| c.is_ascii_digit());
        if len < least || plain {
            self.keep(len);
        } else {
            self.lose(len);
        }
        let close = run(self.rest(), |next| next == '\\');
        let end = self.rest()[close..].starts_with(c);
        self.keep(if end { close + 1 } else { 0 });
    }

    /// A word: perhaps the name of a secret, or a flag that is followed by one.
    fn word(&mut self, word: &str) {
        if self.client
            && word.starts_with("-p")
            && (word.len() > 2 || self.rest()[2..].starts_with(['"', '\'']))
        {
            self.keep(2);
            let len = run(self.rest(), |c| !c.is_whitespace());
            return self.lose(len);
        }
        self.client |= CLIENTS.iter().any(|name| word.starts_with(name));
        self.keep(word.len());
        let rest = self.rest();
        if word == "--user" || word == "--proxy-user" || word.starts_with("-u") {
            let rest = head(rest, NEAR);
            let user = run(rest, |c| matches!(c, ' ' | '\t' | '=' | '"' | '\''));
            let user = user + run(&rest[user..], |c| !c.is_whitespace() && c != ':');
            let secret = run(&rest[user..], |c| !c.is_whitespace() && !matches!(c, '"' | '\''));
            if rest[user..].starts_with(':')
                && !rest[user + 1..user + secret].bytes().all(|b| b.is_ascii_digit())
            {
                self.keep(user + 1);
                return self.lose(secret - 1);
            }
        }
        if SCHEMES.contains(&word.to_ascii_lowercase().as_str()) && rest.starts_with(' ') {
            let len = run(&rest[1..], |c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`'));
            if rest[1..=len].bytes().any(|b| b.is_ascii_digit() || b == b'=') && len >= 6 {
                self.keep(1);
                self.lose(len);
            }
        } else if names_a_secret(word) {
            self.named(word);
        }
    }

    /// What stands before the `@` of an address.
    fn address(&mut self) {
        let all = run(head(self.rest(), NEAR), |c| {
            !c.is_whitespace() && !matches!(c, '"' | '\'' | '`' | '<' | '>')
        });
        let (all, host) =
            (&self.rest()[..all], run(&self.rest()[..all], |c| !matches!(c, '/' | '?' | '#')));
        let port = all[..host]
            .rsplit_once(':')
            .is_none_or(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let near = if port { &all[..host] } else { all };
        if let Some(len) = near.rfind('@').or_else(|| all[..host].rfind('@')) {
            self.lose(len);
        }
    }

    /// What stands behind the name of a secret.
    fn named(&mut self, name: &str) {
        let rest = self.rest();
        let closing = run(rest, |c| matches!(c, '"' | '\'' | '`' | '\\' | ']'));
        let spaces = run(&rest[closing..], |c| matches!(c, ' ' | '\t'));
        let after = &rest[closing + spaces..];
        let sign = &after
            [..run(after, |c| matches!(c, '=' | ':' | '!' | '?' | '~' | '+' | '|' | '>' | '*'))];
        let element = sign == ">" && self.text[..self.at - name.len()].ends_with('<');
        // A flag, a header's name or a constant is no variable.
        let loud = name.contains('-') || !name.contains(char::is_lowercase);
        if !rest[..closing].contains('\\') && rest[..closing].chars().any(|c| Some(c) == self.open)
        {
            self.open = None;
        }
        if element || sign != "::" && sign.contains(['=', ':']) {
            let behind = run(&after[sign.len()..], |c| matches!(c, ' ' | '\t'));
            let compared = matches!(sign, "==" | "===" | "!=" | "!==" | "=~");
            self.keep(closing + spaces + sign.len() + behind);
            self.armed = Some(0);
            self.assigned(&Given {
                loud: loud || element,
                colon: !sign.contains('='),
                compared,
                glued: behind == 0,
            });
        } else if closing == 0 && spaces == 0 && after.starts_with('(') {
            self.armed = Some(0);
        } else if closing == 0 && spaces > 0 {
            let flag = name.starts_with('-') && !after.starts_with('-');
            let len = word_at(head(after, NEAR), self.open);
            let (bare, next) = (&after[..len], after[len..].chars().next());
            if after.starts_with(['"', '\'', '`']) && self.open != after.chars().next() {
                self.keep(spaces);
                self.literal(3, !loud);
            } else if !is_code(
                bare,
                next,
                &Given { loud: flag, colon: false, compared: !flag, glued: false },
            ) && (flag || len >= 6 && !bare.contains(['(', '.', '[']))
            {
                self.keep(spaces);
                self.lose(len);
            }
        }
    }

    /// The value of a name that stands before a sign.
    fn assigned(&mut self, given: &Given) {
        let rest = self.rest();
        let blank =
            run(rest, |c| matches!(c, ' ' | '\t' | '(' | '[' | '\\' | '|' | '>' | '-' | '+'));
        if rest[blank..].starts_with('\n') {
            return self.below(blank, rest.starts_with(['|', '>']));
        }
        let slashes = run(rest, |c| c == '\\');
        let prefix = run(rest, |c| c.is_ascii_alphabetic() || c == '#' || c == '@' || c == '$');
        let start =
            if prefix <= 3 && rest[prefix..].starts_with(['"', '\'']) { prefix } else { slashes };
        if let Some(quote) = rest[start..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))
        {
            let inner = rest[start + 1..].chars().next();
            let closes = inner.is_none_or(|c| {
                c.is_whitespace() || matches!(c, ',' | ')' | ';' | '+' | '.' | ']' | '}')
            });
            if slashes > 0 || self.open != Some(quote) || !closes {
                self.keep(start - slashes);
                self.open = self.open.filter(|open| slashes > 0 || *open != quote);
                self.literal(3, false);
            }
            return;
        }
        let near = &rest[..word_at(head(rest, NEAR), self.open)];
        let lead = run(near, |c| LEADS.contains(&c));
        let judged = lead + run(&near[lead..], |c| !matches!(c, ',' | ';' | ')' | ']' | '}' | '&'));
        let after = &rest[judged..];
        let past = after.trim_start_matches([')', ']', '}']);
        let sticks = past.len() < after.len() && past.starts_with(|c: char| c.is_alphanumeric());
        if judged == 0 || !sticks && is_code(&rest[..judged], follower(after), given) {
            return;
        }
        // A passphrase has several words: behind a colon the whole line is it.
        let open = self.open;
        let line = |c: char| !matches!(c, '\n' | '\t' | '"' | '`') && Some(c) != open;
        let all = if given.colon { run(rest, line) } else { word_at(rest, open) };
        let all = rest[..all].trim_end_matches([' ', '\t', ')', ']', '}', ',', ';']).len();
        self.armed = None;
        self.lose(all);
    }

    /// A value that begins on the line below: a block, a literal, or a word that is none of code's.
    fn below(&mut self, blank: usize, block: bool) {
        let indent = |line: &str| run(line, |c| matches!(c, ' ' | '\t'));
        let own = indent(self.text[..self.at].rsplit('\n').next().unwrap_or_default());
        self.keep(blank + 1);
        let rest = self.rest();
        let inner = indent(rest);
        if block {
            let deeper = |line: &&str| line.trim().is_empty() || indent(line) > own;
            let len: usize = rest.split_inclusive('\n').take_while(deeper).map(str::len).sum();
            let len = rest[..len].trim_end().len();
            self.keep(inner.min(len));
            if len > inner {
                self.lose(len - inner);
            }
            return;
        }
        self.keep(inner);
        let rest = self.rest();
        let given = Given { loud: false, colon: false, compared: true, glued: false };
        let len = run(rest, |c| !c.is_whitespace());
        if rest.starts_with(['"', '\'', '`']) {
            self.literal(3, false);
        } else if matches!(rest[len..].chars().next(), None | Some('\n'))
            && !is_code(&rest[..len], None, &given)
        {
            self.lose(len);
        }
    }
}

/// How long the bare word is with which `text` begins, inside of the quote `open`.
fn word_at(text: &str, open: Option<char>) -> usize {
    run(text, |c| !c.is_whitespace() && !matches!(c, '"' | '`' | '<') && Some(c) != open)
}

/// What comes after a word, if that says what the word is.
fn follower(after: &str) -> Option<char> {
    let next = after.trim_start_matches([' ', '\t']).chars().next();
    next.filter(|c| after.starts_with(*c) || "+-*/|&?<>=%".contains(*c))
}
