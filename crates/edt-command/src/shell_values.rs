//! What the words of a script become: the values of the script's own variables, braces, patterns.

use std::collections::HashMap;

use super::evaluator::{CommandContext, Evaluator};
use super::pattern;
use super::shell_ast::{Piece, ShellWord, SimpleCommand, UNKNOWN_WORD, UNKNOWN_WORDS};

/// How many values of a variable are followed.
pub(super) const MAX_VALUES: usize = 12;

/// The possible values of the script's variables; the others are unknown.
pub(super) type Variables = HashMap<String, Vec<String>>;

impl Evaluator<'_> {
    /// The words that one word becomes, with marks where its text is unknown.
    pub(super) fn words(
        &self,
        word: &ShellWord,
        variables: &Variables,
        context: &CommandContext,
    ) -> Vec<String> {
        let (mut text, mut open, mut quoted) = (String::new(), String::new(), false);
        let mut globs = false;
        for piece in &word.pieces {
            match piece {
                Piece::Text { text: plain, quoted: is_quoted } => {
                    text.push_str(plain);
                    quoted |= is_quoted;
                    if !is_quoted {
                        open.push_str(plain);
                    }
                }
                Piece::Unknown { text: raw, quoted: is_quoted } => {
                    text.push(if *is_quoted { UNKNOWN_WORD } else { UNKNOWN_WORDS });
                    text.push_str(raw);
                }
                Piece::Variable { name, quoted: is_quoted } => {
                    match variables.get(name).map(Vec::as_slice) {
                        Some([value]) => {
                            text.push_str(value);
                            // The value may stand for the files of a pattern.
                            globs |= value.contains(['*', '?', '[']);
                            if !is_quoted {
                                open.push_str(value);
                            }
                        }
                        _ if matches!(name.as_str(), "HOME" | "PWD") => {
                            text.push('$');
                            text.push_str(name);
                        }
                        _ => {
                            text.push(if *is_quoted { UNKNOWN_WORD } else { UNKNOWN_WORDS });
                            text.push('$');
                            text.push_str(name);
                        }
                    }
                }
            }
        }
        if text.is_empty() && !quoted {
            return Vec::new();
        }
        let is_split = open.contains(char::is_whitespace);
        let parts: Vec<String> = if is_split {
            text.split_whitespace().map(str::to_owned).collect()
        } else {
            vec![text]
        };
        let has_braces = open.contains('{') && (open.contains(',') || open.contains(".."));
        let pattern =
            globs || open.contains(['*', '?']) || open.contains('[') && open.contains(']');
        parts
            .into_iter()
            .flat_map(|part| if has_braces { pattern::braces(&part) } else { vec![part] })
            .flat_map(|part| if pattern { self.names(part, context) } else { vec![part] })
            .collect()
    }

    /// The values that a variable gets from a word. Patterns stay patterns.
    pub(super) fn values(
        &self,
        word: &ShellWord,
        variables: &Variables,
        context: &CommandContext,
    ) -> Vec<String> {
        let words = SimpleCommand { words: vec![word.clone()], ..SimpleCommand::default() };
        let quoted = |piece: &Piece| match piece.clone() {
            Piece::Text { text, .. } if !text.contains('{') => Piece::Text { text, quoted: true },
            Piece::Variable { name, .. } => Piece::Variable { name, quoted: true },
            Piece::Unknown { text, .. } => Piece::Unknown { text, quoted: true },
            Piece::Text { text, quoted } => Piece::Text { text, quoted },
        };
        let pieces = word.pieces.iter().map(quoted).collect();
        let word = ShellWord { pieces, ..word.clone() };
        choices(&words, variables)
            .into_iter()
            .flat_map(|known| {
                let words = self.words(&word, &known, context);
                if words.is_empty() { vec![String::new()] } else { words }
            })
            .collect()
    }

    /// The names that a pattern expands to.
    fn names(&self, word: String, context: &CommandContext) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for dir in &context.dirs {
            // Expansions at the start, such as `~`, are applied first.
            let from = if word.starts_with(['~', '$', '`']) {
                self.expand_path(&word, dir).to_string_lossy().into_owned()
            } else {
                word.clone()
            };
            names.extend(pattern::expanded(&from, dir, self.host));
        }
        names.sort_unstable();
        names.dedup();
        // Where no file matches, the shell keeps the pattern itself.
        names.insert(0, word);
        names
    }
}

/// The variables of a command with one value each, in every combination; more than a few stay
/// unknown.
pub(super) fn choices(command: &SimpleCommand, variables: &Variables) -> Vec<Variables> {
    let mut all = vec![variables.clone()];
    let words = command.words.iter().chain(&command.input).chain(&command.redirections);
    let names = words.flat_map(|word| &word.pieces).filter_map(|piece| match piece {
        Piece::Variable { name, .. } => Some(name),
        _ => None,
    });
    for name in names {
        let Some(values) = variables.get(name).filter(|values| values.len() > 1) else {
            continue;
        };
        if all[0].get(name).is_some_and(|values| values.len() == 1)
            || all.len() * values.len() > MAX_VALUES
        {
            continue;
        }
        let with = |one: &Variables, value: &String| {
            let mut one = one.clone();
            one.insert(name.clone(), vec![value.clone()]);
            one
        };
        all = all
            .iter()
            .flat_map(|one| values.iter().map(|v| with(one, v)).collect::<Vec<_>>())
            .collect();
    }
    all
}
