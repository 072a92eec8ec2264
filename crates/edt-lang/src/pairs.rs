//! Reads the brackets of a text without a grammar, and what its strings and comments leave open.

use super::brackets::Bracket;
use super::families::{Escape, Family, Quote, Reach, Reads};

/// The brackets outside strings and comments. A quote, or the first byte of a comment, is among
/// them if its end is missing. `None` if the brackets of the family are not read.
#[must_use]
pub fn family_brackets(family: &Family, text: &[u8]) -> Option<Vec<Bracket>> {
    let mut reader = Reader::new(family, text)?;
    while let Some(&byte) = text.get(reader.at) {
        reader.step(byte);
    }
    reader.found.extend(reader.inner.iter().map(|inner| inner.begin));
    Some(reader.found)
}

/// Whether a byte is outside strings and comments. `false` if the brackets of the family are not read.
#[must_use]
pub fn is_code(family: &Family, text: &[u8], at: usize) -> bool {
    let Some(mut reader) = Reader::new(family, text) else { return false };
    while let Some(&byte) = text.get(reader.at).filter(|_| reader.at < at) {
        reader.step(byte);
    }
    reader.at == at
}

struct Reader<'t> {
    family: &'t Family,
    text: &'t [u8],
    at: usize,
    found: Vec<Bracket>,
    /// The strings in whose code the reader is, the innermost last.
    inner: Vec<Inner<'t>>,
    /// The ends of the here documents that begin below this line.
    names: Vec<&'t [u8]>,
    /// Whether a literal with brackets of its own had no end: then none is looked for again.
    endless: bool,
}

/// The most bytes of a pattern.
const LONGEST: usize = 1000;

/// Code in a string.
struct Inner<'t> {
    quote: &'t Quote,
    begin: Bracket,
    /// How many brackets are open in it.
    depth: usize,
}

