//! The parts of a shell script.

use std::rc::Rc;

/// Marks an expansion whose text is unknown before it runs, and is one word at most.
pub(super) const UNKNOWN_WORD: char = '\u{F8FE}';
/// Marks an expansion that may become any number of words.
pub(super) const UNKNOWN_WORDS: char = '\u{F8FD}';

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellScript {
    pub(super) statements: Vec<Statement>,
    /// Why it cannot be understood completely.
    pub(super) unparsed: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Command(SimpleCommand),
    /// In order, in this shell.
    Group(Vec<Statement>),
    /// In a shell of its own: parentheses, a substitution.
    Subshell(Vec<Statement>),
    Pipeline(Vec<Statement>),
    /// `left && right`, or `left || right`.
    List {
        left: Box<Statement>,
        and: bool,
        right: Box<Statement>,
    },
    /// One of these, or none.
    Branches(Vec<Vec<Statement>>),
    /// Any number of times; for a `for` loop with its variable and the values.
    Loop {
        variable: Option<(String, Vec<ShellWord>)>,
        body: Vec<Statement>,
    },
    Function {
        name: String,
        body: Rc<Vec<Statement>>,
        /// It runs itself in a pipeline or in the background.
        multiplies: bool,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) assignments: Vec<(String, ShellWord)>,
    pub(super) words: Vec<ShellWord>,
    /// The files that its redirections write.
    pub(super) redirections: Vec<ShellWord>,
    /// The text of its here-document or here-string.
    pub(super) input: Option<ShellWord>,
}

/// One word without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    pub(super) pieces: Vec<Piece>,
    /// It has a quoted substitution, which some builtins evaluate nevertheless.
    pub(super) hidden: bool,
    /// It has the output of a command that fetches something.
    pub(super) fetched: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text { text: String, quoted: bool },
    Variable { name: String, quoted: bool },
    Unknown { text: String, quoted: bool },
}

impl Statement {
    /// Calls `visit` with every simple command inside, in order.
    pub(super) fn each_command<'a>(&'a self, visit: &mut dyn FnMut(&'a SimpleCommand)) {
        let mut all = |list: &'a [Statement]| list.iter().for_each(|one| one.each_command(visit));
        match self {
            Statement::Command(command) => visit(command),
            Statement::Group(list) | Statement::Subshell(list) | Statement::Pipeline(list) => {
                all(list);
            }
            Statement::List { left, right, .. } => {
                left.each_command(visit);
                right.each_command(visit);
            }
            Statement::Branches(branches) => branches.iter().for_each(|one| all(one)),
            Statement::Loop { body, .. } => all(body),
            Statement::Function { body, .. } => all(body),
        }
    }
}

impl ShellWord {
    pub(super) fn plain(text: &str) -> ShellWord {
        let text = Piece::Text { text: text.to_owned(), quoted: true };
        ShellWord { pieces: vec![text], ..ShellWord::default() }
    }

    /// The text as it is written, without quotes.
    pub(super) fn literal(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text { text, .. } | Piece::Unknown { text, .. } => text.clone(),
            Piece::Variable { name, .. } => format!("${name}"),
        };
        self.pieces.iter().map(piece).collect()
    }
}

/// `text` without the marks of unknown expansions, for messages.
pub(super) fn unmarked(text: &str) -> String {
    text.replace([UNKNOWN_WORD, UNKNOWN_WORDS], "")
}

/// Whether a part of it is unknown before it runs.
pub(super) fn is_unknown(text: &str) -> bool {
    text.contains([UNKNOWN_WORD, UNKNOWN_WORDS])
}

/// Whether it may become an option, or more arguments than one.
pub(super) fn is_open(text: &str) -> bool {
    text.starts_with(UNKNOWN_WORD) || text.contains(UNKNOWN_WORDS)
}
