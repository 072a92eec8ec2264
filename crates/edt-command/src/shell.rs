//! A parser for scripts of `sh -c`: simple commands of plain words. Whatever would have to be
//! expanded first is reported as unparsed, so that the user is asked. Its text stays in the words,
//! so that denied commands are still found.

pub(super) use super::shell_ast::{ShellScript, ShellWord, SimpleCommand};

/// The names of programs whose scripts have this language.
pub(super) const SHELLS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "ksh93", "yash", "hush", "posh"];

/// Keywords that precede a command.
const KEYWORDS: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "{", "}", "fi", "done", "esac"];
/// Keywords of constructs that are not parsed.
const UNREAD: [&str; 4] = ["case", "select", "function", "coproc"];
const TEST: &str = "[[";

/// How deeply nested substitutions are followed.
const MAX_DEPTH: usize = 8;

pub(super) fn read(text: &str) -> ShellScript {
    let chars: Vec<char> = text.chars().collect();
    let mut reader = Reader {
        chars: &chars,
        at: 0,
        depth: 0,
        script: ShellScript::default(),
        current: SimpleCommand::default(),
        pending_heredocs: Vec::new(),
    };
    reader.script();
    reader.script
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
    script: ShellScript,
    current: SimpleCommand,
    /// Here-documents that begin at the next line: the delimiter, and whether it is quoted.
    pending_heredocs: Vec<(String, bool)>,
}

