//! Which programs an agent may run: rules over the commands that would really be executed.
//!
//! [`CommandPolicy::evaluate`] resolves the program (`resolve`). It unwraps programs that run
//! others (`wrapper`, `script`, `flow`, `interpreter`, `find`) and applies the rules of three layers to
//! every command inside (`evaluate`): the user's own, the built-in ones (`builtin.toml`, in the
//! same format), the repository's. The strictest decision counts; a command without a rule is asked
//! about. The crate does no I/O itself: the file system is behind [`Host`].

mod builtin;
mod code_input;
mod decision;
mod environment;
mod evaluate;
mod evaluator;
mod files;
mod find;
mod flow;
mod git;
mod inline_code;
mod interpreter;
mod local_host;
mod matching;
mod path_arguments;
mod path_location;
mod pattern;
mod policy;
mod query;
mod resolve;
mod rule;
mod run;
mod script;
mod sed;
mod shell;
mod shell_ast;
mod shell_state;
mod shell_values;
mod shell_word;
mod shell_words;
mod wrapper;

pub use decision::{CommandEvaluation, Decision, EvaluationStep, Origin};
pub use local_host::LocalHost;
pub use policy::{CommandPolicy, Trusted, from_tables};
pub use query::{CommandQuery, Host, Restorable};
pub use rule::Rule;
pub use rule::Table;
pub use run::Table as RunTable;
pub use run::{OnFindings, RepositoryProgramsRun, RunRules};

#[cfg(test)]
mod tests;
