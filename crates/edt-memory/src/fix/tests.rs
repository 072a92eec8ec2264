//! One example for each class, and what is no fix.

use super::*;
use edt_journal::refusals::Texts;

const NOT_FOUND: &str = "OLD_TEXT_NOT_FOUND";
const OLD: &str = "\treturn total_of(a, b);\n";
const NEW: &str = "\treturn total_of(b, a);\n";

fn tried(mode: &str, old: Option<&str>, new: Option<&str>) -> TriedEdit {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let (path, mode) = (Some("src/a.c".to_owned()), Some(mode.to_owned()));
    TriedEdit { path, mode, old: text(old), new: text(new), ..TriedEdit::default() }
}

fn edit(old: &str, new: &str) -> TriedEdit {
    tried("edit", Some(old), Some(new))
}

fn lines(first: u64, last: u64, new: &str) -> TriedEdit {
    TriedEdit { lines: Some([first, last]), ..tried("replace_lines", None, Some(new)) }
}

#[track_caller]
fn is(expected: Class, refused: &TriedEdit, landed: &TriedEdit) {
    assert_eq!(class_of(NOT_FOUND, refused, landed), Ok(expected));
}

#[track_caller]
fn is_none(expected: NoFix, refused: &TriedEdit, landed: &TriedEdit) {
    assert_eq!(class_of(NOT_FOUND, refused, landed), Err(expected));
}

#[test]
fn white_space_inside_before_and_after_lines_and_their_ends() {
    let landed = edit(OLD, NEW);
    is(Class::WhiteSpace, &edit("    return total_of(a, b);\n", NEW), &landed);
    is(
        Class::WhiteSpace,
        &edit("\treturn total_of(a,b);  \r\n", "    return total_of(b, a);\n"),
        &landed,
    );
}

#[test]
fn copied_line_numbers_and_diff_marks() {
    let landed = edit("int a_name;\nint b_name;\n", "int a_name;\nint c_name;\n");
    is(
        Class::CopiedMarks,
        &edit("12: int a_name;\n13: int b_name;\n", "12: int a_name;\n13: int c_name;\n"),
        &landed,
    );
    is(
        Class::CopiedMarks,
        &edit("    12→int a_name;\n    13→int b_name;\n", "int a_name;\nint c_name;\n"),
        &landed,
    );
    is(
        Class::CopiedMarks,
        &edit("-int a_name;\n-int b_name;\n", "+int a_name;\n+int c_name;\n"),
        &landed,
    );
}

#[test]
fn escapes_and_quotes() {
    let landed = edit("say(\"hello\", x);\n", "say(\"good bye\", x);\n");
    is(Class::Escaping, &edit("say(\\\"hello\\\", x);\n", "say(\\\"good bye\\\", x);\n"), &landed);
    is(
        Class::Escaping,
        &edit("if (first &lt; 2)\n", "if (first &lt; 3)\n"),
        &edit("if (first < 2)\n", "if (first < 3)\n"),
    );
    is(Class::Quotes, &edit("say('hello', x);\n", "say('good bye', x);\n"), &landed);
    is(Class::Quotes, &edit("say(“hello”, x);\n", "say(\"good bye\", x);\n"), &landed);
}

#[test]
fn a_placeholder_that_was_replaced_by_the_code() {
    let refused = edit(
        "def f(x):\n    # ... existing code ...\n    return x\n",
        "def f(x):\n    return g(x)\n",
    );
    let landed = edit("def f(x):\n    x = x + 1\n    return x\n", "def f(x):\n    return g(x)\n");
    is(Class::Elision, &refused, &landed);
    let new = |body: &str| {
        tried(
            "overwrite",
            None,
            Some(&format!("def first():\n    pass\n{body}def last():\n    pass\n")),
        )
    };
    is(Class::Elision, &new("# rest of the file\n"), &new("def middle():\n    pass\n"));
    // Only comments have words; a name does not.
    assert!(!is_placeholder("rest_of(unchanged)") && is_placeholder("  // ... more"));
}

