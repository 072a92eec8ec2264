//! The words of a script: quotes, expansions, and the substitutions that run before a command.

use std::ops::Range;

use tree_sitter::Node;

use super::builtin;
use super::shell::{Builder, MAX_DEPTH, Reader, all_children, read_nested};
use super::shell_ast::{Piece, ShellWord, SimpleCommand, Statement};
use super::shell_word::Literal;

impl Reader<'_> {
    /// An arithmetic command or a test: only the substitutions in it run.
    pub(super) fn expression(&mut self, node: Node<'_>) -> Statement {
        let mut builder = Builder::default();
        let word = self.word(node, &mut builder, false);
        if word.hidden {
            self.unparsed("a subscript may contain a substitution");
            let inner = self.read_text(&format!("echo \"{}\"", word.literal().replace('"', " ")));
            builder.before.extend(inner);
        }
        let text = self.of(node);
        if text.starts_with("((")
            && assigns(text)
            && text.contains(|c: char| c.is_ascii_uppercase())
        {
            self.unparsed("it has arithmetic that edt does not parse");
        }
        Statement::Group(builder.before)
    }

    /// Reads a word. The substitutions in it are statements before the command.
    pub(super) fn word(
        &mut self,
        node: Node<'_>,
        builder: &mut Builder,
        quoted: bool,
    ) -> ShellWord {
        self.depth += 1;
        let word = if self.depth > MAX_DEPTH {
            self.unparsed("it is nested too deeply");
            ShellWord::default()
        } else {
            self.word_of_kind(node, builder, quoted)
        };
        self.depth -= 1;
        word
    }

    fn word_of_kind(&mut self, node: Node<'_>, builder: &mut Builder, quoted: bool) -> ShellWord {
        let text = self.of(node);
        match node.kind() {
            "command_name" => {
                let child = node.named_child(0);
                child.map_or_else(ShellWord::default, |child| self.word(child, builder, quoted))
            }
            "raw_string" => {
                let inner = text.trim_start_matches('\'').trim_end_matches('\'');
                ShellWord { hidden: Literal::has_substitution(inner), ..ShellWord::plain(inner) }
            }
            "ansi_c_string" => Literal::ansi(text).map_or_else(
                || {
                    self.unparsed("it has an expansion");
                    unknown(text, true)
                },
                |inner| ShellWord::plain(&inner),
            ),
            "string" | "translated_string" => {
                let begin = node.start_byte() + 1 + usize::from(text.starts_with('$'));
                let mut word =
                    self.expanded(node, begin..node.end_byte().max(begin + 1) - 1, builder);
                word.pieces.push(Piece::Text { text: String::new(), quoted: true });
                word
            }
            "concatenation" | "array" | "command" | "test_command" | "compound_statement" => {
                self.joined(node, builder, quoted)
            }
            "simple_expansion" | "expansion" => self.expansion(node, builder, quoted),
            "command_substitution" | "process_substitution" => {
                self.substitution(node, builder, quoted)
            }
            "arithmetic_expansion" => {
                let inner = self.joined(node, builder, quoted);
                let plain =
                    inner.pieces.iter().all(|piece| !matches!(piece, Piece::Unknown { .. }));
                let odd = text.contains(['[', '\'', '"']) || assigns(text);
                if plain && !odd {
                    return ShellWord::plain("1");
                }
                if odd {
                    self.unparsed("it has arithmetic that edt does not parse");
                }
                ShellWord { hidden: inner.hidden, ..unknown(text, true) }
            }
            "brace_expression" if node.named_child_count() == 2 => {
                let inner = self.joined(node, builder, quoted);
                let plain = inner.pieces.iter().all(|one| matches!(one, Piece::Text { .. }));
                if plain { ShellWord::plain("1") } else { unknown(text, false) }
            }
            _ if node.named_child_count() > 0 => self.joined(node, builder, quoted),
            _ => self.literal(text, quoted),
        }
    }

    /// Plain text outside quotes.
    fn literal(&mut self, text: &str, quoted: bool) -> ShellWord {
        let literal = Literal::unquoted(text);
        literal.unparsed.into_iter().for_each(|why| self.unparsed(why));
        // No word has a line end; a comment that the grammar takes for one does.
        if !quoted && text.replace("\\\n", "").contains('\n') {
            self.unparsed("its syntax is not understood");
        }
        let mut pieces = literal.pieces;
        if quoted {
            pieces = vec![Piece::Text { text: text.to_owned(), quoted: true }];
        }
        ShellWord { pieces, hidden: literal.hidden, fetched: false }
    }

    /// All parts of a node one after another.
    fn joined(&mut self, node: Node<'_>, builder: &mut Builder, quoted: bool) -> ShellWord {
        let mut word = ShellWord::default();
        let opens = |child: &Node<'_>| !child.is_named() && child.kind().contains(['$', '`']);
        let named_only = node.kind() == "expansion";
        for child in all_children(node) {
            if opens(&child) || named_only && !child.is_named() {
                continue;
            }
            let statements =
                node.kind() == "test_command" && child.kind() == "redirected_statement";
            if statements || child.is_error() {
                self.unparsed("its syntax is not understood");
            }
            let part = self.word(child, builder, quoted);
            word.pieces.extend(part.pieces);
            word.hidden |= part.hidden;
            word.fetched |= part.fetched;
        }
        word
    }

    /// Text in double quotes, or of a here-document: expansions, and the text between them.
    pub(super) fn expanded(
        &mut self,
        node: Node<'_>,
        range: Range<usize>,
        builder: &mut Builder,
    ) -> ShellWord {
        let mut word = ShellWord::default();
        let mut at = range.start;
        let text = |reader: &mut Self, word: &mut ShellWord, builder: &mut Builder, part: &str| {
            let literal = Literal::double_quoted(part);
            word.hidden |= literal.hidden;
            word.pieces.extend(literal.pieces);
            if literal.substitutes {
                // The grammar does not see all of them in a here-document.
                let quoted = format!("echo \"{}\"", part.replace('"', " "));
                builder.before.push(Statement::Subshell(reader.read_text(&quoted)));
                word.pieces.push(Piece::Unknown { text: String::new(), quoted: true });
            }
        };
        for child in all_children(node) {
            let inner = matches!(
                child.kind(),
                "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion"
            );
            let inner = if child.kind() == "string" && node.kind() == "translated_string" {
                return self.word(child, builder, true);
            } else {
                inner
            };
            if !inner || child.start_byte() < at {
                continue;
            }
            let part = self.source(at..child.start_byte());
            text(self, &mut word, builder, part);
            at = child.end_byte();
            let inner = self.word(child, builder, true);
            word.hidden |= inner.hidden;
            word.fetched |= inner.fetched;
            word.pieces.extend(inner.pieces);
        }
        let part = self.source(at..range.end);
        text(self, &mut word, builder, part);
        word
    }

    fn expansion(&mut self, node: Node<'_>, builder: &mut Builder, quoted: bool) -> ShellWord {
        let text = self.of(node);
        let name = text.trim_start_matches(['$', '{']).trim_end_matches('}');
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match name {
            "?" | "#" | "$" | "!" => return ShellWord::plain("1"),
            _ if !name.is_empty() && name.chars().all(plain) => {
                let name = name.to_owned();
                let piece = if name.starts_with(|c: char| c.is_ascii_digit()) {
                    Piece::Unknown { text: text.to_owned(), quoted }
                } else {
                    Piece::Variable { name, quoted }
                };
                return ShellWord { pieces: vec![piece], ..ShellWord::default() };
            }
            _ => {}
        }
        let length = name.strip_prefix('#').is_some_and(|name| name.chars().all(plain));
        if length {
            return ShellWord::plain("1");
        }
        let inner = self.joined(node, builder, quoted);
        if inner.hidden {
            self.unparsed("a subscript may contain a substitution");
        }
        ShellWord { fetched: inner.fetched, ..unknown(text, quoted) }
    }

    fn substitution(&mut self, node: Node<'_>, builder: &mut Builder, quoted: bool) -> ShellWord {
        let text = self.of(node);
        let statements = if let Some(inner) = text.strip_prefix('`') {
            let inner = inner.strip_suffix('`').unwrap_or(inner);
            let inner = inner.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
            self.read_text(&inner)
        } else {
            let mut inner = Builder::default();
            let mut statements = Vec::new();
            for child in all_children(node).into_iter().filter(Node::is_named) {
                match child.kind() {
                    "file_redirect" => self.redirect(child, &mut inner),
                    "comment" => {}
                    _ => statements.push(self.statement(child)),
                }
            }
            statements.insert(0, inner.statement());
            statements
        };
        let fetched = fetches(&statements);
        let known = known_output(&statements);
        let is_process = node.kind() == "process_substitution";
        builder.before.push(Statement::Subshell(statements));
        let word = match known {
            _ if is_process => ShellWord::plain("/dev/fd/63"),
            Some(text) => {
                // The text that stands for a directory is one word.
                let directories = ["$PWD", "$(git rev-parse --show-toplevel)"];
                let quoted = quoted || directories.contains(&text.as_str());
                let pieces = vec![Piece::Text { text, quoted }];
                ShellWord { pieces, ..ShellWord::default() }
            }
            None => unknown(text, quoted),
        };
        ShellWord { fetched, ..word }
    }

    fn read_text(&mut self, text: &str) -> Vec<Statement> {
        if self.depth + 1 > MAX_DEPTH {
            self.unparsed("it is nested too deeply");
            return Vec::new();
        }
        let script = read_nested(text, self.depth + 1);
        script.unparsed.into_iter().for_each(|why| self.unparsed(why));
        script.statements
    }
}
/// Whether arithmetic assigns a variable.
fn assigns(text: &str) -> bool {
    let text =
        ["==", "<=", ">=", "!="].iter().fold(text.to_owned(), |text, op| text.replace(op, ""));
    text.contains('=') || text.contains("++") || text.contains("--")
}

