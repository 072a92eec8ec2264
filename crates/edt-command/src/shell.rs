//! Reads scripts of shells into statements, with the grammar of tree-sitter-bash. Whatever it does
//! not understand whole is reported as unparsed, so that the user is asked; the commands in it are
//! read nevertheless, so that denied ones are still found.

use std::ops::{ControlFlow, Range};
use std::rc::Rc;
use std::time::Duration;

use edt_io::clock::CpuLimit;
use tree_sitter::{Node, ParseOptions, ParseState, Parser};

use super::shell_ast::{Piece, ShellScript, ShellWord, SimpleCommand, Statement};

/// The names of programs whose scripts have this language.
pub(super) const SHELLS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "ksh93", "yash", "hush", "posh"];
/// How deeply statements and substitutions may be nested.
pub(super) const MAX_DEPTH: usize = 100;
/// The longest script that is read.
const MAX_LENGTH: usize = 1 << 18;
/// How long the processor may read a script.
const TIME_LIMIT: Duration = Duration::from_millis(500);

pub(super) fn read(text: &str) -> ShellScript {
    read_nested(text, 0)
}

pub(super) fn read_nested(text: &str, depth: usize) -> ShellScript {
    let mut reader = Reader { text, depth, unparsed: Vec::new() };
    let mut parser = Parser::new();
    let known = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
    let limit = CpuLimit::new(TIME_LIMIT);
    let mut stop = |_: &ParseState| {
        if limit.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut stop);
    let plain = without_plain_dollars(text);
    let mut chunk = |at: usize, _| plain.get(at..).unwrap_or_default();
    let is_short = known && text.len() <= MAX_LENGTH;
    let parsed =
        is_short.then(|| parser.parse_with_options(&mut chunk, None, Some(options))).flatten();
    let Some(tree) = parsed else {
        let why = "it is too long, or takes too long to read";
        return ShellScript { statements: Vec::new(), unparsed: vec![why] };
    };
    if tree.root_node().has_error() {
        reader.unparsed("its syntax is not understood");
    }
    let statements = reader.children(tree.root_node());
    ShellScript { statements, unparsed: reader.unparsed }
}

/// `text` with a point for each `$` that begins no expansion in any shell, which the grammar does not
/// know. Words are read from the text itself, where every byte has the same place.
fn without_plain_dollars(text: &str) -> Vec<u8> {
    let mut plain = text.as_bytes().to_vec();
    let mut at = 0;
    while let Some(byte) = plain.get(at) {
        let next = plain.get(at + 1);
        // An escaped byte, or the process id: `$$/` is no plain one.
        let is_pair = *byte == b'\\' || *byte == b'$' && next == Some(&b'$');
        if *byte == b'$' && next.is_none_or(|next| b" \t\n/,.%:)]|;&".contains(next)) {
            plain[at] = b'.';
        }
        at += if is_pair { 2 } else { 1 };
    }
    plain
}

pub(super) struct Reader<'a> {
    text: &'a str,
    pub(super) depth: usize,
    unparsed: Vec<&'static str>,
}

/// A command under construction: its words, and the substitutions that run before it.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) before: Vec<Statement>,
    command: SimpleCommand,
    /// Where the last word ended.
    end: Option<usize>,
    /// As `end`, or where the last redirection did.
    last: Option<usize>,
}

impl Builder {
    pub(super) fn statement(mut self) -> Statement {
        if self.before.is_empty() {
            return Statement::Command(self.command);
        }
        if self.command != SimpleCommand::default() {
            self.before.push(Statement::Command(self.command));
        }
        Statement::Group(self.before)
    }
}

/// The command that redirections after a list or a pipeline belong to.
fn last_command(statement: &mut Statement) -> Option<&mut SimpleCommand> {
    match statement {
        Statement::Command(command) => Some(command),
        Statement::List { right, .. } => last_command(right),
        Statement::Group(list) | Statement::Pipeline(list) => {
            list.last_mut().and_then(last_command)
        }
        _ => None,
    }
}