#[test]
fn more_or_less_text_around_the_same_change() {
    let longer =
        edit("int before;\n\treturn total_of(a, b);\n", "int before;\n\treturn total_of(b, a);\n");
    let ambiguous = class_of("OLD_TEXT_AMBIGUOUS", &edit(OLD, NEW), &longer);
    assert_eq!(ambiguous, Ok(Class::MissingContext));
    // A text that was not found is not in one that was, unless something else changed.
    is_none(NoFix::SameCall, &edit(OLD, NEW), &longer);
    is(Class::ShorterText, &longer, &edit(OLD, NEW));
    // Its white space was changed, too.
    is(Class::Other, &edit("    return total_of(a, b);\n", NEW), &longer);
}

#[test]
fn another_old_text_for_the_same_new_one() {
    is(
        Class::StaleText,
        &edit("\treturn sum_of(a, b, c);\n", NEW),
        &edit("\treturn sum_of(a, b, 0);\n", NEW),
    );
}

#[test]
fn a_bracket_and_a_lost_import() {
    is(
        Class::Bracket,
        &edit(OLD, "\tif (a) { return total_of(b, a);\n"),
        &edit(OLD, "\tif (a) { return total_of(b, a); }\n"),
    );
    let body = "def total(numbers):\n    return math.fsum(numbers)\n";
    is(Class::LostImport, &edit(OLD, body), &edit(OLD, &format!("import math\n\n{body}")));
    is(Class::Other, &edit(OLD, body), &edit(OLD, &format!("x = 1\n{body}")));
}

#[test]
fn another_mode_format_or_path() {
    is(Class::WrongMode, &tried("create", None, Some(NEW)), &tried("overwrite", None, Some(NEW)));
    is(Class::WrongMode, &edit("gone entirely", NEW), &tried("append", None, Some(NEW)));
    is(
        Class::WrongMode,
        &edit(OLD, NEW),
        &tried("overwrite", None, Some(&format!("one\n{NEW}two\n"))),
    );
    is(Class::MissingOldText, &tried("edit", None, Some(NEW)), &edit(OLD, NEW));
    let patch = |edit: TriedEdit| TriedEdit { format: Format::Patch, mode: None, ..edit };
    is(Class::Format, &patch(edit(OLD, NEW)), &edit(OLD, NEW));
    let unread = patch(tried(
        "",
        None,
        Some("*** garbage\n-\treturn total_of(a, b);\n+\treturn total_of(b, a);\n"),
    ));
    is(Class::Format, &unread, &edit(OLD, NEW));
    is(Class::Other, &unread, &patch(edit(OLD, NEW)));
    is_none(NoFix::OtherIntent, &unread, &edit(OLD, "\tsomething_else(1);\n"));
    let absolute = TriedEdit { path: Some("/home/me/p/src/a.c".into()), ..edit(OLD, NEW) };
    assert_eq!(class_of("PATH_OUTSIDE_REPO", &absolute, &edit(OLD, NEW)), Ok(Class::WrongPath));
    // The path was not the reason.
    is_none(NoFix::OtherFile, &absolute, &edit(OLD, NEW));
}

#[test]
fn other_lines_another_definition_and_a_hash() {
    is(Class::WrongPlace, &lines(3, 4, NEW), &lines(7, 8, NEW));
    let of = |symbol: &str| TriedEdit {
        symbol: Some(symbol.into()),
        ..tried("replace_symbol", None, Some(NEW))
    };
    is(Class::WrongPlace, &of("total"), &of("Sum::total"));
    assert_eq!(class_of("HASH_REQUIRED", &lines(3, 4, NEW), &lines(3, 4, NEW)), Ok(Class::Hash));
}

#[test]
fn the_same_call_again_is_no_fix() {
    is_none(NoFix::SameCall, &edit(OLD, NEW), &edit(OLD, NEW));
    is_none(NoFix::SameCall, &lines(3, 4, NEW), &lines(3, 4, NEW));
}

