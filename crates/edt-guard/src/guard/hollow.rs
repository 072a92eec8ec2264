//! The body of a function must not be replaced by a stub or by comments.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::check::{Guard, GuardContext, GuardOutput};
use super::invisible::is_minified;
use super::runs;
use super::subject::Subject;
use edt_lang::bodies::{Body, Does};
use edt_lang::{Parsed, Stop};
use edt_types::text::counted;
use edt_types::{Code, Finding};

/// The guard `hollow_body`.
#[derive(Debug)]
pub struct HollowBody;

/// A function that loses its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hollow {
    /// The name of the function.
    pub name: String,
    /// The row of its new body.
    pub row: usize,
    /// How many lines of the old body are lost.
    pub lost: usize,
    /// Whether the new body has these lines as comments.
    pub commented_out: bool,
}

/// A shorter body is not worth a refusal.
const MIN_LINES: usize = 3;
const MIN_TOKENS: usize = 16;

impl Guard for HollowBody {
    fn name(&self) -> &'static str {
        "hollow_body"
    }

    fn rule(&self) -> &'static str {
        "A function with three lines or more would have a body that does nothing: empty, comments \
         only, `pass`, or a statement that says that it is not implemented. Lines that move \
         elsewhere in the transaction are not lost. Functions that a program has minified may \
         lose theirs."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        if file.before.is_none() || file.language().is_none() {
            return Vec::new();
        }
        match file.within_limit(|| detect(file)) {
            Ok(found) => GuardOutput::of(self.name(), found.map(|found| explain(file, &found))),
            Err(why) => vec![GuardOutput::Unchecked {
                word: self.name(),
                reason: format!("The bodies of {} were not checked: {why}.", file.path),
            }],
        }
    }
}

/// The first function that loses its body.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Hollow> {
    subject.text()?;
    // Most edits neither remove so many lines at once nor open a comment, and need no tree.
    let opens = subject.language()?.block_comments;
    let opens_comment = |line: &[u8]| {
        opens.iter().any(|(open, _)| line.trim_ascii_start().starts_with(open.as_bytes()))
    };
    if !subject.hunks().iter().any(|hunk| hunk.old.len() >= MIN_LINES)
        && !subject.added_lines().any(|(_, line)| opens_comment(line))
    {
        return None;
    }
    let Some(Ok(new)) = subject.new_tree() else { return None };
    if let Some(found) = hollow(subject, new, || subject.old_tree()?.as_ref().ok()) {
        return Some(found);
    }
    // The head of a function may have idioms that the grammar does not know.
    let language = new.language();
    let plain = |text| subject.without_idioms(language, text).ok().flatten();
    if !new.has_error() {
        return None;
    }
    let (before, after) = (plain(subject.old_code()?)?, plain(subject.text()?)?);
    let new = subject.parse(language, &after).ok()?;
    let old = OnceCell::new();
    let old = || old.get_or_init(|| subject.parse(language, &before).ok()).as_ref();
    hollow(subject, &new, old)
}

/// The first function of the new tree that does nothing, and did something in the old one.
fn hollow<'p, 't: 'p>(
    subject: &Subject<'_>,
    new: &Parsed<'_>,
    old: impl FnOnce() -> Option<&'p Parsed<'t>>,
) -> Option<Hollow> {
    let expired = || subject.is_over();
    let stop = Stop::when(&expired);
    let stubs: Vec<Body> = { new.bodies(Some(&subject.touched()), &stop).into_iter() }
        .filter(|body| body.does == Does::Nothing)
        .collect();
    if stubs.is_empty() {
        return None;
    }
    let rows = subject.lines().texts().1.len();
    let is_bundle = (0..rows).any(|row| is_minified(subject, row));
    let is_made =
        |stub: &Body| is_minified(subject, stub.begins) || is_bundle && stub.name.len() <= 2;
    let test = runs::is_test(&subject.path.text());
    let may_be_empty = |stub: &Body| {
        let named = test && ends_a_test(&stub.name) || is_constructor(subject, &stub.name);
        is_made(stub) || named && !has_words(subject, stub)
    };
    let (before, after) = (old()?.bodies(None, &stop), new.bodies(None, &stop));
    let lost = subject.lost_lines();
    stubs.into_iter().take_while(|_| !subject.is_over()).find_map(|stub| {
        let first = earlier(subject, &stub, &before, &after).filter(|_| !may_be_empty(&stub))?;
        let works = matches!(first.does, Does::Something(tokens) if tokens >= MIN_TOKENS);
        works.then(|| hollowed(subject, &stub, first, &lost)).flatten()
    })
}