impl<'t> Reader<'t> {
    fn new(family: &'t Family, text: &'t [u8]) -> Option<Reader<'t>> {
        if family.reads != Reads::Pairs {
            return None;
        }
        // A file of PHP begins with markup.
        let markup = family.block_comments.iter().any(|(open, _)| *open == "?>");
        let begins = || memchr::memmem::find(text, b"<?").unwrap_or(text.len());
        let at = if markup { begins() } else { 0 };
        let (found, inner, names) = (Vec::new(), Vec::new(), Vec::new());
        Some(Reader { family, text, at, found, inner, names, endless: false })
    }

    fn step(&mut self, byte: u8) {
        if byte == b'\n' && !self.names.is_empty() {
            return self.skip_documents();
        }
        if self.comment(byte) || self.here() || self.sigil(byte) || self.pattern(byte) {
            return;
        }
        let opens = |quote: &&Quote| self.rest().starts_with(quote.open.as_bytes());
        if let Some(quote) = self.family.strings.iter().find(opens)
            && !(quote.open.as_bytes()[0].is_ascii_alphabetic() && self.follows_word())
        {
            let begin = Bracket { at: self.at, byte: quote.close.as_bytes()[0] };
            self.at += quote.open.len();
            return self.string(quote, begin);
        }
        match byte {
            b'(' | b'[' | b'{' => {
                self.inner.iter_mut().last().into_iter().for_each(|inner| inner.depth += 1);
            }
            b')' | b']' | b'}' => match self.inner.pop() {
                Some(inner) if inner.depth == 0 => {
                    self.at += 1;
                    return self.string(inner.quote, inner.begin);
                }
                Some(inner) => self.inner.push(Inner { depth: inner.depth - 1, ..inner }),
                None => {}
            },
            _ => {
                self.at += 1;
                return;
            }
        }
        self.found.push(Bracket { at: self.at, byte });
        self.at += 1;
    }

    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The byte `back` bytes before this one.
    fn before(&self, back: usize) -> Option<u8> {
        self.at.checked_sub(back).map(|at| self.text[at])
    }

    fn follows_word(&self) -> bool {
        self.before(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// Moves past a comment, if one begins here.
    fn comment(&mut self, byte: u8) -> bool {
        let rest = self.rest();
        let opens = |(open, _): &&(&str, &str)| rest.starts_with(open.as_bytes());
        if let Some((open, close)) = self.family.block_comments.iter().find(opens) {
            let begin = Bracket { at: self.at, byte };
            let mut depth = 1;
            self.at += open.len();
            while depth > 0 {
                let rest = self.rest();
                if rest.is_empty() {
                    // PHP may end without its last mark.
                    if *open != "?>" {
                        self.found.push(begin);
                    }
                    break;
                }
                if rest.starts_with(close.as_bytes()) {
                    depth -= 1;
                    self.at += close.len();
                } else if self.family.nested && rest.starts_with(open.as_bytes()) {
                    depth += 1;
                    self.at += open.len();
                } else {
                    self.at += 1;
                }
            }
            return true;
        }
        let php = self.family.block_comments.iter().any(|(open, _)| *open == "?>");
        let opens = |mark: &str| {
            // `#[A]` is an attribute of PHP.
            let own = mark != "#"
                || !(php && rest.get(1) == Some(&b'['))
                    && self.before(1).is_none_or(|byte| !byte.is_ascii_alphanumeric());
            own && rest.starts_with(mark.as_bytes())
        };
        if !self.family.line_comments.iter().any(|mark| opens(mark)) {
            return false;
        }
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let end = memchr::memmem::find(line, b"?>").filter(|_| php);
        self.at += end.unwrap_or(line.len());
        true
    }

    /// Moves past a string, from behind its beginning or behind code in it.
    fn string(&mut self, quote: &'t Quote, begin: Bracket) {
        let start = self.at;
        let (close, escape) = (quote.close.as_bytes(), quote.escape);
        if quote.reach == Reach::Nothing {
            return;
        }
        if quote.reach == Reach::Character {
            let length = character(self.rest());
            self.at += length.map_or(0, |length| length + 1);
            return;
        }
        loop {
            let rest = self.rest();
            let Some(&byte) = rest.first() else { return self.found.push(begin) };
            if let Some(code) = quote.code
                && rest.starts_with(code.as_bytes())
            {
                self.at += code.len();
                // `{{` is a brace.
                if code == "{" && rest.get(1) == Some(&b'{') {
                    self.at += 1;
                    continue;
                }
                return self.inner.push(Inner { quote, begin, depth: 0 });
            }
            if rest.starts_with(close) {
                self.at += close.len();
                // The last of four quotes ends a string of three.
                while close.len() == 3 && self.rest().first() == Some(&close[0]) && start < self.at
                {
                    self.at += 1;
                }
                if escape != Escape::Double || !self.rest().starts_with(close) {
                    return;
                }
            } else if byte == b'\n' && quote.reach == Reach::Line {
                return self.found.push(begin);
            } else if byte == b'\\' && escape == Escape::Backslash {
                self.at += 1 + usize::from(rest.len() > 1);
                continue;
            }
            self.at += 1;
        }
    }

    /// Notes the name of a here document, if one begins here.
    fn here(&mut self) -> bool {
        let Some(rest) =
            self.family.here.and_then(|here| self.rest().strip_prefix(here.as_bytes()))
        else {
            return false;
        };
        // PHP may have a blank before the name.
        let blank = usize::from(self.family.here == Some("<<<") && rest.starts_with(b" "));
        let marks = rest[blank..].iter().take_while(|byte| b"-~\"'`".contains(byte));
        let lead = blank + marks.count();
        let name = &rest[lead..];
        let length = name.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        // `a << "b"` appends, as does `a <<b`.
        let indented = rest.starts_with(b"-") || rest.starts_with(b"~");
        let capital = |byte: &u8| indented || byte.is_ascii_uppercase() || *byte == b'_';
        if length == 0 || !name.first().is_some_and(capital) {
            return false;
        }
        let name = &name[..length];
        let quoted = usize::from(b"\"'`".contains(rest.get(lead.wrapping_sub(1)).unwrap_or(&b' ')));
        self.at = self.text.len() - rest.len() + lead + length + quoted;
        self.names.push(name);
        true
    }

    /// Moves past the here documents that begin with the next line.
    fn skip_documents(&mut self) {
        for name in std::mem::take(&mut self.names) {
            let mut at = self.at;
            let ends = |line: &[u8]| {
                let rest = line.trim_ascii_start().strip_prefix(name);
                rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
            };
            loop {
                let Some(end) = memchr::memchr(b'\n', &self.text[at..]) else {
                    at = self.text.len();
                    break;
                };
                at += end + 1;
                if ends(self.text[at..].split(|&byte| byte == b'\n').next().unwrap_or_default()) {
                    break;
                }
            }
            let lead = self.text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.at = (at + lead + name.len()).min(self.text.len());
        }
    }

    /// Moves past a literal with delimiters of its own: `%w[a b]`, `~r/a/`.
    fn sigil(&mut self, byte: u8) -> bool {
        let rest = self.rest();
        let letter = rest.get(1).is_some_and(u8::is_ascii_alphabetic);
        let open = rest.get(1 + usize::from(letter)).copied().unwrap_or_default();
        let own = b"([{".contains(&open) || letter && b"</|!\"'".contains(&open);
        if self.family.sigil != Some(byte) || !own || self.follows_word() || self.endless {
            return false;
        }
        let close = match open {
            b'<' => b'>',
            open => super::brackets::partner(open),
        };
        let from = 2 + usize::from(letter);
        let (mut depth, mut length) = (1, from);
        while depth > 0 {
            let Some(&next) = rest.get(length) else {
                self.endless = true;
                // As code, its beginning has no partner.
                return false;
            };
            match next {
                b'\\' => length += 1,
                next if next == close => depth -= 1,
                next if next == open => depth += 1,
                b'\n' if !b"([{<".contains(&open) => return false,
                _ => {}
            }
            length += 1;
        }
        self.at += length;
        true
    }

    /// Moves past a pattern, `/a(/`, if one begins and ends in this line.
    fn pattern(&mut self, byte: u8) -> bool {
        if byte != b'/' || !self.family.patterns {
            return false;
        }
        let near = &self.text[self.at.saturating_sub(LONGEST)..self.at];
        let before = near.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let last = before.trim_ascii_end().last();
        let blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
        let rest = self.rest();
        let begins = last.is_none_or(|byte| b"(,=[!|&{;~?:".contains(byte))
            || blank(before.last()) && !blank(rest.get(1)) && rest.get(1) != Some(&b'=');
        if !begins {
            return false;
        }
        let (mut class, mut at) = (false, 1);
        loop {
            match rest.get(at).filter(|_| at < LONGEST) {
                None | Some(b'\n') => return false,
                Some(b'\\') => at += 1,
                // Code in it may have its end: `/#{a.join('/')}/`.
                Some(b'#') if rest.get(at + 1) == Some(&b'{') => {
                    let near = &rest[at..rest.len().min(at + LONGEST)];
                    at += memchr::memchr(b'}', near).unwrap_or(1);
                }
                Some(b'[') => class = true,
                Some(b']') => class = false,
                Some(b'/') if !class => {
                    self.at += at + 1;
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
    }
}

/// The length of the one character before a quote: `a`, `\n`, `\u{1f600}`.
fn character(rest: &[u8]) -> Option<usize> {
    const ESCAPED: usize = 12;
    let end = if rest.first() == Some(&b'\\') { 2 } else { 1 };
    let near = rest.get(end..rest.len().min(end + ESCAPED))?;
    let length = end + memchr::memchr(b'\'', near)?;
    let text = std::str::from_utf8(&rest[..length]).ok()?;
    let escaped = end == 2 && text[2..].chars().all(|c| c.is_alphanumeric() || "{}".contains(c));
    (escaped || text.chars().count() == 1 && text != "\n").then_some(length)
}

#[cfg(test)]
mod tests {
    use super::super::brackets::unmatched;
    use super::super::families::family_of;
    use super::*;

    /// What has no partner.
    fn alone(path: &str, text: &str) -> String {
        let family = family_of(&edt_types::RepoPath::parse(path.as_bytes()).unwrap()).unwrap();
        let found = family_brackets(family, text.as_bytes()).unwrap();
        unmatched(&found).iter().map(|bracket| char::from(bracket.byte)).collect()
    }

    #[test]
    fn strings_and_comments_of_each_family_hold_no_brackets() {
        for (path, text) in [
            ("a.kt", "/* { /* ( */ ) */ f(\"${g[\"(\"]} (\", '(', '\\'', \"\"\"\"(\"\"\"\") // ("),
            ("a.kt", "fun `a (b`() = 'x'\n"),
            ("a.swift", "f(\"\\(g(\")\")) (\", #\"a\"(\"#) // it's (\n\"\"\"\n ( \" (\n\"\"\"\n"),
            ("a.php", "( it's\n<?php\n#[A]\nf('a\n(', \"{$b[\"(\"]}(\"); // ( ?> ( <?php\n# (\n"),
            ("a.php", "<?php\n$a = <<< EOT\n it's (\n EOT;\nf();\n"),
            ("a.cs", "#region Don't (\nf(@\"\\\", $\"{a[\"(\"]}{{(\", '\"', '(', @\"\"\"(\");\n"),
            ("a.scala", "f[A](s\"${a(\")\")}(\", 'x') /* ( */\n"),
            ("a.dart", "f(r'\\', '${a['(']}', '''\n'(''');\n"),
            ("a.gradle", "a 'b(' , \"${c(\")\")}\" =~ /(\\//\n"),
            ("a.zig", "const a =\n    \\\\ it's (\n;\n"),
            ("a.tf", "a = \"${b[\"c\"]} (\" # (\nd = <<-EOT\n  it's (\n  EOT\n// (\n"),
            ("a.fs", "(* ( (* *) *) let f (a: 'b) = \"(\" // (\n"),
            ("a.rb", "a = %w[a' b]\nif b =~ /[/(]\\//\n# it's (\nc \"#{d[\"(\"]}(\"\n"),
            ("a.rb", "f(<<~A, <<-'B')\n it's (\nA\n \"(\nB\n=begin\n(\n=end\n"),
            ("a.rb", "a << \"It's\n (\"\nf <<-haml\n it's\nhaml\n"),
            ("a.rb", "a = %Q(\n it's (\n)\n)\nb =~ /#{c.join('/')}(/\n"),
            ("a.rb", "x = a / b / c[1]\ny = (a)/(b)\n"),
            ("a.graphql", "\"\"\"\n it's (\n\"\"\"\ntype A { a(b: C): D } # (\n"),
            ("a.ex", "a = ~r/[(\"]/\nb = \"#{c[\"(\"]}\"\n"),
            ("a.sql", "SELECT 'it''s (', \"a(\" -- (\n/* ( */;\n"),
            ("a.lua", "--[[ ( ]] a = [[ ( ]] .. '(' -- it's\n"),
            ("a.hs", "{- ( -} f' x = '(' : g x' -- (\n"),
            ("a.ml", "(* it's ( *) let f (x : 'a) = '(' ^ \"(\"\n"),
            ("CMakeLists.txt", "add(\"a(\nb\" -DA=\\\"b\\\") # (\n"),
        ] {
            assert_eq!(alone(path, text), "", "{path}: {text}");
        }
    }

    #[test]
    fn what_is_left_open_has_no_partner() {
        for (path, text, found) in [
            ("a.kt", "fun f() {\n  g(1\n}\n", "("),
            ("a.kt", "fun f() {\n  g(1))\n}\n", ")"),
            ("a.kt", "val a = \"b\nval c = 1\n", "\""),
            ("a.kt", "val a = \"${b(\"\n", "\"(\""),
            ("a.kt", "/* a\nval c = 1\n", "/"),
            ("a.swift", "struct S {\n", "{"),
            ("a.php", "<?php\nf('a);\n", "('"),
            ("a.rb", "a = [1, 2\n", "["),
            ("a.tf", "a \"b\" {\n  c = d)\n}\n", ")"),
            ("a.sql", "SELECT f(a;\n", "("),
        ] {
            assert_eq!(alone(path, text), found, "{path}: {text}");
        }
    }

    #[test]
    fn brackets_of_some_families_are_not_read() {
        let path = edt_types::RepoPath::parse(b"a.pl").unwrap();
        assert_eq!(family_brackets(family_of(&path).unwrap(), b"("), None);
    }
}
