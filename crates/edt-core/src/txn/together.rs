//! Edits that only make sense together: a refused half is answered with the whole request, if the
//! other half is known.

use edt_edit::diff::LineDiff;
use edt_edit::{Edit, Expect, LineRange, Op};
use edt_io::clock;
use edt_types::text::lines;
use edt_types::{Code, DryRun, Finding, Outcome, Refusal, RepoPath, Result};

use super::refused_edits::{RefusedEdits, Target};
use super::request::Request;
use super::resolve::resolve;
use super::{guard, plan, ready};
use crate::session::LockedWorkspace;

/// Most copies that one offered request removes.
const MAX_REMOVED: usize = 8;

/// Adds the complete request to a refusal for a duplicate or a syntax error, if one is known that
/// applies and that no guard refuses. Remembers the refused edits, unless it is a dry run.
///
/// # Errors
/// The findings of `answer`.
pub(super) fn offer(
    workspace: &LockedWorkspace,
    request: &Request,
    answer: Result<Outcome>,
    dry_run: DryRun,
) -> Result<Outcome> {
    let is_half =
        |finding: &Finding| matches!(finding.code, Code::DuplicateCode | Code::SyntaxError);
    let found = match answer {
        Err(found) if request.patch.is_none() && request.proposal.is_none() => found,
        answer => return answer,
    };
    let mut findings = found.clone().into_vec();
    if !findings.iter().all(is_half) {
        return Err(found);
    }
    if let Some(half) = Half::of(workspace, request) {
        let state = workspace.repo.state_path();
        let refused = RefusedEdits::read(state);
        let earlier = half.target.as_ref().map_or_else(Vec::new, |target| refused.of(target));
        let offered = half
            .with_earlier(&earlier)
            .map(|request| (request, "it has this edit and the refused one before it"))
            .or_else(|| {
                let request = half.without_originals(&findings)?;
                Some((request, "it also removes the copy that the file has"))
            });
        if let (Some((request, what)), Some(finding)) = (offered, findings.first_mut()) {
            finding.remedy = format!(
                "If evidence.request is what you mean ({what}), send it as the request. Else: {}",
                finding.remedy
            );
            finding.evidence.insert(ready::KEY.to_owned(), request);
        }
        if let (Some(target), DryRun::No) = (half.target, dry_run) {
            refused.with(target, &request.edits).write(state);
        }
    }
    Refusal::check(findings)?;
    Err(found)
}

/// A refused request that fits the files.
struct Half<'a> {
    workspace: &'a LockedWorkspace,
    request: &'a Request,
    /// Each file that it would change, with its texts before and after.
    files: Vec<(RepoPath, Vec<u8>, Vec<u8>)>,
    /// The file, if it is the only one, and Git does not ignore it.
    target: Option<Target>,
}