/// `a && b | c` is `a && { b | c; }`.
fn pipe_last(statement: Statement, next: Statement) -> Statement {
    match statement {
        Statement::List { left, and, right } => {
            Statement::List { left, and, right: Box::new(pipe_last(*right, next)) }
        }
        Statement::Group(mut list) if matches!(list.last(), Some(Statement::List { .. })) => {
            let last = list.pop().map(|last| pipe_last(last, next));
            list.extend(last);
            Statement::Group(list)
        }
        statement => Statement::Pipeline(vec![statement, next]),
    }
}

pub(super) fn all_children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

impl<'a> Reader<'a> {
    pub(super) fn source(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    pub(super) fn of(&self, node: Node<'_>) -> &'a str {
        self.source(node.byte_range())
    }

    pub(super) fn unparsed(&mut self, why: &'static str) {
        if !self.unparsed.contains(&why) {
            self.unparsed.push(why);
        }
    }

    fn children(&mut self, node: Node<'_>) -> Vec<Statement> {
        self.statements(all_children(node).into_iter().filter(Node::is_named))
    }

    fn statements<'t>(&mut self, nodes: impl Iterator<Item = Node<'t>>) -> Vec<Statement> {
        nodes.filter(|node| node.kind() != "comment").map(|node| self.statement(node)).collect()
    }

    pub(super) fn statement(&mut self, node: Node<'_>) -> Statement {
        self.depth += 1;
        let statement = if self.depth > MAX_DEPTH {
            self.unparsed("it is nested too deeply");
            Statement::Group(Vec::new())
        } else {
            self.statement_of_kind(node)
        };
        self.depth -= 1;
        statement
    }

    fn statement_of_kind(&mut self, node: Node<'_>) -> Statement {
        match node.kind() {
            "command"
            | "declaration_command"
            | "unset_command"
            | "variable_assignment"
            | "variable_assignments" => self.simple(node).statement(),
            "redirected_statement" => self.redirected(node),
            "compound_statement" | "test_command"
                if node.kind() == "test_command" || self.of(node).starts_with("((") =>
            {
                self.expression(node)
            }
            "compound_statement" | "do_group" | "else_clause" => {
                Statement::Group(self.children(node))
            }
            "negated_command" => Statement::Group(self.children(node)),
            "subshell" => Statement::Subshell(self.children(node)),
            "list" => self.list(node),
            "pipeline" => Statement::Pipeline(self.children(node)),
            "if_statement" | "elif_clause" => self.branches_of_if(node),
            "case_statement" => self.case(node),
            "while_statement" => Statement::Loop { variable: None, body: self.children(node) },
            "for_statement" => self.for_each(node),
            "c_style_for_statement" => {
                let mut builder = Builder::default();
                let body = node.child_by_field_name("body");
                for child in all_children(node) {
                    if child.is_named() && Some(child) != body {
                        self.word(child, &mut builder, false);
                    }
                }
                let body = body.map(|body| self.statement(body)).into_iter().collect();
                builder.before.push(Statement::Loop { variable: None, body });
                Statement::Group(builder.before)
            }
            "function_definition" => self.function(node),
            _ => {
                self.unparsed("its syntax is not understood");
                Statement::Group(self.children(node))
            }
        }
    }

    fn list(&mut self, node: Node<'_>) -> Statement {
        let nodes = all_children(node);
        let and = nodes.iter().any(|node| node.kind() == "&&");
        let parts = self.statements(nodes.into_iter().filter(Node::is_named));
        let joined =
            |left, right| Statement::List { left: Box::new(left), and, right: Box::new(right) };
        parts.into_iter().reduce(joined).unwrap_or(Statement::Group(Vec::new()))
    }

    fn branches_of_if(&mut self, node: Node<'_>) -> Statement {
        let named = all_children(node).into_iter().filter(Node::is_named);
        let (branches, own): (Vec<_>, Vec<_>) =
            named.partition(|node| matches!(node.kind(), "elif_clause" | "else_clause"));
        // The condition may run alone.
        let own = self.statements(own.into_iter());
        let others = branches.into_iter().map(|node| vec![self.statement(node)]);
        let mut all: Vec<Vec<Statement>> = others.collect();
        all.insert(0, own);
        let condition = (!all[0].is_empty()).then(|| all[0].remove(0));
        Statement::Group(condition.into_iter().chain([Statement::Branches(all)]).collect())
    }

    fn case(&mut self, node: Node<'_>) -> Statement {
        let (mut builder, mut branches) = (Builder::default(), Vec::new());
        for child in all_children(node).into_iter().filter(Node::is_named) {
            if child.kind() != "case_item" {
                self.word(child, &mut builder, false);
                continue;
            }
            let mut cursor = child.walk();
            let values: Vec<Node<'_>> =
                child.children_by_field_name("value", &mut cursor).collect();
            values.iter().for_each(|value| drop(self.word(*value, &mut builder, false)));
            let own = all_children(child).into_iter();
            let body = own.filter(|node| node.is_named() && !values.contains(node));
            branches.push(self.statements(body));
        }
        builder.before.push(Statement::Branches(branches));
        Statement::Group(builder.before)
    }

    fn for_each(&mut self, node: Node<'_>) -> Statement {
        let mut builder = Builder::default();
        let name = node.child_by_field_name("variable").map_or("", |name| self.of(name)).to_owned();
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        let mut words: Vec<ShellWord> =
            values.into_iter().map(|value| self.word(value, &mut builder, false)).collect();
        let is_list = all_children(node).iter().any(|node| node.kind() == "in");
        if !is_list || self.of(node).starts_with("select") {
            let text = "$@".to_owned();
            let unknown = Piece::Unknown { text, quoted: true };
            words.push(ShellWord { pieces: vec![unknown], ..ShellWord::default() });
        }
        let body = node.child_by_field_name("body");
        let body = body.map(|body| self.statement(body)).into_iter().collect();
        builder.before.push(Statement::Loop { variable: Some((name, words)), body });
        Statement::Group(builder.before)
    }

    fn function(&mut self, node: Node<'_>) -> Statement {
        let name = node.child_by_field_name("name").map_or("", |name| self.of(name)).to_owned();
        let named = all_children(node).into_iter().filter(Node::is_named).skip(1);
        let mut builder = Builder::default();
        let mut body = Vec::new();
        for child in named {
            match child.kind() {
                "file_redirect" | "herestring_redirect" => self.redirect(child, &mut builder),
                _ => body.push(self.statement(child)),
            }
        }
        body.insert(0, builder.statement());
        let text = node.child_by_field_name("body").map_or("", |body| self.of(body));
        let mut calls = 0;
        for statement in &body {
            statement.each_command(&mut |command| {
                let calls_itself = command.words.first().is_some_and(|word| word.literal() == name);
                calls += usize::from(calls_itself);
            });
        }
        let text = text.replace("&&", "").replace("||", "").replace(">&", "").replace("&>", "");
        let forks = text.contains(&format!("{name} &")) || text.contains(&format!("{name}&"));
        let multiplies = calls > 1 && text.contains(['&', '|']) || calls > 0 && forks;
        Statement::Function { name, body: Rc::new(body), multiplies }
    }

    fn redirected(&mut self, node: Node<'_>) -> Statement {
        let body = node.child_by_field_name("body");
        let is_simple = |body: &Node<'_>| matches!(body.kind(), "command" | "declaration_command");
        let mut builder = match body.filter(is_simple) {
            Some(body) => self.simple(body),
            None => Builder::default(),
        };
        let mut around = Vec::new();
        for child in all_children(node) {
            match child.kind() {
                _ if Some(child) == body || !child.is_named() => {}
                "heredoc_redirect" => self.here_document(child, &mut builder, &mut around),
                _ => self.redirect(child, &mut builder),
            }
        }
        let statement = match body.filter(|body| !is_simple(body)) {
            Some(body) => {
                let mut inner = self.statement(body);
                if matches!(body.kind(), "list" | "pipeline" | "negated_command")
                    && let Some(last) = last_command(&mut inner)
                {
                    let own = std::mem::take(&mut builder.command);
                    last.words.extend(own.words);
                    last.redirections.extend(own.redirections);
                    last.input = own.input;
                }
                Statement::Group(vec![builder.statement(), inner])
            }
            None => builder.statement(),
        };
        around.into_iter().fold(statement, |left, (operator, right)| match operator {
            "|" => pipe_last(left, right),
            _ => Statement::List {
                left: Box::new(left),
                and: operator == "&&",
                right: Box::new(right),
            },
        })
    }

    /// A here-document, and what follows its start on the same line.
    fn here_document(
        &mut self,
        node: Node<'_>,
        builder: &mut Builder,
        around: &mut Vec<(&'a str, Statement)>,
    ) {
        let children = all_children(node);
        let start = children.iter().find(|node| node.kind() == "heredoc_start");
        let quoted = start.is_some_and(|start| self.of(*start).contains(['\'', '"', '\\']));
        let end = children.iter().find(|node| node.kind() == "heredoc_end");
        let end = end.map_or("", |end| self.of(*end));
        let mut operator = "";
        let (mut ended, mut body, mut after) = (false, ShellWord::plain(""), node.end_byte());
        for child in children {
            match child.kind() {
                "heredoc_start" => after = child.end_byte(),
                "heredoc_body" | "heredoc_end" => {}
                _ if self.source(after..child.start_byte()).replace("\\\n", "").contains('\n') => {
                    // The grammar takes the text of the here-document for commands.
                    self.unparsed("a here-document begins on the next line");
                }
                _ => {}
            }
            match child.kind() {
                "heredoc_start" => {}
                "heredoc_end" => ended = !child.is_missing(),
                "heredoc_body" if quoted => body = ShellWord::plain(self.of(child)),
                "heredoc_body" => {
                    // A continued line may be the end, too.
                    let lines = self.of(child).replace("\\\n", "");
                    if lines.lines().any(|line| line.trim_start_matches('\t') == end) {
                        self.unparsed("a here-document ends in a continued line");
                    }
                    body = self.expanded(child, child.byte_range(), builder);
                }
                "&&" | "||" => operator = self.of(child),
                "pipeline" => around.push(("|", self.statement(child))),
                "file_redirect" | "herestring_redirect" => self.redirect(child, builder),
                _ if !child.is_named() => {}
                _ if operator.is_empty() => self.argument(child, builder),
                _ => around.push((operator, self.statement(child))),
            }
        }
        if !ended {
            self.unparsed("a here-document is not terminated");
        }
        if builder.command.input.is_some() {
            self.unparsed("it has several here-documents");
        }
        builder.command.input = Some(body);
    }

    /// The words and redirections of a simple command.
    fn simple(&mut self, node: Node<'_>) -> Builder {
        let mut builder = Builder::default();
        if node.kind() == "variable_assignment" {
            self.assignment(node, &mut builder);
            return builder;
        }
        let declares = matches!(node.kind(), "declaration_command" | "unset_command");
        for child in all_children(node) {
            match child.kind() {
                "variable_assignment" if !declares && builder.command.words.is_empty() => {
                    self.assignment(child, &mut builder);
                }
                "file_redirect" | "herestring_redirect" => self.redirect(child, &mut builder),
                "subshell" => {
                    self.unparsed("its syntax is not understood");
                    let inner = self.statement(child);
                    builder.before.push(inner);
                }
                _ => self.argument(child, &mut builder),
            }
        }
        builder
    }

    /// Adds a word. A word that begins where the last one ended, up to a line that continues, is
    /// part of that one.
    fn argument(&mut self, node: Node<'_>, builder: &mut Builder) {
        let word = self.word(node, builder, false);
        let since = |end| self.source(end..node.start_byte()).replace("\\\n", "");
        let gap = builder.end.map(since);
        // The grammar reads on after a line that is followed by an escaped line end.
        if builder.last.map(since).is_some_and(|gap| gap.contains('\n')) {
            self.unparsed("its syntax is not understood");
        }
        builder.end = Some(node.end_byte());
        builder.last = builder.end;
        if let Some(last) = builder.command.words.last_mut()
            && gap.is_some_and(|gap| gap.is_empty())
        {
            last.pieces.extend(word.pieces);
            last.hidden |= word.hidden;
            last.fetched |= word.fetched;
            return;
        }
        builder.command.words.push(word);
    }

    fn assignment(&mut self, node: Node<'_>, builder: &mut Builder) {
        let mut value = ShellWord::default();
        let name = node.child_by_field_name("name");
        let text = name.map_or("", |name| self.of(name));
        if let Some(name) = name.filter(|name| name.kind() == "subscript") {
            self.word(name, builder, false);
        }
        if let Some(node) = node.child_by_field_name("value") {
            value = self.word(node, builder, false);
        }
        let appends = all_children(node).iter().any(|child| child.kind() == "+=");
        if appends || text.contains('[') {
            value.pieces.push(Piece::Unknown { text: String::new(), quoted: true });
        }
        let name = text.split('[').next().unwrap_or_default().to_owned();
        builder.command.assignments.push((name, value));
    }

    pub(super) fn redirect(&mut self, node: Node<'_>, builder: &mut Builder) {
        let children = all_children(node);
        if node.kind() == "herestring_redirect" {
            let mut words = children
                .into_iter()
                .filter(|child| child.is_named() && child.kind() != "file_descriptor");
            builder.command.input = words.next().map(|child| self.word(child, builder, false));
            words.for_each(|child| self.argument(child, builder));
            return;
        }
        let operator = children.iter().find(|child| !child.is_named()).map_or("", |o| self.of(*o));
        let mut cursor = node.walk();
        let mut targets: Vec<Node<'_>> =
            node.children_by_field_name("destination", &mut cursor).collect();
        if targets.is_empty() {
            return;
        }
        let first = targets.remove(0);
        let target = self.word(first, builder, false);
        let text = target.literal();
        let is_descriptor =
            operator.ends_with('&') && text.chars().all(|c| c.is_ascii_digit() || c == '-');
        if operator.contains('>') && !is_descriptor {
            builder.command.redirections.push(target);
        } else if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            self.unparsed("it reaches the network");
        }
        // The grammar takes the words after the file for further files.
        builder.end = None;
        builder.last = Some(node.start_byte());
        targets.into_iter().for_each(|child| self.argument(child, builder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of a script, in order.
    fn commands(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for statement in read(text).statements {
            statement.each_command(&mut |command| {
                let words: Vec<String> = command.words.iter().map(ShellWord::literal).collect();
                if !words.is_empty() {
                    found.push(words.join(" "));
                }
            });
        }
        found
    }

    #[test]
    fn plain_commands_are_read_completely() {
        for (text, expected) in [
            ("git push -f", &["git push -f"][..]),
            ("a && b || c; d | e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]),
            ("'git'  \"pu\"sh \\-f", &["git push -f"]),
            ("(cd x && ls) # a word", &["cd x", "ls"]),
            ("echo 'a b' \"$\" '$(x)' \"\\$HOME\"", &["echo a b $ $(x) $HOME"]),
            ("make 2>&1 | tail -5", &["make", "tail -5"]),
            ("sed s/^20$/p/ f; grep ^a$ f", &["sed s/^20$/p/ f", "grep ^a$ f"]),
            ("awk '/x$/' f; echo a$, $. $% 5$", &["awk /x$/ f", "echo a$, $. $% 5$"]),
            ("a=1 b='2 3' c", &["c"]),
            ("! grep x y", &["grep x y"]),
            ("find . -name '*.o' {} +", &["find . -name *.o {} +"]),
            ("git \\\n  push -f", &["git push -f"]),
            ("g\\\nit push -\\\nf", &["git push -f"]),
            ("cat > x <<'EOF'\nrm -rf /\nEOF\nls", &["cat", "ls"]),
            ("if [[ -f x && y > z ]]; then a; fi", &["a"]),
            ("{ a; b; } | c; echo $?", &["a", "b", "c", "echo 1"]),
            ("for f in *.c; do a; done", &["a"]),
            ("diff <(sort a) b", &["sort a", "diff /dev/fd/63 b"]),
            ("case $x in a|b) c;; *) d;; esac", &["c", "d"]),
            ("f() { a; }; f", &["a", "f"]),
            ("make -j$(nproc)", &["nproc", "make -j1"]),
            (
                "git commit -m \"$(cat <<'E'\na $(b) '\nE\n)\" && c",
                &["cat", "git commit -m a $(b) '", "c"],
            ),
            ("a <<E && b\n$(c) ${x:-$(d)}\nE\ne", &["c", "d", "a", "b", "e"]),
            ("> out git push -f", &["git push -f"]),
        ] {
            let script = read(text);
            let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
            assert_eq!((commands(text), script.unparsed), (expected, vec![]), "{text}");
        }
    }

    #[test]
    fn a_line_that_the_grammar_reads_on_is_not_understood() {
        for text in [
            "true\n\\\ngit push -f",
            "\nE\n\\\ngit push -f",
            "true  #\n\\git push -f",
            "true > f\n\\\ngit push -f",
            "true # x\n\\\ngit push -f",
            "true a#\n\\\ngit push -f",
        ] {
            let script = read(text);
            let found = commands(text).iter().any(|command| command.starts_with("git push"));
            assert!(found || !script.unparsed.is_empty(), "{text:?}: {:?}", commands(text));
        }
    }

    #[test]
    fn commands_are_found_wherever_they_are() {
        for text in [
            "echo $(git push -f)",
            "echo \"`git push -f`\"",
            "echo `echo \\`git push -f\\``",
            "for a in b; do git push -f; done",
            "cat <<E\n`git push -f`\nE",
            "cat <<-E\n\t$(git push -f)\n\tE",
            "[[ -n $(git push -f) ]]",
            "(( a[$(git push -f)] ))",
            "x=$(git push -f)",
            "echo ${x:-$(git push -f)}",
            "{ ls; } > $(git push -f)",
            "cat <<E |\nls\nE\ngit push -f",
            "if a; then b; elif git push -f; then c; fi",
        ] {
            assert!(
                commands(text).contains(&"git push -f".to_owned()),
                "{text}: {:?}",
                commands(text)
            );
        }
    }

    #[test]
    fn what_is_not_understood_whole_is_reported() {
        for text in [
            "cat <<x\ny",
            "$'\\x67it' push",
            "'a",
            "echo ~root",
            "echo @(a|b)",
            "((PATH=1))",
            "cat <<A <<B\n1\nA\n2\nB",
            "cat <<E\n\\\nE\ngit push -f\nE",
            "a (",
        ] {
            assert!(!read(text).unparsed.is_empty(), "{text}");
        }
    }

    #[test]
    fn redirections_to_files_are_distinguished_from_descriptors() {
        let redirections = |text: &str| {
            let mut found = Vec::new();
            for statement in read(text).statements {
                statement.each_command(&mut |command| {
                    found.extend(command.redirections.iter().map(ShellWord::literal));
                });
            }
            found
        };
        assert_eq!(redirections("a > b 2>>c 2>&1 >&2 &>d >|e < f <<< g"), ["b", "c", "d", "e"]);
        assert_eq!(redirections("a >& file; > x"), ["file", "x"]);
        assert_eq!(redirections("a && b > c | d"), ["c"]);
        assert_eq!(commands("a 2 >b"), ["a 2"], "a number before a space is an argument");
    }
}
