//! What is known of a script where a statement begins: directories, variables, functions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use super::evaluator::CommandContext;
use super::shell_ast::{ShellWord, SimpleCommand, Statement, is_unknown};
use super::shell_values::{MAX_VALUES, Variables};

/// The longest value of a variable that is followed.
const MAX_VALUE_LENGTH: usize = 1_000;

/// What is known where a statement begins.
#[derive(Clone)]
pub(super) struct Flow {
    pub(super) context: CommandContext,
    /// The possible values of the script's variables; the others are unknown.
    pub(super) variables: Variables,
    pub(super) functions: HashMap<String, Function>,
}

#[derive(Clone)]
pub(super) struct Function {
    /// What it may be.
    pub(super) bodies: Vec<Rc<Vec<Statement>>>,
    /// It is defined whatever the conditions before it.
    pub(super) certain: bool,
}

impl Flow {
    pub(super) fn new(context: &CommandContext) -> Flow {
        Flow { context: context.clone(), variables: Variables::new(), functions: HashMap::new() }
    }

    pub(super) fn join_directories(&mut self, dirs: &[PathBuf]) {
        for dir in dirs {
            if !self.context.dirs.contains(dir) {
                self.context.dirs.push(dir.clone());
            }
        }
    }

    /// What is known after either of two ways.
    pub(super) fn join(&mut self, other: &Flow) {
        self.join_directories(&other.context.dirs);
        self.variables.retain(|name, values| match other.variables.get(name) {
            Some(others) => {
                values.extend(others.iter().cloned());
                values.sort();
                values.dedup();
                values.len() <= MAX_VALUES
            }
            None => false,
        });
        for (name, other) in &other.functions {
            let Some(function) = self.functions.get_mut(name) else {
                self.functions.insert(name.clone(), Function { certain: false, ..other.clone() });
                continue;
            };
            function.certain &= other.certain;
            for body in &other.bodies {
                if !function.bodies.iter().any(|one| Rc::ptr_eq(one, body)) {
                    function.bodies.push(Rc::clone(body));
                }
            }
        }
        for (name, function) in &mut self.functions {
            function.certain &= other.functions.contains_key(name);
        }
    }

    /// Forgets the variables that statements may set, also in functions that they call.
    pub(super) fn forget(&mut self, statements: &[Statement]) {
        let mut names: Vec<String> = Vec::new();
        let mut visit = |command: &SimpleCommand| {
            let words = command.words.iter().map(ShellWord::literal);
            names.extend(words.filter_map(|word| Some(word.split(['=', '[']).next()?.to_owned())));
            names.extend(command.assignments.iter().map(|(name, _)| name.clone()));
        };
        statements.iter().for_each(|one| one.each_command(&mut visit));
        for name in names {
            self.variables.remove(&name);
            if let Some(function) = self.functions.remove(&name) {
                function.bodies.iter().for_each(|body| self.forget(body));
                self.functions.insert(name, function);
            }
        }
    }

    /// Sets a variable, if its values can be followed.
    pub(super) fn set(&mut self, name: &str, values: Vec<String>) {
        let is_short = |value: &String| value.len() <= MAX_VALUE_LENGTH && !is_unknown(value);
        let known = values.len() <= MAX_VALUES && values.iter().all(is_short);
        if known && name != "IFS" {
            self.variables.insert(name.to_owned(), values);
        } else {
            self.variables.remove(name);
        }
    }
}
