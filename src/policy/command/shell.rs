//! A script of `sh -c`, read as far as it can be read: simple commands of plain words. What would have to be computed first is told,
//! so that it is asked about, and its text still stands in the words, so that what is forbidden is seen.

/// What a script runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// Its simple commands, in order; those of substitutions come first.
    pub(super) commands: Vec<Simple>,
    /// Why it cannot be read wholly.
    pub(super) doubts: Vec<&'static str>,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words, leading assignments included.
    pub(super) words: Vec<Word>,
    /// The files that it writes by redirection.
    pub(super) writes: Vec<String>,
}

/// One word, its quotes taken off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether it begins with a pattern, so that names of files may take its place, such as `-rf`.
    pub(super) spreads: bool,
    /// Whether any of it is quoted: then it is no keyword.
    quoted: bool,
    /// Whether it is a pattern.
    pattern: bool,
}

/// Words that only lead to a command.
const KEYWORDS: [&str; 12] = ["if", "then", "elif", "else", "while", "until", "do", "{", "}", "fi", "done", "esac"];
/// Words of what is not read.
const UNREAD: [&str; 6] = ["for", "case", "select", "function", "coproc", "[["];

/// How deep substitutions are followed.
const DEEPEST: usize = 8;

/// Reads a script.
pub(super) fn read(text: &str) -> Script {
    let chars: Vec<char> = text.chars().collect();
    let mut reader = Reader { chars: &chars, at: 0, depth: 0, script: Script::default(), now: Simple::default() };
    reader.script();
    reader.script
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
    script: Script,
    now: Simple,
}

impl Reader<'_> {
    fn script(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
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
        self.at += 1;
        let mut simple = std::mem::take(&mut self.now);
        while let Some(first) = simple.words.first().filter(|word| !word.quoted) {
            let (text, pattern) = (first.text.clone(), first.pattern);
            if UNREAD.contains(&text.as_str()) {
                self.doubt("it has a loop, a case or a function");
            } else if KEYWORDS.contains(&text.as_str()) {
                self.doubt("what it runs depends on a condition");
            } else if text != "!" {
                if pattern {
                    self.doubt("a pattern stands where a program must");
                }
                break;
            }
            simple.words.remove(0);
        }
        if !simple.words.is_empty() || !simple.writes.is_empty() {
            self.script.commands.push(simple);
        }
    }

    fn redirect(&mut self) {
        let operator: String = self.chars[self.at..].iter().take_while(|c| "<>&|".contains(**c)).collect();
        // `2>&1 | x` and `>&2` end where the number begins, `>|x` is one operator, `<(` and `>(` are processes.
        let operator = operator.trim_end_matches('|').to_owned() + if operator.starts_with(">|") { "|" } else { "" };
        self.at += operator.chars().count();
        if operator.starts_with("<<") && operator != "<<<" {
            self.doubt("it has a here-document");
            return;
        }
        if self.peek(0) == Some('(') {
            self.doubt("it has a process substitution");
            return;
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let target = self.word();
        let number = !target.text.is_empty() && target.text.chars().all(|c| c.is_ascii_digit() || c == '-');
        if operator.contains('>') && !(operator.ends_with('&') && number) {
            if target.text.is_empty() || target.pattern {
                self.doubt("it writes to a file whose name cannot be seen");
            }
            self.now.writes.push(target.text);
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
                '\\' => {
                    self.at += 1;
                    word.quoted = true;
                    match self.peek(0) {
                        Some('\n') | None => {}
                        Some(c) => word.text.push(c),
                    }
                    self.at += 1;
                }
                '$' | '`' => self.expansion(&mut word),
                '*' | '?' | '[' => {
                    word.spreads |= word.text.is_empty();
                    word.pattern = word.pattern || c != '[' || !word.text.is_empty();
                    word.text.push(c);
                    self.at += 1;
                }
                '~' if !begun
                    && !matches!(self.peek(1), None | Some('/' | ' ' | '\t' | '\n' | ';' | '&' | '|' | ')')) =>
                {
                    self.doubt("it names another user's folder");
                    word.text.push(c);
                    self.at += 1;
                }
                _ => {
                    braces |= c == '{' && self.peek(1) != Some('}');
                    if braces && (c == ',' || c == '.' && self.peek(1) == Some('.')) {
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
                Some('(') => {
                    let end = self.closing(self.at + 2);
                    self.within(self.at + 2, end);
                    self.at = end + 1;
                }
                Some('{') => {
                    self.at += self.chars[self.at..].iter().take_while(|c| **c != '}').count() + 1;
                }
                Some(c) if c.is_alphanumeric() || "_@*#?$!-".contains(c) => {
                    let name = |c: &&char| c.is_alphanumeric() || **c == '_';
                    let length = self.chars[self.at + 1..].iter().take_while(name).count();
                    self.at += 1 + length.max(1);
                }
                Some('\'' | '"') => self.at += 1,
                _ => {
                    word.text.push('$');
                    self.at += 1;
                    return;
                }
            }
        }
        self.doubt("it has an expansion");
        self.at = self.at.min(self.chars.len());
        word.text.extend(&self.chars[begun..self.at]);
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
        let mut inner = Reader { chars, at: 0, depth: self.depth + 1, script, now };
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
            .map(|one| one.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
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
            assert!(
                words(text).contains(&command.to_owned()) && !read(text).doubts.is_empty(),
                "{text}: {:?}",
                words(text)
            );
        }
        for text in
            ["git pu{s,}h", "cat <<x\nx", "$'\\x67it' push", "'a", "g* push", "cat <(x)", "echo ~root", "x > $f"]
        {
            assert!(!read(text).doubts.is_empty(), "{text}");
        }
    }

    #[test]
    fn redirections_are_told_apart() {
        let writes = |text: &str| read(text).commands.into_iter().flat_map(|one| one.writes).collect::<Vec<_>>();
        assert_eq!(writes("a > b 2>>c 2>&1 >&2 &>d >|e < f <<< g"), ["b", "c", "d", "e"]);
        assert_eq!(writes("a >& file; > x"), ["file", "x"]);
        assert_eq!(words("a 2 >b"), ["a 2"], "a number apart is an argument");
    }
}
