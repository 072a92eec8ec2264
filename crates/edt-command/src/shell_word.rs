//! The text between the expansions of a shell word: quotes, backslashes, and what only looks plain.

use super::shell_ast::Piece;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) pieces: Vec<Piece>,
    /// It has a quoted substitution.
    pub(super) hidden: bool,
    /// It has a substitution that is not quoted.
    pub(super) substitutes: bool,
    pub(super) unparsed: Vec<&'static str>,
}

impl Literal {
    pub(super) fn has_substitution(text: &str) -> bool {
        text.contains('`') || text.contains("$(") || text.contains("${")
    }

    /// Text outside quotes.
    pub(super) fn unquoted(text: &str) -> Literal {
        let mut literal = Literal::default();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match (c, chars.peek()) {
                ('\\', Some('\n')) => drop(chars.next()),
                ('\\', Some(_)) => literal.push(chars.next().unwrap_or_default(), true),
                ('`', _) | ('$', Some('(' | '{' | '\'' | '"')) => {
                    literal.unparsed.push("it has an expansion");
                    literal.push(c, false);
                }
                _ => literal.push(c, false),
            }
        }
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if text.strip_prefix('~').is_some_and(|user| user.starts_with(named)) {
            literal.unparsed.push("it names another user's home directory");
        }
        literal.hidden = Literal::has_substitution(text);
        literal
    }

    /// Text in double quotes, or of a here-document.
    pub(super) fn double_quoted(text: &str) -> Literal {
        let mut literal = Literal::default();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match (c, chars.peek()) {
                ('\\', Some('\n')) => drop(chars.next()),
                ('\\', Some('$' | '`' | '"' | '\\')) => {
                    let escaped = chars.next().unwrap_or_default();
                    literal.hidden |= matches!(escaped, '$' | '`');
                    literal.push(escaped, true);
                }
                _ => {
                    literal.substitutes |=
                        c == '`' || c == '$' && matches!(chars.peek(), Some('(' | '{'));
                    literal.push(c, true);
                }
            }
        }
        literal
    }

    /// The text of `$'…'`; `None` if it has an escape that is not of one letter.
    pub(super) fn ansi(text: &str) -> Option<String> {
        let inner = text.strip_prefix("$'")?.strip_suffix('\'')?;
        let (mut out, mut chars) = (String::new(), inner.chars());
        while let Some(c) = chars.next() {
            out.push(match (c, c == '\\') {
                (c, false) => c,
                _ => match chars.next()? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    c @ ('\\' | '\'' | '"') => c,
                    _ => return None,
                },
            });
        }
        (!Literal::has_substitution(&out)).then_some(out)
    }

    fn push(&mut self, c: char, is_quoted: bool) {
        match self.pieces.last_mut() {
            Some(Piece::Text { text, quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.pieces.push(Piece::Text { text: c.to_string(), quoted: is_quoted }),
        }
    }
}
