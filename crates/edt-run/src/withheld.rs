//! What the user can do if a program failed because it did not get a variable, or could not write a
//! directory.

use std::path::Path;

use super::answer::RunReport;
use edt_types::{Warning, WarningCode};

/// The most variables that the warning names.
const MAX_NAMED: usize = 5;

/// The warning about a failed program whose output names variables that were withheld from it.
pub(super) fn warning(report: &RunReport) -> Option<Warning> {
    let outputs = [&report.stdout.text, &report.stderr.text];
    let withheld = report.sandbox.withheld.iter().map(String::as_str);
    let names: Vec<&str> =
        withheld.filter(|name| outputs.iter().any(|text| has_word(text, name))).collect();
    let first = names.first()?;
    let listed = names[..names.len().min(MAX_NAMED)].join(", ");
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        count => format!(" and {count} more (`run.sandbox.withheld`)"),
    };
    let message = format!(
        "The program failed. It did not get these variables, which its output names: \
         {listed}{more}. If it needs one, the user adds it below [run] in their own edt.toml: \
         environment = [\"{first}\"]"
    );
    Some(Warning { code: WarningCode::VariablesWithheld, path: None, message })
}

/// How programs call what they may not write. What is hidden from them is missing (`ENOENT`), as a
/// key is that they only wanted to read: that is named only if they wanted to make it.
const DENIALS: [&str; 6] =
    ["EROFS", "EACCES", "EPERM", "Read-only file system", "ermission denied", "mkdir"];

/// The warning about a failed program whose output names a directory of `home` that it could not
/// use.
pub(super) fn place(report: &RunReport, home: &Path) -> Option<Warning> {
    let home = format!("{}/", home.to_str()?.trim_end_matches('/'));
    let is_denial = |line: &&str| DENIALS.iter().any(|denial| line.contains(denial));
    let outputs = [&report.stderr.text, &report.stdout.text];
    let mut lines = outputs.into_iter().flat_map(|text| text.lines()).filter(is_denial);
    let name = lines.find_map(|line| {
        let (_, below) = line.split_once(&home)?;
        let is_part = |c: char| c.is_alphanumeric() || "._-".contains(c);
        let name = below.split(|c| !is_part(c)).next()?;
        (!name.is_empty() && !report.cwd.starts_with(&format!("{home}{name}"))).then_some(name)
    })?;
    let message = format!(
        "The program failed, and its output names ~/{name}, which it cannot use at the sandbox \
         level {}. A cache may have another place: `--env npm_config_cache=node_modules/.cache`, for \
         example. Else the user adds it below [run] in their own edt.toml: writable = [\"~/{name}\"]",
        report.sandbox.level
    );
    Some(Warning { code: WarningCode::DirectoryWithheld, path: None, message })
}

/// Whether `word` is in `text` and not a part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
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
    fn nothing_is_said_if_the_output_names_no_withheld_variable() {
        assert_eq!(message(&[], "A_TOKEN"), None);
        assert_eq!(message(&["A_TOKEN"], "1 test failed"), None);
        assert_eq!(message(&["ODD"], "MY_ODD ODDS ODD_ ODD2"), None);
    }

    #[test]
    fn the_variables_that_the_output_names_are_listed() {
        assert_eq!(
            message(&["A_TOKEN", "ODD"], "ODDS; KeyError: 'ODD'").unwrap(),
            "The program failed. It did not get these variables, which its output names: ODD. If it \
             needs one, the user adds it below [run] in their own edt.toml: environment = [\"ODD\"]"
        );
    }

    #[test]
    fn a_directory_that_a_program_cannot_use_is_named_with_the_setting() {
        let said = |stderr: &str| {
            let mut report = report(Some(1), None);
            report.stderr.text = stderr.to_owned();
            place(&report, Path::new("/home/u")).map(|warning| warning.message)
        };
        let npm = said("npm error ENOENT: no such file or directory, mkdir '/home/u/.npm'\n");
        assert!(npm.unwrap().ends_with("edt.toml: writable = [\"~/.npm\"]"));
        assert!(said("open /home/u/.cache/go/x: Permission denied").unwrap().contains("~/.cache,"));
        assert_eq!(said("EACCES: /srv/x"), None);
        assert_eq!(said("/home/u/.aws/credentials: No such file or directory"), None);
        assert_eq!(said("see /home/u/.npm/_logs"), None);
    }

    #[test]
    fn a_long_list_is_cut_with_its_length() {
        let said = message(&["A", "B", "C", "D", "E", "F", "G"], "A B C D E F G").unwrap();
        assert!(said.contains("A, B, C, D, E and 2 more (`run.sandbox.withheld`)."), "{said}");
    }
}