impl<'a> Half<'a> {
    fn of(workspace: &'a LockedWorkspace, request: &'a Request) -> Option<Half<'a>> {
        let planned = plan::plan(workspace, resolve(workspace, request).ok()?).ok()?;
        let texts = |file: &plan::FilePlan| {
            let before = planned.state.before(file)?.bytes.clone();
            Some((file.path.clone(), before, file.after.as_ref()?.bytes.clone()))
        };
        let files: Vec<_> = planned.files.iter().filter_map(texts).collect();
        let target = match &planned.files[..] {
            [file] if request.edits.iter().all(|edit| edit.path == file.path) => {
                let state = planned.state.paths.get(&file.path)?;
                state.disk.as_ref().filter(|_| !state.ignored).map(|disk| Target {
                    session: planned.state.session.name.clone(),
                    path: file.path.text(),
                    hash: disk.file.oid.to_string(),
                })
            }
            _ => None,
        };
        Some(Half { workspace, request, files, target })
    }

    /// The request with the edits of refused ones before its own: of the latest that helps, else of
    /// all.
    fn with_earlier(&self, earlier: &[Vec<Edit>]) -> Option<serde_json::Value> {
        let all: Vec<Edit> = earlier.iter().rev().flatten().cloned().collect();
        let several = (earlier.len() > 1).then_some(&all);
        earlier.iter().chain(several).find_map(|earlier| self.together(earlier))
    }

    fn together(&self, earlier: &[Edit]) -> Option<serde_json::Value> {
        let mut edits = earlier.to_vec();
        for edit in &self.request.edits {
            edits.push(self.moved(earlier, edit)?);
        }
        self.accepted(&edits).ok().flatten()
    }

    /// `edit` with the line numbers that it has after `earlier`; `None` if its lines change there.
    fn moved(&self, earlier: &[Edit], edit: &Edit) -> Option<Edit> {
        let Op::Lines { range, content, expected } = &edit.op else { return Some(edit.clone()) };
        if self.request.edits.len() > 1 {
            return None;
        }
        let (path, before, _) = self.files.first()?;
        let first = Request { edits: earlier.to_vec(), ..Request::default() };
        let (after, _) = super::rehearsal::rehearse_request(&first, path, before, &[]).ok()?;
        let after = after?;
        let diff = LineDiff::of(before, &after, clock::in_ms(100));
        let (start, end) = match *range {
            LineRange::Before(line) => (line.checked_sub(1)?, line.checked_sub(1)?),
            LineRange::Of(first, last) => (first.checked_sub(1)?, last),
        };
        let (mut added, mut removed) = (0, 0);
        for (old, new) in diff.changes() {
            if old.end <= start && (old.start < start || start < end) {
                (added, removed) = (added + new.len(), removed + old.len());
            } else if old.start < end.max(start + 1) {
                return None;
            }
        }
        let to = |line: usize| (line + added).checked_sub(removed);
        let range = match *range {
            LineRange::Before(line) => LineRange::Before(to(line)?),
            LineRange::Of(first, last) => LineRange::Of(to(first)?, to(last)?),
        };
        let present = || {
            let rows = start..end.max((start + 1).min(diff.texts().0.len()));
            Some(diff.texts().0.get(rows)?.concat())
        };
        let expected = expected.clone().or_else(present);
        let op = Op::Lines { range, content: content.clone(), expected };
        Some(Edit { op, ..edit.clone() })
    }

    /// The request with edits that remove each original copy in `findings`.
    fn without_originals(&self, findings: &[Finding]) -> Option<serde_json::Value> {
        let mut edits = self.request.edits.clone();
        let mut findings = findings.to_vec();
        let mut texts: Vec<(&RepoPath, Vec<u8>)> =
            self.files.iter().map(|(path, _, after)| (path, after.clone())).collect();
        for _ in 0..MAX_REMOVED {
            for finding in &findings {
                let path = finding.path.as_deref()?;
                let (path, text) = texts.iter_mut().find(|(named, _)| named.text() == path)?;
                let rows = original_with_comments(finding, text)?;
                let all: Vec<&[u8]> = lines(text).collect();
                edits.push(Edit {
                    path: path.clone(),
                    expect: Expect::Anything,
                    op: Op::Lines {
                        range: LineRange::Of(rows.0 + 1, rows.1),
                        content: Vec::new(),
                        expected: Some(all.get(rows.0..rows.1)?.concat()),
                    },
                });
                *text = [&all[..rows.0], &all[rows.1..]].concat().concat();
            }
            match self.accepted(&edits) {
                Ok(accepted) => return accepted,
                Err(found) => findings = found,
            }
        }
        None
    }

    /// The JSON of the request with `edits`, if guards accept it and it changes files.
    ///
    /// # Errors
    /// The findings, if all of them are duplicates.
    fn accepted(
        &self,
        edits: &[Edit],
    ) -> std::result::Result<Option<serde_json::Value>, Vec<Finding>> {
        let Some(json) = ready::json(self.request, edits) else { return Ok(None) };
        // What is checked is what is sent back.
        let Ok(request) = Request::from_json(json.to_string().as_bytes()) else { return Ok(None) };
        let planned = resolve(self.workspace, &request)
            .and_then(|resolved| plan::plan(self.workspace, resolved));
        let Ok(planned) = planned else { return Ok(None) };
        if planned.files.is_empty() {
            return Ok(None);
        }
        match guard::passes(self.workspace, planned).map_err(Refusal::into_vec) {
            Ok(()) => Ok(Some(json)),
            Err(found) if found.iter().all(|one| one.code == Code::DuplicateCode) => Err(found),
            Err(_) => Ok(None),
        }
    }
}

