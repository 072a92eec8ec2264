//! Guards: checks of a planned change, before anything is written.
//!
//! [`GUARDS`] lists edt's own. [`evaluate()`] runs any guards under a policy, so that a program
//! that embeds edt can add a [`Guard`] of its own.

pub mod artifact;
pub mod build_output;
mod c_lines;
mod chat;
mod check;
pub mod content;
mod cut_mark;
mod defaults;
pub mod duplicate;
pub mod elided;
pub mod evaluate;
pub mod hollow;
mod imports;
pub mod invisible;
#[cfg(test)]
mod limits;
mod lone_comment;
pub mod lookalike;
pub mod lost;
pub mod marker;
pub mod mass_deletion;
pub mod pointer;
pub mod protected;
mod run_lines;
mod runs;
pub mod secret;
pub mod size_reduction;
pub mod subject;
pub mod syntax;
mod syntax_branches;
pub mod syntax_break;
mod syntax_cause;
mod syntax_faults;
mod syntax_pairs;
mod syntax_parts;
mod syntax_report;
mod test_lines;
pub mod transaction;
pub mod validator;
pub mod weakened;

use edt_types::Code;

pub use check::{Guard, GuardContext, GuardOutput, Site};
pub use evaluate::{Grant, GuardRun, Overrides, evaluate};
pub use subject::{Reference, Subject};
pub use transaction::{Transaction, TransactionFile};

/// edt's own guards, in the order of reports.
pub const GUARDS: &[&dyn Guard] = &[
    &protected::ProtectedPath,
    &size_reduction::SizeReduction,
    &mass_deletion::MassDeletion,
    &lost::LostContent,
    &pointer::LfsPointer,
    &content::BinaryContent,
    &content::Encoding,
    &build_output::BuildOutput,
    &marker::ConflictMarkers,
    &artifact::ChatArtifact,
    &invisible::InvisibleCharacters,
    &lookalike::LookalikeCharacters,
    &elided::ElidedCode,
    &hollow::HollowBody,
    &weakened::WeakenedTests,
    &secret::Secret,
    &syntax::Syntax,
    &duplicate::DuplicateCode,
    &validator::Validators,
];

/// The code of the refusals of edt's own guard `name`: the code of that name, or the one that
/// begins with it, such as `SYNTAX_ERROR` for `syntax`.
#[must_use]
pub fn code_of(name: &str) -> Option<Code> {
    let name = name.to_ascii_uppercase();
    let matches = |code: &&Code| {
        let rest = code.name().strip_prefix(&name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    Code::ALL.iter().find(matches).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::Finding;

    #[test]
    fn every_guard_has_a_rule_and_a_code() {
        for guard in GUARDS {
            assert!(!guard.rule().is_empty(), "{}", guard.name());
            assert!(code_of(guard.name()).is_some(), "{}", guard.name());
        }
    }

    #[test]
    fn the_code_of_a_guard_begins_with_its_name() {
        assert_eq!(code_of("syntax"), Some(Code::SyntaxError));
        assert_eq!(code_of("encoding"), Some(Code::Encoding));
        assert_eq!(code_of("enc"), None);
    }

    #[test]
    fn a_guard_for_one_problem_passes_or_finds_it() {
        assert_eq!(GuardOutput::of("x", None), [GuardOutput::Pass]);
        let finding = Finding::new(Code::CustomGuard, "a", "b");
        let outputs = GuardOutput::of("x", Some(finding.clone()));
        let findings: Vec<Finding> =
            outputs.into_iter().flat_map(GuardOutput::into_findings).collect();
        assert_eq!(findings, [finding]);
    }
}
