//! A request: checked and parsed into typed edits.

use std::borrow::Cow;

use similar::get_close_matches;

use super::edit_fields::EditFields;
use super::patch_text::PatchText;
use super::request_key::{bad, expect};
use super::request_limits::{check_count, check_lines, lines_of};
use edt_edit::line_anchor::LineAnchor;
use edt_edit::locate::Occurrences;
use edt_edit::place::Matching;
use edt_edit::symbol::{SymbolChange, SymbolEdit};
use edt_edit::{Edit, Expect, LineRange, Mode, Op};
use edt_guard::guard::Grant;
use edt_types::{Code, Finding, Refusal, RepoPath, Result};

/// A parsed request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The reason for the edit; the first line is the commit's subject.
    pub message: Option<String>,
    /// The agent; recorded in a trailer.
    pub agent: Option<String>,
    /// Who made the proposal that this applies, if not by that name. JSON and flags cannot set this.
    pub(crate) caller: Option<String>,
    /// The words of the overrides that the request asks for.
    pub allow: Vec<String>,
    /// What the user granted by approving a proposal. JSON and flags cannot set this.
    pub grants: Vec<Grant>,
    /// The proposal that this applies.
    pub proposal: Option<u64>,
    /// The edits, in order.
    pub edits: Vec<Edit>,
    /// The patch, if the request is one. Parsed into `edits` by [`Request::with_parsed_patch`].
    pub patch: Option<PatchText>,
    /// Number of context lines in the answer.
    pub context: usize,
    /// The keys that were left out because they say nothing about the edit.
    pub left_out: Vec<String>,
    /// What is wrong with edits that were added one by one.
    pub(crate) problems: Vec<Finding>,
    /// The lines in the texts of edits that were added one by one.
    pub(crate) lines: usize,
}

/// The default number of context lines in the answer.
pub const CONTEXT: usize = 3;

impl Default for Request {
    fn default() -> Request {
        Request {
            message: None,
            agent: None,
            caller: None,
            allow: Vec::new(),
            grants: Vec::new(),
            proposal: None,
            edits: Vec::new(),
            patch: None,
            context: CONTEXT,
            left_out: Vec::new(),
            problems: Vec::new(),
            lines: 0,
        }
    }
}

impl Request {
    /// Adds an edit. A malformed one is reported when the request is applied.
    pub(crate) fn add(&mut self, fields: EditFields) {
        self.lines += lines_of(std::slice::from_ref(&fields));
        match edit_of(fields, self.edits.len()) {
            Ok(edit) => self.edits.push(edit),
            Err(found) => self.problems.extend(found.into_vec()),
        }
    }

    /// Sets the blob id that the file must have, for the edits of `path` so far. A wrong path or id,
    /// or a path without an edit, is reported when the request is applied.
    pub(crate) fn expect_hash(&mut self, path: &[u8], hash: String) {
        let mut found = Vec::new();
        let path = path_of(path, &mut found);
        let expect = expect(Some(hash)).map_err(|finding| found.push(finding)).ok();
        if let (Some(path), Some(expect)) = (path, expect) {
            let mut edits = self.edits.iter_mut().filter(|edit| edit.path == path).peekable();
            // A malformed edit of the path is reported already.
            if edits.peek().is_none() && self.problems.is_empty() {
                let message = format!("`expected_hash` names {path}, but no edit before it does.");
                found.push(bad(&message, "Add the edit first, then its hash.").at(&path));
            }
            edits.for_each(|edit| edit.expect = expect.clone());
        }
        self.problems.extend(found);
    }