/// The rows of the original copy with the comments and attributes directly above it, and one of the
/// blank lines around it.
fn original_with_comments(finding: &Finding, text: &[u8]) -> Option<(usize, usize)> {
    let number = |at: usize| -> Option<usize> {
        usize::try_from(finding.evidence.get("original")?.get(at)?.as_u64()?).ok()
    };
    let (mut first, mut end) = (number(0)?.checked_sub(1)?, number(1)?);
    let rows: Vec<&[u8]> = lines(text).map(<[u8]>::trim_ascii).collect();
    let belongs = |line: &[u8]| {
        let signs: [&[u8]; 8] = [b"//", b"/*", b"*/", b"* ", b"# ", b"#[", b"@", b"--"];
        line == b"*" || signs.iter().any(|sign| line.starts_with(sign))
    };
    while first > 0 && belongs(rows.get(first - 1)?) {
        first -= 1;
    }
    let is_blank = |row: usize| rows.get(row).is_none_or(|line| line.is_empty());
    if end < rows.len() && is_blank(end) && (first == 0 || is_blank(first - 1)) {
        end += 1;
    } else if end == rows.len() && first > 0 && is_blank(first - 1) {
        first -= 1;
    }
    Some((first, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};
    use edt_types::Status;

    const FILE: &str =
        "fn g() {}\n\n/// Twice `n`.\nfn f(n: u8) -> u8 {\n    n * 2\n}\n\nfn h() {}\n";

    fn offered(finding: &Finding) -> Request {
        let json = finding.evidence.get("request").expect("a request").to_string();
        Request::from_json(json.as_bytes()).unwrap()
    }

    fn copy() -> Request {
        let new = "/// Twice.\nfn f(n: u8) -> u8 {\n    n << 1\n}\n\nfn g() {}\n";
        Request::new("move f").edit("a.rs", "fn g() {}\n", new)
    }

    const MOVED: &str =
        "/// Twice.\nfn f(n: u8) -> u8 {\n    n << 1\n}\n\nfn g() {}\n\nfn h() {}\n";

    #[test]
    fn a_copy_is_offered_with_the_removal_of_the_original() {
        let scratch = Scratch::with(&[("a.rs", FILE)]);
        let found = refusal(scratch.apply(&copy()));
        assert_eq!(found.code, Code::DuplicateCode);
        assert!(found.remedy.starts_with("If evidence.request is what you mean"));
        assert_eq!(scratch.apply(&offered(&found)).unwrap().status, Status::Applied);
        assert_eq!(scratch.text("a.rs").as_deref(), Some(MOVED));
    }

    #[test]
    fn a_copy_and_the_removal_of_the_original_pass_in_one_request() {
        let scratch = Scratch::with(&[("a.rs", FILE)]);
        let old = "/// Twice `n`.\nfn f(n: u8) -> u8 {\n    n * 2\n}\n\n";
        scratch.apply(&copy().edit("a.rs", old, "")).unwrap();
        assert_eq!(scratch.text("a.rs").as_deref(), Some(MOVED));
    }

    #[test]
    fn several_copies_are_all_removed() {
        let file = "fn a() { 1; }\n\nfn b() { 2; }\n\nfn c() { 3; }\n";
        let scratch = Scratch::with(&[("a.rs", file)]);
        let new = "fn c() { 3; }\n\nfn b() { 5; }\n\nfn a() { 4; }\n";
        let found = refusal(scratch.apply(&Request::new("x").edit("a.rs", "fn c() { 3; }\n", new)));
        scratch.apply(&offered(&found)).unwrap();
        assert_eq!(scratch.text("a.rs").as_deref(), Some(new));
    }

    #[test]
    fn equal_neighbours_are_not_offered_as_a_change_of_nothing() {
        let scratch = Scratch::with(&[("a.rs", FILE)]);
        let twice = Request::new("x").edit("a.rs", "fn h() {}\n", "fn h() {}\n\nfn h() {}\n");
        let found = refusal(scratch.apply(&twice));
        assert_eq!(found.evidence.get("request"), None);
    }

    const OPEN: &str = "fn f(a: bool) {\n    one();\n    two();\n    three();\n}\n";
    const WHOLE: &str =
        "fn f(a: bool) {\n    if a {\n    one();\n    two();\n    }\n    three();\n}\n";

    #[test]
    fn a_closing_is_offered_with_the_refused_opening() {
        let line = "    three();\n";
        let closing = [
            Request::new("x").edit("a.rs", line, format!("    }}\n{line}")),
            Request::from_json(
                br#"{"path": "a.rs", "mode": "insert", "start_line": 4, "content": "    }\n"}"#,
            )
            .unwrap(),
            Request::from_json(
                br#"{"path": "a.rs", "mode": "replace_lines", "start_line": 4, "end_line": 4,
                    "expected_text": "    three();\n", "content": "    }\n    three();\n"}"#,
            )
            .unwrap(),
        ];
        for closing in closing {
            let scratch = Scratch::with(&[("a.rs", OPEN)]);
            let opening =
                Request::new("x").edit("a.rs", "    one();\n", "    if a {\n    one();\n");
            let found = refusal(scratch.apply(&opening));
            assert_eq!((found.code, found.evidence.get("request")), (Code::SyntaxError, None));
            assert!(found.remedy.contains("in one request"), "{}", found.remedy);
            let found = refusal(scratch.apply(&closing));
            scratch.apply(&offered(&found)).unwrap();
            assert_eq!(scratch.text("a.rs").as_deref(), Some(WHOLE));
        }
    }

    #[test]
    fn refused_edits_of_an_earlier_text_are_not_offered() {
        let scratch = Scratch::with(&[("a.rs", OPEN)]);
        let opening = Request::new("x").edit("a.rs", "    one();\n", "    if a {\n    one();\n");
        let closing = Request::new("x").edit("a.rs", "    three();\n", "    }\n    three();\n");
        refusal(scratch.apply(&opening));
        scratch.edit("x", "a.rs", "two", "second");
        assert_eq!(refusal(scratch.apply(&closing)).evidence.get("request"), None);
    }

    #[test]
    fn a_dry_run_is_not_remembered() {
        let scratch = Scratch::with(&[("a.rs", OPEN)]);
        let opening = Request::new("x").edit("a.rs", "    one();\n", "    if a {\n    one();\n");
        let closing = Request::new("x").edit("a.rs", "    three();\n", "    }\n    three();\n");
        super::super::transact(&mut scratch.open(), &opening, DryRun::Yes).unwrap_err();
        assert_eq!(refusal(scratch.apply(&closing)).evidence.get("request"), None);
    }
}
