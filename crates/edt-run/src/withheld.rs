//! What the user can do if a program failed because it did not get a variable.

use super::answer::RunReport;
use edt_types::Warning;

/// The most variables that the warning names.
const MAX_NAMED: usize = 5;

/// The warning about a failed program from which variables were withheld. Those that its output
/// names come first.
pub(super) fn warning(report: &RunReport) -> Option<Warning> {
    let mut names: Vec<&str> = report.sandbox.withheld.iter().map(String::as_str).collect();
    let is_named =
        |name: &str| [&report.stdout, &report.stderr].iter().any(|one| one.text.contains(name));
    names.sort_by_key(|name| !is_named(name));
    let first = names.first()?;
    let listed = names[..names.len().min(MAX_NAMED)].join(", ");
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        count => format!(" and {count} more (`run.sandbox.withheld`)"),
    };
    let message = format!(
        "The program failed. It did not get these variables of the environment: {listed}{more}. If \
         it needs one, the user adds it below [run] in their own edt.toml: environment = \
         [\"{first}\"]"
    );
    Some(Warning { code: "variables_withheld", path: None, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::report;

    fn message(names: &[&str], stderr: &str) -> Option<String> {
        let mut report = report(Some(1), None);
        report.sandbox.withheld = names.iter().map(ToString::to_string).collect();
        report.stderr.text = stderr.to_owned();
        warning(&report).map(|warning| warning.message)
    }

    #[test]
    fn nothing_is_said_if_nothing_was_withheld() {
        assert_eq!(message(&[], "error"), None);
    }

    #[test]
    fn the_variable_that_the_output_names_is_first() {
        assert_eq!(
            message(&["A_TOKEN", "ODD"], "KeyError: 'ODD'").unwrap(),
            "The program failed. It did not get these variables of the environment: ODD, A_TOKEN. \
             If it needs one, the user adds it below [run] in their own edt.toml: environment = \
             [\"ODD\"]"
        );
    }

    #[test]
    fn a_long_list_is_cut_with_its_length() {
        let said = message(&["A", "B", "C", "D", "E", "F", "G"], "").unwrap();
        assert!(said.contains("A, B, C, D, E and 2 more (`run.sandbox.withheld`)."), "{said}");
    }
}