/// Whether the body of a function that does nothing has a comment with words, such as `TODO`.
fn has_words(subject: &Subject<'_>, stub: &Body) -> bool {
    let lines = subject.lines().texts().1;
    lines[stub.rows.clone()].iter().any(|line| without_marks(line).len() < line.trim_ascii().len())
}

/// Whether a function that tests share is named after its work behind each test, which may become none.
fn ends_a_test(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "");
    ["teardown", "takedown", "cleanup"].iter().any(|word| name.contains(word))
}

/// Whether a function of JavaScript makes objects with methods of `NAME.prototype`: like other
/// constructors, it may do nothing.
fn is_constructor(subject: &Subject<'_>, name: &str) -> bool {
    let methods = format!("{name}.prototype.");
    memchr::memmem::find(subject.after.unwrap_or_default(), methods.as_bytes()).is_some()
}

/// The function that `stub` was. Of several functions of one name the text must have as many as
/// before, and it must begin with the same line: else nobody knows which one it was.
fn earlier<'b>(
    subject: &Subject<'_>,
    stub: &Body,
    before: &'b [Body],
    after: &[Body],
) -> Option<&'b Body> {
    let (old, new) = subject.lines().texts();
    let same = |body: &&Body| body.name == stub.name;
    let at = after.iter().filter(same).position(|body| body == stub)?;
    let found = before.iter().filter(same).nth(at)?;
    let number = before.iter().filter(same).count();
    let alike =
        || number == after.iter().filter(same).count() && old[found.begins] == new[stub.begins];
    (number == 1 && at == 0 || alike()).then_some(found)
}

fn hollowed(
    subject: &Subject<'_>,
    stub: &Body,
    before: &Body,
    lost: &HashMap<&[u8], i64>,
) -> Option<Hollow> {
    let (old, new) = subject.lines().texts();
    let filled = |line: &[u8]| line.iter().any(u8::is_ascii_alphanumeric);
    let lines: Vec<&[u8]> = { old[before.rows.clone()].iter() }
        .map(|line| line.trim_ascii())
        .filter(|line| filled(line))
        .collect();
    let comments: HashSet<&[u8]> =
        new[stub.begins..stub.rows.end].iter().map(|line| without_marks(line)).collect();
    let kept = lines.iter().filter(|line| comments.contains(*line)).count();
    let commented_out = kept * 4 >= lines.len() * 3;
    let gone = lines.iter().filter(|line| lost.contains_key(**line)).count();
    let lost = if commented_out { kept } else { gone };
    if lost < MIN_LINES || lost * 4 < lines.len() * 3 {
        return None;
    }
    Some(Hollow { name: stub.name.clone(), row: stub.rows.start, lost, commented_out })
}

/// A line without the marks of a comment around it.
pub(super) fn without_marks(line: &[u8]) -> &[u8] {
    let is_mark = |byte: &u8| byte.is_ascii_whitespace() || b"/*#".contains(byte);
    let from = line.iter().position(|byte| !is_mark(byte)).unwrap_or(line.len());
    line[from..].trim_ascii()
}

