//! A script of `sh -c`, read as far as it can be read: simple commands of plain words. What would have to be computed first is told,
//! so that it is asked about, and its text still stands in the words, so that what is forbidden is seen.

pub(super) use super::simple::{Script, Simple, Word};

/// Words that only lead to a command.
const KEYWORDS: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "{", "}", "fi", "done", "esac"];
/// Words of what is not read.
const UNREAD: [&str; 4] = ["case", "select", "function", "coproc"];
/// Words of a shell that decide by what they are given.
const TEST: &str = "[[";

/// How deep substitutions are followed.
const DEEPEST: usize = 8;

/// Reads a script.
pub(super) fn read(text: &str) -> Script {
    let chars: Vec<char> = text.chars().collect();
    let mut reader = Reader {
        chars: &chars,
        at: 0,
        depth: 0,
        script: Script::default(),
        now: Simple::default(),
        awaited: Vec::new(),
    };
    reader.script();
    reader.script
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
    script: Script,
    now: Simple,
    /// The here-documents that begin at the next line: how each ends, and whether its text is taken as it is.
    awaited: Vec<(String, bool)>,
}

impl Reader<'_> {
    fn script(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '&' | '|' | '(' | ')' | '<' | '>' | '!' if self.tests() => self.at += 1,
                '#' => self.at += self.chars[self.at..].iter().take_while(|c| **c != '\n').count(),
                '&' if self.peek(1) == Some('>') => {
                    self.at += 1;
                    self.redirect();
                }
                '\n' | ';' | '&' | '|' | ')' => self.end(),
                '(' => {
                    if !self.now.words.is_empty() {
                        self.doubt("it defines a function");
                    }
                    self.end();
                }
                '<' | '>' => self.redirect(),
                _ => {
                    let word = self.word();
                    let descriptor = !word.quoted && word.text.chars().all(|c| c.is_ascii_digit());
                    if !(descriptor && matches!(self.peek(0), Some('<' | '>'))) {
                        self.now.words.push(word);
                    }
                }
            }
        }
        self.end();
    }

    /// Whether it stands within `[[` and `]]`, where signs compare.
    fn tests(&self) -> bool {
        let is = |word: Option<&Word>, text: &str| {
            word.is_some_and(|word| word.text == text && !word.quoted)
        };
        is(self.now.words.iter().find(|word| !KEYWORDS.contains(&word.text.as_str())), TEST)
            && !is(self.now.words.last(), "]]")
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn doubt(&mut self, why: &'static str) {
        if !self.script.doubts.contains(&why) {
            self.script.doubts.push(why);
        }
    }

    /// Ends the simple command.
    fn end(&mut self) {
        if self.peek(0) == Some('\n') && !self.awaited.is_empty() {
            self.documents();
        }
        self.at += 1;
        let mut simple = std::mem::take(&mut self.now);
        while let Some(first) = simple.words.first().filter(|word| !word.quoted) {
            let (text, pattern) = (first.text.clone(), first.pattern);
            let next = |at: usize, what: &[&str]| {
                simple.words.get(at).is_some_and(|word| what.contains(&&*word.text))
            };
            if text == "for" && next(2, &["in"]) {
                simple.sets = Some(simple.words[1].text.clone());
                simple.words.clear();
                break;
            } else if UNREAD.contains(&text.as_str()) {
                self.doubt("it has a case, a selection or a function");
                if next(2, &["{"]) {
                    simple.words.remove(1);
                }
            } else if text == "for" {
                self.doubt("it has a loop over what cannot be seen");
            } else if text != "!"
                && !KEYWORDS.contains(&text.as_str())
                && !(text == "time" && next(1, &["{", "!"]))
            {
                if pattern {
                    self.doubt("a pattern stands where a program must");
                }
                break;
            }
            simple.words.remove(0);
        }
        if simple != Simple::default() {
            self.script.commands.push(simple);
        }
    }

    fn redirect(&mut self) {
        let operator: String =
            self.chars[self.at..].iter().take_while(|c| "<>&|".contains(**c)).collect();
        // `2>&1 | x` and `>&2` end where the number begins, `>|x` is one operator, `<(` and `>(` are processes.
        let operator = operator.trim_end_matches('|').to_owned()
            + if operator.starts_with(">|") { "|" } else { "" };
        self.at += operator.chars().count();
        if operator.starts_with("<<") && operator != "<<<" {
            let tabs = operator == "<<-" || self.peek(0) == Some('-');
            self.at += usize::from(self.peek(0) == Some('-'));
            while matches!(self.peek(0), Some(' ' | '\t')) {
                self.at += 1;
            }
            let ends = self.word();
            if tabs || self.depth > 0 {
                self.doubt("it has a here-document whose end is hard to tell");
            }
            self.awaited.push((ends.text, ends.quoted));
            return;
        }
        if self.peek(0) == Some('(') {
            if operator.contains('>') {
                self.doubt("it has a process substitution that is written to");
            }
            let end = self.closing(self.at + 1);
            self.within(self.at + 1, end);
            self.at = (end + 1).min(self.chars.len());
            self.now.words.push(Word {
                text: "/dev/fd/63".to_owned(),
                quoted: true,
                ..Word::default()
            });
            return;
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let target = self.word();
        let number =
            !target.text.is_empty() && target.text.chars().all(|c| c.is_ascii_digit() || c == '-');
        if operator.contains('>') && !(operator.ends_with('&') && number) {
            if target.text.is_empty() || target.pattern || target.unknown {
                self.doubt("it writes to a file whose name cannot be seen");
            }
            self.now.writes.push(target);
        } else if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
            self.doubt("it reaches the network");
        }
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        let (mut braces, mut begun) = (false, false);
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    self.at += 1;
                    word.quoted = true;
                    self.single(&mut word);
                }
                '"' => {
                    self.at += 1;
                    word.quoted = true;
                    self.double(&mut word);
                }
                '\\' if self.peek(1) == Some('\n') => {
                    self.at += 2;
                    continue;
                }
                '\\' => {
                    word.quoted = true;
                    word.text.extend(self.peek(1));
                    self.at += 2;
                }
                '$' | '`' => self.expansion(&mut word),
                '*' | '?' | '[' => {
                    word.pattern |= c != '[';
                    word.text.push(c);
                    self.at += 1;
                }
                '~' if !begun
                    && !matches!(
                        self.peek(1),
                        None | Some('/' | ' ' | '\t' | '\n' | ';' | '&' | '|' | ')')
                    ) =>
                {
                    self.doubt("it names another user's folder");
                    word.text.push(c);
                    self.at += 1;
                }
                _ => {
                    word.pattern |= c == ']' && word.text.contains('[');
                    braces |= c == '{' && self.peek(1) != Some('}');
                    if braces && (c == ',' || c == '.' && self.peek(1) == Some('.')) {
                        word.braces = true;
                        self.doubt("it has braces that become several words");
                    }
                    word.text.push(c);
                    self.at += 1;
                }
            }
            begun = true;
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            word.hidden |= c == '`' || c == '$' && self.peek(0) == Some('(');
            word.text.push(c);
        }
        self.doubt("a quote has no end");
    }

    fn double(&mut self, word: &mut Word) {
        while let Some(c) = self.peek(0) {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' if matches!(self.peek(1), Some('$' | '`' | '"' | '\\' | '\n')) => {
                    if let Some(c) = self.peek(1).filter(|c| *c != '\n') {
                        word.hidden |= matches!(c, '$' | '`');
                        word.text.push(c);
                    }
                    self.at += 2;
                }
                '$' if matches!(self.peek(1), Some('"' | '\'')) => {
                    word.text.push(c);
                    self.at += 1;
                }
                '$' | '`' => self.expansion(word),
                _ => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.doubt("a quote has no end");
    }

    /// What stands in place of something computed: its own text, and the commands of a substitution.
    fn expansion(&mut self, word: &mut Word) {
        let begun = self.at;
        if self.peek(0) == Some('`') {
            let length = self.chars[self.at + 1..].iter().take_while(|c| **c != '`').count();
            self.within(self.at + 1, self.at + 1 + length);
            self.at += length + 2;
        } else {
            match self.peek(1) {
                Some('(') if self.peek(2) == Some('(') => {
                    let end = self.closing(self.at + 2);
                    let sum: String =
                        self.chars[self.at + 3..end.max(self.at + 3)].iter().collect();
                    if sum.contains(['$', '`', '[', '='])
                        || self.chars.get(end.saturating_sub(1)) != Some(&')')
                    {
                        self.doubt("it has a sum that edt does not read");
                        self.within(self.at + 2, end);
                    }
                    self.at = end + 1;
                }
                Some('(') => {
                    let end = self.closing(self.at + 2);
                    self.within(self.at + 2, end);
                    self.at = end + 1;
                }
                Some('{') => {
                    let name = |c: &&char| c.is_alphanumeric() || **c == '_';
                    let length = self.chars[self.at + 2..].iter().take_while(name).count();
                    if self.peek(2 + length) != Some('}') {
                        self.doubt("it has an expansion");
                        let end = self.chars[self.at..].iter().position(|c| *c == '}');
                        self.within(
                            self.at + 2 + length,
                            end.map_or(self.chars.len(), |end| self.at + end),
                        );
                    }
                    self.at += self.chars[self.at..].iter().take_while(|c| **c != '}').count() + 1;
                }
                Some(c) if c.is_alphanumeric() || "_@*#?$!-".contains(c) => {
                    let name = |c: &&char| c.is_alphanumeric() || **c == '_';
                    let length = self.chars[self.at + 1..].iter().take_while(name).count();
                    self.at += 1 + length.max(1);
                }
                Some('\'' | '"') => {
                    self.doubt("it has an expansion");
                    self.at += 1;
                }
                _ => {
                    word.text.push('$');
                    self.at += 1;
                    return;
                }
            }
        }
        word.unknown |= !matches!(self.peek_back(begun), Some('?' | '#'));
        self.at = self.at.min(self.chars.len());
        word.text.extend(&self.chars[begun..self.at]);
    }

    /// The name of one sign of the expansion that began at `begun`.
    fn peek_back(&self, begun: usize) -> Option<char> {
        self.chars.get(begun + 1).copied().filter(|_| self.at == begun + 2)
    }

    /// Takes the here-documents out that begin at the next line.
    fn documents(&mut self) {
        for (ends, plain) in std::mem::take(&mut self.awaited) {
            let mut text = String::new();
            loop {
                let from = (self.at + 1).min(self.chars.len());
                let line: String = self.chars[from..].iter().take_while(|c| **c != '\n').collect();
                self.at = from + line.chars().count();
                if line == ends || line.trim_start_matches('\t') == ends {
                    break;
                }
                if self.at >= self.chars.len() {
                    self.doubt("a here-document has no end");
                    break;
                }
                text.push_str(&line);
                text.push('\n');
            }
            if !plain && text.contains(['$', '`']) {
                // As between double quotes: what stands there is computed, its commands run.
                let quoted: Vec<char> = text.replace('"', " ").chars().chain(['"']).collect();
                let (script, now) = (std::mem::take(&mut self.script), Simple::default());
                let mut inner = Reader {
                    chars: &quoted,
                    at: 0,
                    depth: self.depth + 1,
                    script,
                    now,
                    awaited: Vec::new(),
                };
                inner.double(&mut Word::default());
                self.script = inner.script;
            }
            self.now.input.get_or_insert_default().push_str(&text);
        }
    }

    /// Where the parenthesis opened just before `from` ends.
    fn closing(&self, from: usize) -> usize {
        let (mut depth, mut quote) = (1, None);
        for (at, &c) in self.chars.iter().enumerate().skip(from) {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.chars.len()
    }

    /// Reads a substitution: its commands run, too.
    fn within(&mut self, from: usize, to: usize) {
        if self.depth >= DEEPEST {
            return self.doubt("it is nested too deeply");
        }
        let chars = &self.chars[from.min(to)..to.min(self.chars.len())];
        let (script, now) = (std::mem::take(&mut self.script), Simple::default());
        let mut inner =
            Reader { chars, at: 0, depth: self.depth + 1, script, now, awaited: Vec::new() };
        inner.script();
        self.script = inner.script;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let script = read(text);
        script
            .commands
            .iter()
            .map(|one| {
                one.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
            })
            .collect()
    }

    #[test]
    fn plain_commands_are_read_without_a_doubt() {
        for (text, commands) in [
            ("git push -f", &["git push -f"][..]),
            ("a && b || c; d | e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]),
            ("'git'  \"pu\"sh \\-f", &["git push -f"]),
            ("(cd x && ls) # a word", &["cd x", "ls"]),
            ("echo 'a b' \"$\" '$(x)' \"\\$HOME\"", &["echo a b $ $(x) $HOME"]),
            ("make 2>&1 | tail -5", &["make", "tail -5"]),
            ("a=1 b='2 3' c", &["a=1 b=2 3 c"]),
            ("! grep x y", &["grep x y"]),
            ("find . -name '*.o' {} +", &["find . -name *.o {} +"]),
            ("git \\\n  push -f \\\n ", &["git push -f"]),
            ("cat > x <<'EOF'\nrm -rf /\nEOF\nls", &["cat", "ls"]),
            ("if [[ -f x && y > z ]]; then a; fi", &["[[ -f x y z ]]", "a"]),
            ("{ a; b; } | c; echo $?", &["a", "b", "c", "echo $?"]),
            ("for f in *.c; do a; done", &["", "a"]),
            ("diff <(sort a) b", &["sort a", "diff /dev/fd/63 b"]),
        ] {
            assert_eq!(
                (words(text), read(text).doubts),
                (commands.iter().map(ToString::to_string).collect(), vec![]),
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_and_still_searched() {
        for (text, command) in [
            ("echo $(git push -f)", "git push -f"),
            ("echo \"`git push -f`\"", "git push -f"),
            ("if true; then git push -f; fi", "git push -f"),
            ("for a in b; do git push -f; done", "git push -f"),
            ("f() { git push -f; }; f", "git push -f"),
            ("rm -rf $HOME", "rm -rf $HOME"),
            ("rm -rf \"${HOME}\"", "rm -rf ${HOME}"),
            ("echo $(echo $(git push -f) ) )", "git push -f"),
        ] {
            assert!(words(text).contains(&command.to_owned()), "{text}: {:?}", words(text));
        }
        for text in [
            "git pu{s,}h",
            "cat <<x\ny",
            "$'\\x67it' push",
            "'a",
            "g* push",
            "cat >(x)",
            "echo ~root",
            "x > $f",
        ] {
            assert!(!read(text).doubts.is_empty(), "{text}");
        }
    }

    #[test]
    fn redirections_are_told_apart() {
        let writes = |text: &str| {
            read(text)
                .commands
                .into_iter()
                .flat_map(|one| one.writes)
                .map(|word| word.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(writes("a > b 2>>c 2>&1 >&2 &>d >|e < f <<< g"), ["b", "c", "d", "e"]);
        assert_eq!(writes("a >& file; > x"), ["file", "x"]);
        assert_eq!(words("a 2 >b"), ["a 2"], "a number apart is an argument");
    }
}