impl Reader<'_> {
    fn script(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '&' | '|' | '(' | ')' | '<' | '>' | '!' if self.in_test_expression() => {
                    self.at += 1;
                }
                '#' => self.at += self.chars[self.at..].iter().take_while(|c| **c != '\n').count(),
                '&' if self.peek(1) == Some('>') => {
                    self.at += 1;
                    self.redirect();
                }
                '\n' | ';' | '&' | '|' | ')' => self.end(),
                '(' => {
                    if !self.current.words.is_empty() {
                        self.unparsed("it defines a function");
                    }
                    self.end();
                }
                '<' | '>' => self.redirect(),
                _ => {
                    let word = self.word();
                    let descriptor = !word.quoted && word.text.chars().all(|c| c.is_ascii_digit());
                    if !(descriptor && matches!(self.peek(0), Some('<' | '>'))) {
                        self.current.words.push(word);
                    }
                }
            }
        }
        self.end();
    }

    /// Whether the parser is between `[[` and `]]`, where `<`, `>`, `&` and `|` are operators of a
    /// test.
    fn in_test_expression(&self) -> bool {
        let is = |word: Option<&ShellWord>, text: &str| {
            word.is_some_and(|word| word.text == text && !word.quoted)
        };
        is(self.current.words.iter().find(|word| !KEYWORDS.contains(&word.text.as_str())), TEST)
            && !is(self.current.words.last(), "]]")
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn unparsed(&mut self, why: &'static str) {
        if !self.script.unparsed.contains(&why) {
            self.script.unparsed.push(why);
        }
    }

    /// Ends the simple command.
    fn end(&mut self) {
        if self.peek(0) == Some('\n') && !self.pending_heredocs.is_empty() {
            self.here_documents();
        }
        self.at += 1;
        let mut simple = std::mem::take(&mut self.current);
        while let Some(first) = simple.words.first().filter(|word| !word.quoted) {
            let (text, pattern) = (first.text.clone(), first.pattern);
            let next = |at: usize, what: &[&str]| {
                simple.words.get(at).is_some_and(|word| what.contains(&&*word.text))
            };
            if text == "for" && next(2, &["in"]) {
                simple.assigns = Some(simple.words[1].text.clone());
                simple.words.clear();
                break;
            } else if UNREAD.contains(&text.as_str()) {
                self.unparsed("it has a case, a selection or a function");
                if next(2, &["{"]) {
                    simple.words.remove(1);
                }
            } else if text == "for" {
                self.unparsed("it has a loop without a list");
            } else if text != "!"
                && !KEYWORDS.contains(&text.as_str())
                && !(text == "time" && next(1, &["{", "!"]))
            {
                if pattern {
                    self.unparsed("a pattern is used as the program name");
                }
                break;
            }
            simple.words.remove(0);
        }
        if simple != SimpleCommand::default() {
            self.script.commands.push(simple);
        }
    }

    fn redirect(&mut self) {
        let operator: String =
            self.chars[self.at..].iter().take_while(|c| "<>&|".contains(**c)).collect();
        // `2>&1 | x` and `>&2` end before the number; `>|x` is one operator; `<(` and `>(` start
        // processes.
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
                self.unparsed("it has a here-document whose end cannot be determined");
            }
            self.pending_heredocs.push((ends.text, ends.quoted));
            return;
        }
        if self.peek(0) == Some('(') {
            if operator.contains('>') {
                self.unparsed("it has a process substitution that is written to");
            }
            let end = self.closing_parenthesis(self.at + 1);
            self.substitution(self.at + 1, end);
            self.at = (end + 1).min(self.chars.len());
            self.current.words.push(ShellWord {
                text: "/dev/fd/63".to_owned(),
                quoted: true,
                ..ShellWord::default()
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
                self.unparsed("it writes to a file whose name is unknown before it runs");
            }
            self.current.redirections.push(target);
        } else if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
            self.unparsed("it reaches the network");
        }
    }

    fn word(&mut self) -> ShellWord {
        let mut word = ShellWord::default();
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
                    self.unparsed("it names another user's home directory");
                    word.text.push(c);
                    self.at += 1;
                }
                _ => {
                    word.pattern |= c == ']' && word.text.contains('[');
                    braces |= c == '{' && self.peek(1) != Some('}');
                    if braces && (c == ',' || c == '.' && self.peek(1) == Some('.')) {
                        word.braces = true;
                        self.unparsed("it has braces that become several words");
                    }
                    word.text.push(c);
                    self.at += 1;
                }
            }
            begun = true;
        }
        word
    }

    fn single(&mut self, word: &mut ShellWord) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            word.hidden |= c == '`' || c == '$' && self.peek(0) == Some('(');
            word.text.push(c);
        }
        self.unparsed("a quote is not closed");
    }

    fn double(&mut self, word: &mut ShellWord) {
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
        self.unparsed("a quote is not closed");
    }

    /// Parses an expansion: keeps its text, and reads the commands of a substitution.
    fn expansion(&mut self, word: &mut ShellWord) {
        let begun = self.at;
        if self.peek(0) == Some('`') {
            let length = self.chars[self.at + 1..].iter().take_while(|c| **c != '`').count();
            self.substitution(self.at + 1, self.at + 1 + length);
            self.at += length + 2;
        } else {
            match self.peek(1) {
                Some('(') if self.peek(2) == Some('(') => {
                    let end = self.closing_parenthesis(self.at + 2);
                    let sum: String =
                        self.chars[self.at + 3..end.max(self.at + 3)].iter().collect();
                    if sum.contains(['$', '`', '[', '='])
                        || self.chars.get(end.saturating_sub(1)) != Some(&')')
                    {
                        self.unparsed("it has arithmetic that edt does not parse");
                        self.substitution(self.at + 2, end);
                    }
                    self.at = end + 1;
                }
                Some('(') => {
                    let end = self.closing_parenthesis(self.at + 2);
                    self.substitution(self.at + 2, end);
                    self.at = end + 1;
                }
                Some('{') => {
                    let name = |c: &&char| c.is_alphanumeric() || **c == '_';
                    let length = self.chars[self.at + 2..].iter().take_while(name).count();
                    if self.peek(2 + length) != Some('}') {
                        self.unparsed("it has an expansion");
                        let end = self.chars[self.at..].iter().position(|c| *c == '}');
                        self.substitution(
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
                    self.unparsed("it has an expansion");
                    self.at += 1;
                }
                _ => {
                    word.text.push('$');
                    self.at += 1;
                    return;
                }
            }
        }
        word.unknown |= !matches!(self.special_parameter(begun), Some('?' | '#'));
        self.at = self.at.min(self.chars.len());
        word.text.extend(&self.chars[begun..self.at]);
    }

    /// The one-character parameter of the expansion that began at `begun`.
    fn special_parameter(&self, begun: usize) -> Option<char> {
        self.chars.get(begun + 1).copied().filter(|_| self.at == begun + 2)
    }

    /// Consumes the here-documents that begin at the next line.
    fn here_documents(&mut self) {
        for (ends, plain) in std::mem::take(&mut self.pending_heredocs) {
            let mut text = String::new();
            loop {
                let from = (self.at + 1).min(self.chars.len());
                let line: String = self.chars[from..].iter().take_while(|c| **c != '\n').collect();
                self.at = from + line.chars().count();
                if line == ends || line.trim_start_matches('\t') == ends {
                    break;
                }
                if self.at >= self.chars.len() {
                    self.unparsed("a here-document is not terminated");
                    break;
                }
                text.push_str(&line);
                text.push('\n');
            }
            if !plain && text.contains(['$', '`']) {
                // Expanded like text in double quotes: its substitutions run.
                let quoted: Vec<char> = text.replace('"', " ").chars().chain(['"']).collect();
                let (script, current) =
                    (std::mem::take(&mut self.script), SimpleCommand::default());
                let mut inner = Reader {
                    chars: &quoted,
                    at: 0,
                    depth: self.depth + 1,
                    script,
                    current,
                    pending_heredocs: Vec::new(),
                };
                inner.double(&mut ShellWord::default());
                self.script = inner.script;
            }
            self.current.input.get_or_insert_default().push_str(&text);
        }
    }

    /// The index of the parenthesis that closes the one just before `from`.
    fn closing_parenthesis(&self, from: usize) -> usize {
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

    /// Reads the commands of a substitution.
    fn substitution(&mut self, from: usize, to: usize) {
        if self.depth >= MAX_DEPTH {
            return self.unparsed("it is nested too deeply");
        }
        let chars = &self.chars[from.min(to)..to.min(self.chars.len())];
        let (script, current) = (std::mem::take(&mut self.script), SimpleCommand::default());
        let mut inner = Reader {
            chars,
            at: 0,
            depth: self.depth + 1,
            script,
            current,
            pending_heredocs: Vec::new(),
        };
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
    fn plain_commands_are_parsed_completely() {
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
                (words(text), read(text).unparsed),
                (commands.iter().map(ToString::to_string).collect(), vec![]),
                "{text}"
            );
        }
    }

    #[test]
    fn unparsed_constructs_are_reported_and_their_commands_found() {
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
            assert!(!read(text).unparsed.is_empty(), "{text}");
        }
    }

    #[test]
    fn redirections_to_files_are_distinguished_from_descriptors() {
        let redirections = |text: &str| {
            read(text)
                .commands
                .into_iter()
                .flat_map(|one| one.redirections)
                .map(|word| word.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(redirections("a > b 2>>c 2>&1 >&2 &>d >|e < f <<< g"), ["b", "c", "d", "e"]);
        assert_eq!(redirections("a >& file; > x"), ["file", "x"]);
        assert_eq!(words("a 2 >b"), ["a 2"], "a number before a space is an argument");
    }
}