fn unknown(text: &str, quoted: bool) -> ShellWord {
    let piece = Piece::Unknown { text: text.to_owned(), quoted };
    ShellWord { pieces: vec![piece], ..ShellWord::default() }
}

/// Whether a command in it fetches something.
pub(super) fn fetches(statements: &[Statement]) -> bool {
    let mut found = false;
    let mut visit = |command: &SimpleCommand| {
        found |= command.words.iter().take(6).any(|word| {
            let word = word.literal();
            builtin::is_named("programs-that-fetch", word.rsplit('/').next().unwrap_or_default())
        });
    };
    statements.iter().for_each(|one| one.each_command(&mut visit));
    found
}

/// What stands for the output of a command that prints a number, a hash, the directory, or a
/// here-document.
fn known_output(statements: &[Statement]) -> Option<String> {
    let mut commands: Vec<&SimpleCommand> = Vec::new();
    for statement in statements {
        statement.each_command(&mut |command| {
            if *command != SimpleCommand::default() {
                commands.push(command);
            }
        });
    }
    let [command] = commands.as_slice() else { return None };
    let words: Vec<String> = command.words.iter().map(ShellWord::literal).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_text = |piece: &Piece| matches!(piece, Piece::Text { .. });
    let output = match (words.as_slice(), &command.input) {
        (["cat"], Some(input)) if command.redirections.is_empty() => {
            let text = input.literal();
            return input
                .pieces
                .iter()
                .all(is_text)
                .then(|| text.trim_end_matches('\n').to_owned());
        }
        (["nproc"] | ["id", "-u" | "-g"] | ["date", "+%s"], None) => "1",
        (["git", "rev-parse", "HEAD"] | ["git", "rev-parse", "--short", "HEAD"], None) => "0123abc",
        (["uname"] | ["uname", "-s" | "-m" | "-r"], None) => "Linux",
        (["pwd"], None) => "$PWD",
        (["git", "rev-parse", "--show-toplevel"], None) => "$(git rev-parse --show-toplevel)",
        _ => return None,
    };
    Some(output.to_owned())
}