    /// Checks what the builder could not refuse. Words in `allow` are not checked: guards of the
    /// embedding program have their own.
    ///
    /// # Errors
    /// `BAD_REQUEST` and the findings of malformed edits.
    pub(crate) fn check(&self) -> Result<()> {
        let mut found = self.problems.clone();
        if self.edits.is_empty() && self.patch.is_none() && found.is_empty() {
            found.push(bad("The request has no edit.", "Add at least one edit."));
        }
        found.extend(problems(self.message.as_deref(), self.agent.as_deref(), &[]));
        found.extend(check_count(self.edits.len(), "edits"));
        found.extend(check_lines(self.lines));
        Refusal::check(found)
    }
    /// Checks and parses the keys of a request.
    ///
    /// # Errors
    /// As [`Request::from_json`].
    pub fn of(
        message: Option<String>,
        agent: Option<String>,
        allow: Vec<String>,
        edits_fields: Vec<EditFields>,
    ) -> Result<Request> {
        let counts = [(edits_fields.len(), "edits"), (allow.len(), "overrides")];
        let found = counts.into_iter().filter_map(|(count, what)| check_count(count, what));
        Refusal::check(found.chain(check_lines(lines_of(&edits_fields))).collect())?;
        let mut found = problems(message.as_deref(), agent.as_deref(), &allow);
        if edits_fields.is_empty() {
            found.push(bad("`edits` is empty.", "Send at least one edit."));
        }
        let mut edits = Vec::new();
        for (i, fields) in edits_fields.into_iter().enumerate() {
            match edit_of(fields, i) {
                Ok(edit) => edits.push(edit),
                Err(error) => found.extend(error.into_vec()),
            }
        }
        Refusal::check(found)?;
        let message = message.filter(|message| !message.trim().is_empty());
        Ok(Request { message, agent, allow, edits, ..Request::default() })
    }

    /// The request with this way to match for its edits of mode `edit`.
    ///
    /// # Errors
    /// `BAD_REQUEST` if it has no such edit.
    pub fn matching(mut self, way: Matching) -> Result<Request> {
        let mut texts = self.edits.iter_mut().filter_map(|edit| match &mut edit.op {
            Op::Edit { matching, .. } => Some(matching),
            _ => None,
        });
        let count = texts.by_ref().map(|matching| *matching = way).count();
        if count == 0 {
            return Err(bad(
                "The request has `match`, and neither a patch nor an edit of mode \"edit\".",
                "Leave it out: only texts are matched.",
            )
            .into());
        }
        Ok(self)
    }

    /// A request that consists of a patch.
    ///
    /// # Errors
    /// `BAD_REQUEST`. The patch itself is parsed later, so that an unreadable one is still a
    /// request: it counts as a failed patch, and is remembered with its text.
    pub fn patch(
        message: Option<String>,
        agent: Option<String>,
        allow: Vec<String>,
        patch: PatchText,
    ) -> Result<Request> {
        let mut found = problems(message.as_deref(), agent.as_deref(), &allow);
        found.extend(check_lines(patch.lines()));
        Refusal::check(found)?;
        let message = message.filter(|message| !message.trim().is_empty());
        Ok(Request { message, agent, allow, patch: Some(patch), ..Request::default() })
    }

    /// The request with its patch parsed into edits.
    ///
    /// # Errors
    /// `INVALID_PATCH` if it cannot be parsed; the findings of its paths.
    pub fn with_parsed_patch(&self) -> Result<Cow<'_, Request>> {
        match &self.patch {
            None => Ok(Cow::Borrowed(self)),
            Some(patch) => Ok(Cow::Owned(Request { edits: patch.edits()?, ..self.clone() })),
        }
    }
}

/// The problems of the keys that every request has.
fn problems(message: Option<&str>, agent: Option<&str>, allow: &[String]) -> Vec<Finding> {
    let mut found = Vec::new();
    let control = |text: &str| text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
    if message.is_some_and(control) {
        found.push(bad(
            "`message` has a control character.",
            "Send plain text; the first line becomes the commit's subject.",
        ));
    }
    if agent.is_some_and(|agent| agent.trim().is_empty() || agent.chars().any(char::is_control)) {
        found.push(bad("`agent` is empty or has a control character.", "Send a name on one line."));
    }
    found.extend(allow.iter().filter_map(|word| unknown_allow(word)));
    found
}