#[test]
fn another_change_of_the_file_is_no_fix() {
    is_none(NoFix::OtherIntent, &edit(OLD, NEW), &tried("append", None, Some("unrelated words\n")));
    is_none(NoFix::OtherIntent, &edit(OLD, NEW), &edit(OLD, "\tsomething_else(1);\n"));
    is_none(
        NoFix::OtherPlace,
        &edit(OLD, NEW),
        &edit(
            "struct other_thing { int x; };\n",
            &format!("struct other_thing {{ int x; }};\n{NEW}"),
        ),
    );
    is_none(NoFix::OtherIntent, &lines(3, 4, "one_line(1);\n"), &lines(9, 9, "one_line(2);\n"));
    // The whole file with other content.
    is_none(
        NoFix::OtherIntent,
        &edit(OLD, NEW),
        &tried("overwrite", None, Some("all is new here\n")),
    );
}

#[test]
fn the_same_change_of_another_function_is_no_fix() {
    let at = |name: &str| {
        let head = format!("def {name}(self, first, second):\n    values = []\n");
        edit(&head, &format!("{head}    values.append(first)\n"))
    };
    is_none(NoFix::OtherIntent, &at("read_all_rows"), &at("read_all_cols"));
    // Nor is the change back.
    let (one, two) = ("# step count of the session\n", "# turn count of the session\n");
    is_none(NoFix::OtherIntent, &edit(one, two), &edit(two, one));
}

#[test]
fn a_deletion_answers_a_deletion_alone() {
    let deletes = |old: &str| edit(old, "");
    is(Class::WhiteSpace, &deletes("    return total_of(a, b);\n"), &deletes(OLD));
    is_none(NoFix::OtherIntent, &deletes(OLD), &edit(OLD, NEW));
    is_none(NoFix::OtherIntent, &edit(OLD, NEW), &deletes(OLD));
    is_none(NoFix::OtherPlace, &deletes(OLD), &tried("delete", None, None));
}

#[test]
fn a_short_text_says_nothing_without_its_place() {
    is_none(NoFix::OtherIntent, &edit("x", "y"), &tried("append", None, Some("y")));
    is_none(NoFix::OtherIntent, &edit("gone", "}\n"), &edit("int there;\n", "}\n"));
    is(Class::WhiteSpace, &edit("    return total_of(a, b);\n", "y"), &edit(OLD, "y"));
}

#[test]
fn texts_that_are_not_known_are_not_compared() {
    for texts in [Texts::Cut, Texts::Withheld, Texts::Unknown] {
        let cut = TriedEdit { texts, ..edit(OLD, NEW) };
        is_none(NoFix::Unknown, &cut, &edit("\t\treturn total_of(a, b);\n", NEW));
    }
}

#[test]
fn of_several_edits_the_one_that_changed_is_compared() {
    let other = edit("int other_name;\n", "int third_name;\n");
    let (refused, landed) = (edit("    return total_of(a, b);\n", NEW), edit(OLD, NEW));
    let both = |one: &TriedEdit| vec![other.clone(), one.clone()];
    assert_eq!(
        class_of_calls(NOT_FOUND, &both(&refused), &both(&landed)),
        Ok((1, Class::WhiteSpace))
    );
    assert_eq!(
        class_of_calls(NOT_FOUND, &both(&refused), std::slice::from_ref(&landed)),
        Err(NoFix::Unclear)
    );
    assert_eq!(class_of_calls(NOT_FOUND, &both(&landed), &both(&landed)), Err(NoFix::SameCall));
    assert_eq!(
        class_of_calls(NOT_FOUND, std::slice::from_ref(&refused), &[other]),
        Err(NoFix::OtherIntent)
    );
    assert_eq!(
        class_of_calls(NOT_FOUND, &[refused], &[landed.clone(), landed]),
        Err(NoFix::Unclear)
    );
    assert_eq!(class_of_calls(NOT_FOUND, &[], &[]), Err(NoFix::Unclear));
}

#[test]
fn every_class_has_a_name_of_its_own() {
    let json = |class: &Class| serde_json::to_string(class).unwrap();
    assert!(Class::ALL.iter().all(|class| json(class) == format!("\"{}\"", class.name())));
    assert!(Class::ALL.is_sorted_by(|a, b| a < b));
}