fn explain(subject: &Subject<'_>, found: &Hollow) -> Finding {
    let (line, path, name) = (found.row + 1, subject.path, &found.name);
    let lost = counted(found.lost, "line");
    let summary = if found.commented_out {
        format!("The body of `{name}` in {path} (line {line}) would be commented out: {lost}.")
    } else {
        format!(
            "`{name}` in {path} would do nothing (line {line}): {lost} of its body would be lost."
        )
    };
    Finding::new(
        Code::HollowBody,
        summary,
        "Send the body as it should be, or leave the function as it is.",
    )
    .nothing_changed()
    .or_override("If it really should do nothing, repeat with allow: [\"hollow_body\"].")
    .at(path)
    .with("line", line)
    .with("function", name.as_str())
    .with("lines_lost", found.lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Transaction, TransactionFile};
    use edt_types::RepoPath;
    use std::time::Duration;

    fn found(path: &str, before: &str, after: &str) -> Option<(String, bool)> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let limit = Duration::from_secs(5);
        detect(&Subject::new(&path, None, before, after, Vec::new(), limit))
            .map(|found| (found.name, found.commented_out))
    }

    const PYTHON: &str = "def f(a):\n    b = a + 1\n    c = g(b, a)\n    h(c)\n    return c\n";
    const C: &str =
        "int f(int a)\n{\n\tint b = a + 1;\n\tint c = g(b, a);\n\th(c);\n\treturn c;\n}\n";

    #[test]
    fn a_body_that_becomes_a_stub_is_found() {
        for body in ["pass", "...", "raise NotImplementedError", "# TODO\n    pass"] {
            let after = format!("def f(a):\n    {body}\n");
            assert_eq!(found("a.py", PYTHON, &after), Some(("f".to_owned(), false)), "{body}");
        }
        for body in ["", "\t/* TODO: implement */\n"] {
            let after = format!("int f(int a)\n{{\n{body}}}\n");
            assert_eq!(found("a.c", C, &after), Some(("f".to_owned(), false)), "{body}");
        }
    }

    #[test]
    fn the_members_may_do_the_work_of_a_destructor() {
        let text = |body: &str| format!("A::~A() {{\n{body}}}\n");
        let body = "  delete b(1, 2);\n  delete c(3, 4);\n  delete d(5, 6);\n  delete e(7);\n";
        assert_eq!(found("a.cpp", &text(body), &text("")), None);
    }

    #[test]
    fn a_function_behind_a_macro_is_found() {
        let inline = |text: &str| format!("A_INLINE\n{text}");
        let after = inline("int f(int a)\n{\n}\n");
        assert_eq!(found("a.c", &inline(C), &after), Some(("f".to_owned(), false)));
    }

    #[test]
    fn a_body_that_is_commented_out_is_found() {
        let commented = |text: &str, mark: &str| {
            text.lines()
                .map(|line| match line.strip_prefix([' ', '\t']) {
                    Some(_) => format!("{mark}{line}\n"),
                    None => format!("{line}\n"),
                })
                .collect::<String>()
        };
        let expected = Some(("f".to_owned(), true));
        assert_eq!(found("a.c", C, &commented(C, "//")), expected);
        let python = commented(PYTHON, "#") + "    pass\n";
        assert_eq!(found("a.py", PYTHON, &python), expected);
        let block = C.replace("{\n", "{\n/*\n").replace("}\n", "*/\n}\n");
        assert_eq!(found("a.c", C, &block), expected);
    }

    #[test]
    fn short_bodies_other_bodies_and_stubs_that_were_there_are_not() {
        let short = "def f(a):\n    b = a\n    return b\n";
        assert_eq!(found("a.py", short, "def f(a):\n    pass\n"), None);
        assert_eq!(found("a.py", PYTHON, "def f(a):\n    return g(a)\n"), None);
        let stub = "def f(a):\n    pass\n\ndef g(a):\n    b = 1\n    c = 2\n    d = 3\n";
        assert_eq!(found("a.py", stub, "def f(a):\n    pass\n"), None);
        let moved = PYTHON.replace("def f", "def ff") + "\ndef f(a):\n    pass\n";
        assert_eq!(found("a.py", PYTHON, &moved), None);
    }

    #[test]
    fn the_end_of_a_test_and_a_constructor_may_become_empty() {
        let text = |name: &str, body: &str| format!("void\n{name}(void)\n{{\n{body}}}\n");
        let body = "\tfree(a->b);\n\tfree(a->c);\n\tfree(a->d);\n\tfree(a->e);\n";
        let found_in = |path: &str, name: &str| found(path, &text(name, body), &text(name, ""));
        assert_eq!(found_in("tests/a.c", "tear_down"), None);
        assert!(found_in("tests/a.c", "start_up").is_some());
        let stub = text("tear_down", "\t/* TODO: implement */\n");
        assert!(found("tests/a.c", &text("tear_down", body), &stub).is_some());
        assert!(found_in("lib/a.c", "tear_down").is_some());
        let body = "\n  this.a = b(1);\n  this.c = d(2, e);\n  this.f = g(h);\n  i(this);\n";
        let text = |body: &str, more: &str| format!("function A() {{{body}}}\n{more}");
        let methods = "A.prototype.b = function () { return 1; };\n";
        assert_eq!(found("a.js", &text(body, methods), &text("", methods)), None);
        assert!(found("a.js", &text(body, ""), &text("", "")).is_some());
    }

    #[test]
    fn a_bundle_may_have_stubs() {
        let long = format!("var u = \"{}\";\n", "b".repeat(1000));
        let text = |name: &str, body: &str| format!("function {name}(a) {{{body}}}\n");
        let body = "\n  var b = c(a, 1);\n  d(b, 2, 3);\n  e(b, 4, 5);\n  return b;\n";
        let made = |name: &str, more: &str| {
            found("a.js", &text(name, body), &(text(name, "") + more)).map(|(name, _)| name)
        };
        assert_eq!(made("f", ""), Some("f".to_owned()));
        assert_eq!(made("f", &long), None);
        assert_eq!(made("longer", &long), Some("longer".to_owned()));
        let minified = text("longer", "").replace('\n', "") + &long;
        assert_eq!(found("a.js", &text("longer", body), &minified), None);
    }

    #[test]
    fn one_of_several_functions_of_a_name_is_found_by_its_place() {
        let method = PYTHON.replace('\n', "\n    ");
        let classes = |second: &str| format!("class A:\n    {method}\nclass B:\n    {second}\n");
        let stub = "def f(a):\n        pass\n";
        let lost = Some(("f".to_owned(), false));
        assert_eq!(found("a.py", &classes(&method), &classes(stub)), lost);
        let one = format!("class B:\n    {stub}");
        assert_eq!(found("a.py", &classes(&method), &one), None, "nobody knows which one it was");
    }

    #[test]
    fn a_body_that_moves_to_another_file_is_not_lost() {
        let (path, other) = (RepoPath::parse(b"a.py").unwrap(), RepoPath::parse(b"b.py").unwrap());
        let after = b"def f(a):\n    pass\n";
        let files = Transaction::new(vec![
            TransactionFile { path: &path, before: PYTHON.as_bytes(), after },
            TransactionFile { path: &other, before: b"", after: PYTHON.as_bytes() },
        ]);
        let (before, limit) = (Some(PYTHON.as_bytes()), Duration::from_secs(5));
        let subject = Subject::new(&path, None, before, Some(after), Vec::new(), limit);
        assert_eq!(detect(&subject.in_transaction(&files)), None);
    }

    #[test]
    fn the_function_and_its_lines_are_named() {
        let path = RepoPath::parse(b"a.py").unwrap();
        let (before, after) = (Some(PYTHON.as_bytes()), Some(&b"def f(a):\n    pass\n"[..]));
        let file = Subject::new(&path, None, before, after, Vec::new(), Duration::from_secs(5));
        assert_eq!(
            explain(&file, &detect(&file).unwrap()).summary,
            "`f` in a.py would do nothing (line 2): 4 lines of its body would be lost."
        );
    }
}