fn edit_of(fields: EditFields, i: usize) -> Result<Edit> {
    let mut found = Vec::new();
    let mode = fields.mode.ok_or_else(|| {
        let modes: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
        bad(&format!("Edit {} has no `mode`.", i + 1), &format!("Add one: {}.", modes.join(", ")))
            .with("edit", i + 1)
    })?;
    let path = path_of(&fields.path, &mut found);
    let to = fields
        .to
        .as_deref()
        .filter(|_| mode == Mode::Rename)
        .and_then(|to| path_of(to, &mut found));
    found.extend(check_keys(&fields, mode, i));
    let expect = expect(fields.expected_hash.clone()).unwrap_or_else(|finding| {
        found.push(finding.with("edit", i + 1));
        Expect::Anything
    });
    let (first, last) = (line(fields.start_line), line(fields.end_line));
    if mode != Mode::Insert
        && fields.end_line.is_some_and(|end| end < fields.start_line.unwrap_or(0))
    {
        let message = format!("`end_line` {last} is before `start_line` {first} (edit {}).", i + 1);
        found.push(
            bad(&message, "Send the first and the last line, both included.").with("edit", i + 1),
        );
    }
    let anchors = anchors_of(&fields, i).unwrap_or_else(|finding| {
        found.push(finding);
        None
    });
    Refusal::check(found)?;
    let path = path.ok_or_else(internal)?;
    let content = fields.content.unwrap_or_default();
    let op = match mode {
        Mode::Create => Op::Create { content, executable: fields.executable.unwrap_or(false) },
        Mode::Edit => {
            let occurrences = if fields.replace_all.unwrap_or(false) {
                Occurrences::All
            } else {
                Occurrences::One
            };
            Op::Edit {
                old: fields.old_text.unwrap_or_default(),
                new: content,
                occurrences,
                matching: Matching::Strict,
            }
        }
        Mode::Append => Op::Append { content },
        Mode::Overwrite => Op::Overwrite { content },
        Mode::Insert | Mode::ReplaceLines | Mode::DeleteLines
            if let Some((first, last)) = anchors =>
        {
            Op::Anchored { first, last, inserts: mode == Mode::Insert, content }
        }
        Mode::Insert => {
            Op::Lines { range: LineRange::Before(first), content, expected: fields.expected_text }
        }
        Mode::ReplaceLines | Mode::DeleteLines => {
            Op::Lines { range: LineRange::Of(first, last), content, expected: fields.expected_text }
        }
        Mode::Delete => Op::Delete { holds: None },
        Mode::Rename => Op::Rename { to: to.ok_or_else(internal)? },
        Mode::ReplaceSymbol
        | Mode::InsertBeforeSymbol
        | Mode::InsertAfterSymbol
        | Mode::RenameSymbol => {
            let name = fields.to.unwrap_or_default();
            let change = match mode {
                Mode::ReplaceSymbol => SymbolChange::Replace(content),
                Mode::InsertBeforeSymbol => SymbolChange::InsertBefore(content),
                Mode::InsertAfterSymbol => SymbolChange::InsertAfter(content),
                _ => SymbolChange::Rename(String::from_utf8_lossy(&name).into_owned()),
            };
            Op::Symbol(SymbolEdit {
                symbol: fields.symbol.unwrap_or_default(),
                line: fields.start_line.map(|_| first),
                change,
            })
        }
    };
    Ok(Edit { path, expect, op })
}

/// The anchors of the first and the last line, if the edit has some.
fn anchors_of(
    fields: &EditFields,
    i: usize,
) -> std::result::Result<Option<(LineAnchor, LineAnchor)>, Finding> {
    let wrong = |text: &str| {
        let message = format!("{:?} is no anchor of a line (edit {}).", text, i + 1);
        bad(&message, "Copy it from `edt read --anchors`, such as \"12:a3f4c1095e\".")
            .with("edit", i + 1)
    };
    let Some(first) = &fields.start_anchor else {
        if fields.end_anchor.is_none() {
            return Ok(None);
        }
        let message = format!("Edit {} has `end_anchor` without `start_anchor`.", i + 1);
        return Err(bad(&message, "Send both.").with("edit", i + 1));
    };
    if fields.start_line.is_some() || fields.end_line.is_some() || fields.expected_text.is_some() {
        let message = format!("Edit {} has anchors and line numbers.", i + 1);
        let remedy = "Send the anchors alone: they confirm the lines.";
        return Err(bad(&message, remedy).with("edit", i + 1));
    }
    let last = fields.end_anchor.as_ref().unwrap_or(first);
    let parsed = |text: &String| text.parse().map_err(|()| wrong(text));
    let (first, last): (LineAnchor, LineAnchor) = (parsed(first)?, parsed(last)?);
    if last.line < first.line {
        let message = format!("`end_anchor` of edit {} is above its `start_anchor`.", i + 1);
        return Err(bad(&message, "Send the first line of the range as `start_anchor`.")
            .with("edit", i + 1));
    }
    Ok(Some((first, last)))
}

/// A line number, or 0, which is out of every range.
fn line(number: Option<u64>) -> usize {
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn path_of(raw: &[u8], found: &mut Vec<Finding>) -> Option<RepoPath> {
    RepoPath::parse(raw).map_err(|problem| found.push(problem.finding(raw))).ok()
}

/// Refusal for keys that the mode needs and keys that it does not take.
fn check_keys(fields: &EditFields, mode: Mode, i: usize) -> Vec<Finding> {
    let has_lines = mode.keys().0.contains(&"end_line");
    let given = [
        ("old_text", fields.old_text.is_some()),
        ("content", fields.content.is_some()),
        ("replace_all", fields.replace_all.is_some()),
        ("executable", fields.executable.is_some()),
        ("to", fields.to.is_some()),
        ("symbol", fields.symbol.is_some()),
        ("start_line", fields.start_line.is_some() || fields.start_anchor.is_some()),
        ("end_line", fields.end_line.is_some() || has_lines && fields.start_anchor.is_some()),
        ("start_anchor", fields.start_anchor.is_some()),
        ("end_anchor", fields.end_anchor.is_some()),
        ("expected_text", fields.expected_text.is_some()),
    ];
    let (needs, takes) = mode.keys();
    let mut found = Vec::new();
    if mode == Mode::Edit && fields.old_text.as_ref().is_none_or(Vec::is_empty) {
        let mut finding = Finding::new(
            Code::OldTextRequired,
            format!(
                "Mode \"edit\" needs the text to replace in `old_text`; edit {} has none.",
                i + 1
            ),
            "Send `old_text` exactly as it is in the file. To add to the end use mode \"append\"; \
             to replace the whole file use \"overwrite\".",
        )
        .nothing_changed();
        finding.path = Some(String::from_utf8_lossy(&fields.path).into_owned());
        found.push(finding.with("edit", i + 1));
    }
    for (key, there) in given {
        let needed = needs.contains(&key);
        if needed && !there && key != "old_text" {
            found.push(
                bad(
                    &format!("Mode \"{}\" needs `{key}`; edit {} has none.", mode.name(), i + 1),
                    &format!("Add `{key}`."),
                )
                .with("edit", i + 1),
            );
        }
        if there && !needed && !takes.contains(&key) {
            let message =
                format!("Mode \"{}\" does not take `{key}` (edit {}).", mode.name(), i + 1);
            found.push(
                bad(
                    &message,
                    "Leave it out, or use the mode that takes it: `edt apply --help` lists them.",
                )
                .with("edit", i + 1),
            );
        }
    }
    found
}

fn unknown_allow(word: &str) -> Option<Finding> {
    let words: Vec<&str> = Code::ALL.iter().filter_map(|code| code.allow()).collect();
    if words.contains(&word) {
        return None;
    }
    let near = get_close_matches(word, &words, 1, 0.6);
    let nearest =
        near.first().map_or_else(String::new, |near| format!(" Did you mean \"{near}\"?"));
    Some(bad(
        &format!("`allow` has {word:?}, which overrides nothing.{nearest}"),
        &format!("Overrides are: {}.", words.join(", ")),
    ))
}

fn internal() -> Finding {
    Finding::new(
        Code::Internal,
        "A key that was checked is missing.",
        "Report the request with this message.",
    )
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::naive_bytecount,
        clippy::single_range_in_vec_init,
        clippy::unnecessary_wraps,
        clippy::useless_asref,
        clippy::cloned_ref_to_slice_refs,
        reason = "tests are read, not tuned"
    )]

    use super::*;
    use edt_edit::place::Matching;
    use serde_json::json;

    fn edit(mode: Mode) -> EditFields {
        EditFields { path: b"a.txt".to_vec(), mode: Some(mode), ..EditFields::default() }
    }

    fn text(content: &str) -> Option<Vec<u8>> {
        Some(content.as_bytes().to_vec())
    }

    /// The findings of a request with one edit.
    fn found(fields: EditFields) -> Vec<Finding> {
        Request::of(None, None, Vec::new(), vec![fields]).unwrap_err().into_vec()
    }

    fn op(fields: EditFields) -> Op {
        let request = Request::of(None, None, Vec::new(), vec![fields]).unwrap();
        request.edits.into_iter().next().unwrap().op
    }

    #[test]
    fn a_request_without_an_edit_is_refused() {
        let found = Request::of(None, None, Vec::new(), Vec::new()).unwrap_err().into_vec();
        assert_eq!(found, [bad("`edits` is empty.", "Send at least one edit.")]);
    }

    #[test]
    fn a_message_has_no_control_character_but_tabs_and_line_ends() {
        assert_eq!(problems(Some("a\tb\nc"), None, &[]), []);
        assert_eq!(
            problems(Some("a\u{1b}[31m"), None, &[]),
            [bad(
                "`message` has a control character.",
                "Send plain text; the first line becomes the commit's subject."
            )]
        );
    }

    #[test]
    fn the_name_of_an_agent_is_on_one_line() {
        let refused =
            [bad("`agent` is empty or has a control character.", "Send a name on one line.")];
        assert_eq!(problems(None, Some("a\nb"), &[]), refused);
        assert_eq!(problems(None, Some(" "), &[]), refused);
        assert_eq!(problems(None, Some("my robot 2"), &[]), []);
    }

    #[test]
    fn an_unknown_override_is_refused_with_the_nearest_known_one() {
        let finding = unknown_allow("size_reductoin").unwrap();
        assert_eq!(
            finding.summary,
            "`allow` has \"size_reductoin\", which overrides nothing. Did you mean \
             \"size_reduction\"?"
        );
        assert!(finding.remedy.starts_with("Overrides are: size_reduction, mass_deletion, "));
    }

    #[test]
    fn an_override_like_no_other_gets_no_suggestion() {
        let finding = unknown_allow("please").unwrap();
        assert_eq!(finding.summary, "`allow` has \"please\", which overrides nothing.");
        assert_eq!(unknown_allow("encoding"), None);
    }

    #[test]
    fn an_edit_without_a_mode_is_refused_with_the_modes() {
        let fields = EditFields { path: b"a.txt".to_vec(), ..EditFields::default() };
        let remedy = "Add one: create, edit, append, overwrite, insert, replace_lines, \
                      delete_lines, delete, rename, replace_symbol, insert_before_symbol, \
                      insert_after_symbol, rename_symbol.";
        assert_eq!(found(fields), [bad("Edit 1 has no `mode`.", remedy).with("edit", 1)]);
    }

    #[test]
    fn an_edit_needs_the_text_that_it_replaces() {
        let finding = Finding::new(
            Code::OldTextRequired,
            "Mode \"edit\" needs the text to replace in `old_text`; edit 1 has none.",
            "Send `old_text` exactly as it is in the file. To add to the end use mode \"append\"; \
             to replace the whole file use \"overwrite\".",
        );
        let finding = Finding { path: Some("a.txt".into()), ..finding.nothing_changed() };
        let finding = finding.with("edit", 1);
        let without = EditFields { content: text("x"), ..edit(Mode::Edit) };
        let empty = EditFields { old_text: text(""), ..without.clone() };
        assert_eq!(found(without), [finding.clone()]);
        assert_eq!(found(empty), [finding]);
    }

    #[test]
    fn a_missing_key_is_named_with_the_number_of_the_edit() {
        let good = EditFields { content: text("x"), ..edit(Mode::Append) };
        let refused = Request::of(None, None, Vec::new(), vec![good, edit(Mode::Append)]);
        let finding = bad("Mode \"append\" needs `content`; edit 2 has none.", "Add `content`.");
        assert_eq!(refused.unwrap_err().into_vec(), [finding.with("edit", 2)]);
    }

    #[test]
    fn a_key_that_the_mode_does_not_take_is_refused() {
        let fields = EditFields { to: Some(b"b.txt".to_vec()), ..edit(Mode::Delete) };
        let finding = bad(
            "Mode \"delete\" does not take `to` (edit 1).",
            "Leave it out, or use the mode that takes it: `edt apply --help` lists them.",
        );
        assert_eq!(found(fields), [finding.with("edit", 1)]);
    }

    #[test]
    fn a_range_ends_after_it_begins() {
        let fields = EditFields {
            start_line: Some(5),
            end_line: Some(4),
            content: text("x\n"),
            ..edit(Mode::ReplaceLines)
        };
        let finding = bad(
            "`end_line` 4 is before `start_line` 5 (edit 1).",
            "Send the first and the last line, both included.",
        );
        assert_eq!(found(fields), [finding.with("edit", 1)]);
    }

    #[test]
    fn a_hash_is_compared_in_lower_case() {
        assert_eq!(expect(Some("ABCDEF1".into())), Ok(Expect::Hash("abcdef1".into())));
        assert_eq!(expect(None), Ok(Expect::Anything));
    }

    #[test]
    fn a_hash_of_six_digits_is_too_short() {
        let finding = bad(
            "`expected_hash` \"abcdef\" is not a blob id.",
            "Send the hex id that `edt read` prints, at least 7 digits.",
        );
        assert_eq!(expect(Some("abcdef".into())), Err(finding));
    }

    #[test]
    fn a_hash_has_hex_digits_only() {
        assert!(expect(Some("abcdefg".into())).is_err());
        assert!(expect(Some("a".repeat(65))).is_err());
    }

    #[test]
    fn the_path_of_an_edit_is_checked() {
        let fields =
            EditFields { path: b"../x".to_vec(), content: text("x"), ..edit(Mode::Append) };
        let codes: Vec<Code> = found(fields).iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::PathOutsideRepo]);
    }

    #[test]
    fn the_new_path_of_a_rename_is_checked() {
        let fields = EditFields { to: Some(b".git/x".to_vec()), ..edit(Mode::Rename) };
        let codes: Vec<Code> = found(fields).iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::PathInGitDir]);
    }

    #[test]
    fn replace_all_changes_every_occurrence() {
        let fields = EditFields { old_text: text("a"), content: text("b"), ..edit(Mode::Edit) };
        let expected = |occurrences| {
            let matching = Matching::Strict;
            Op::Edit { old: b"a".to_vec(), new: b"b".to_vec(), occurrences, matching }
        };
        assert_eq!(op(fields.clone()), expected(Occurrences::One));
        let all = EditFields { replace_all: Some(true), ..fields };
        assert_eq!(op(all), expected(Occurrences::All));
    }

    #[test]
    fn an_insertion_is_an_empty_range_before_a_line() {
        let fields = EditFields { start_line: Some(3), content: text("x\n"), ..edit(Mode::Insert) };
        let range = LineRange::Before(3);
        assert_eq!(op(fields), Op::Lines { range, content: b"x\n".to_vec(), expected: None });
    }

    #[test]
    fn deleted_lines_are_replaced_by_nothing() {
        let fields = EditFields {
            start_line: Some(3),
            end_line: Some(4),
            expected_text: text("y\n"),
            ..edit(Mode::DeleteLines)
        };
        let (range, expected) = (LineRange::Of(3, 4), text("y\n"));
        assert_eq!(op(fields), Op::Lines { range, content: Vec::new(), expected });
    }

    #[test]
    fn a_created_file_is_executable_only_if_requested() {
        let fields = EditFields { content: text("x"), ..edit(Mode::Create) };
        let created = |executable| Op::Create { content: b"x".to_vec(), executable };
        assert_eq!(op(fields.clone()), created(false));
        assert_eq!(op(EditFields { executable: Some(true), ..fields }), created(true));
    }

    #[test]
    fn a_message_of_white_space_is_none() {
        let fields = EditFields { content: text("x"), ..edit(Mode::Append) };
        let request = Request::of(Some(" \n".into()), None, Vec::new(), vec![fields]).unwrap();
        assert_eq!(request.message, None);
    }

    #[test]
    fn a_built_request_needs_an_edit() {
        let found = Request::new("x").check().unwrap_err().into_vec();
        assert_eq!(found, [bad("The request has no edit.", "Add at least one edit.")]);
    }

    #[test]
    fn a_built_request_reports_every_malformed_edit() {
        let request = Request::new("x").delete("../a").delete("/b").delete("good");
        let paths: Vec<Option<String>> = request
            .check()
            .unwrap_err()
            .into_vec()
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(paths, [Some("../a".into()), Some("/b".into())]);
    }

    #[test]
    fn a_built_request_may_override_a_guard_that_edt_does_not_know() {
        Request::new("x").delete("a").allow("my_guard").check().unwrap();
    }

    #[test]
    fn a_patch_that_cannot_be_parsed_is_still_a_request() {
        let patch = PatchText::new(b"hello\n".to_vec(), None, None, Matching::Strict).unwrap();
        let request = Request::patch(Some("x".into()), None, Vec::new(), patch).unwrap();
        let found = request.with_parsed_patch().unwrap_err().into_vec();
        assert_eq!((found.len(), found[0].code), (1, Code::InvalidPatch));
        assert_eq!(found[0].evidence["patch_line"], json!(1));
    }
}
