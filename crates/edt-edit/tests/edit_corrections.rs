//! The corrections of edits whose text was not found: each class of near miss, and what must not be
//! corrected.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use edt_edit::locate::Occurrences;
use edt_edit::suggest::edit_correction;
use edt_types::RepoPath;

const FILE: &str = "#include <stdio.h>\n\nint add(int a, int b)\n{\n\tif (a < b) {\n\t\tprintf(\"less\\n\");\n\t}\n\treturn a + b;\n}\n\nint sub(int a, int b)\n{\n\tputs(\"sub it\");\n\treturn a - b;\n}\n";

/// The file after the corrected edit.
fn corrected_in(file: &str, old: &str, new: &str) -> Option<String> {
    corrected_at("a.c", file, old, new)
}

fn corrected_at(path: &str, file: &str, old: &str, new: &str) -> Option<String> {
    assert!(!file.contains(old), "the text is in the file");
    let path = RepoPath::parse(path.as_bytes()).unwrap();
    let (file_text, [old, new]) = (file.as_bytes(), [old, new].map(str::as_bytes));
    let texts = edit_correction(&path, file_text, (old, new), Occurrences::One)?;
    let (old, new) = (String::from_utf8(texts.0).unwrap(), String::from_utf8(texts.1).unwrap());
    assert_eq!(file.matches(&old).count(), 1, "{old}");
    Some(file.replacen(&old, &new, 1))
}

fn corrected(old: &str, new: &str) -> Option<String> {
    corrected_in(FILE, old, new)
}

/// The file in which `old` was replaced by `new`.
fn with(old: &str, new: &str) -> Option<String> {
    assert_eq!(FILE.matches(old).count(), 1);
    Some(FILE.replace(old, new))
}

#[test]
fn tabs_shown_as_spaces() {
    let after = with("\tif (a < b) {\n", "\tif (a < b) {\n\t\tputs(\"\");\n");
    let sent = [
        "    if (a < b) {\n        printf(",
        "    if (a < b) {\n        puts(\"\");\n        printf(",
    ];
    assert_eq!(corrected(sent[0], sent[1]), after);
}

#[test]
fn space_at_the_end_of_a_line() {
    let after = with("\treturn a + b;\n", "\treturn b + a;\n");
    assert_eq!(corrected("\treturn a + b; \n}\n", "\treturn b + a;\n}\n"), after);
    assert_eq!(corrected_in("a \nb\nc\n", "a\nb\n", "a\nd\n").unwrap(), "a \nd\nc\n");
}

#[test]
fn copied_line_numbers() {
    let after = with("\treturn a + b;\n", "\treturn b + a;\n");
    assert_eq!(corrected("8 | \treturn a + b;\n9 | }\n", "8 | \treturn b + a;\n9 | }\n"), after);
    assert_eq!(corrected("    8\u{2192}\treturn a + b;", "\treturn b + a;"), after);
    // The number of a single line must be its own: else it may belong to the text.
    assert_eq!(corrected("7: \treturn a + b;", "\treturn b + a;"), None);
}

#[test]
fn a_fence_and_the_markers_of_a_diff() {
    let after = with("\treturn a + b;\n", "\treturn b + a;\n");
    let fenced = |text: &str| format!("```c\n{text}\n```");
    assert_eq!(corrected(&fenced("\treturn a + b;"), &fenced("\treturn b + a;")), after);
    assert_eq!(corrected(&fenced("\treturn a + b;"), "\treturn b + a;"), after);
    assert_eq!(corrected(&fenced("8 | \treturn a + b;"), "\treturn b + a;"), after);
    assert_eq!(corrected("-\treturn a + b;\n }\n", "+\treturn b + a;\n }\n"), after);
    assert_eq!(corrected("-\treturn a + b;\n-}\n", "\treturn b + a;\n}\n"), after);
    // The markers must be before whole lines.
    assert_eq!(corrected_in("* a\nb\n", "- a", "- c"), None);
    assert_eq!(corrected("-\treturn a + b;\n }\n", "+\treturn b + a;\n}\n"), None);
}

#[test]
fn other_spaces_and_forms_of_unicode() {
    let after = with("int sub(int a, int b)", "int sub(int b, int a)");
    assert_eq!(corrected("int sub(int  a,int b)", "int sub(int  b,int a)"), after);
    assert_eq!(corrected("int sub( int a, int b )", "int sub(int b, int a)"), after);
    assert_eq!(corrected("int\u{a0}sub(int a, int b)", "int\u{a0}sub(int b, int a)"), after);
    assert_eq!(corrected("intsub(int a, int b)", "int sub(int b, int a)"), None);
    let file = "caf\u{e9} = 1\n";
    assert_eq!(
        corrected_in(file, "cafe\u{301} = 1", "cafe\u{301} = u\u{308}").unwrap(),
        "caf\u{e9} = \u{fc}\n"
    );
}

#[test]
fn escapes_left_in_or_lost() {
    let after = with("puts(\"sub it\");", "puts(\"sub\");");
    assert_eq!(corrected(r#"puts(\"sub it\");"#, r#"puts(\"sub\");"#), after);
    let lines = [r#"{\n\tputs(\"sub it\");\n\treturn"#, r#"{\n\tputs(\"sub\");\n\treturn"#];
    assert_eq!(corrected(lines[0], lines[1]), after);
    assert_eq!(
        corrected("(a < b) {\n\t\tprintf(\"less\n\");", "(b < a) {\n\t\tprintf(\"less\n\");"),
        with("(a < b)", "(b < a)")
    );
    // How the file would write the new line break is unknown.
    assert_eq!(corrected("printf(\"less\n\");", "printf(\"less\n\n\");"), None);
}

#[test]
fn an_escape_in_a_string_of_the_new_text_is_not_decoded() {
    let file = "first_step\nsecond_step\n";
    assert_eq!(
        corrected_in(file, "first_step\\nsecond_step", "first_step\\nprintf \"x\\n\""),
        None
    );
    assert_eq!(
        corrected_in(file, "first_step\\nsecond_step", "first_step\\nthird_step").unwrap(),
        "first_step\nthird_step\n"
    );
    // Nor is the text with its escapes offered.
    let python = "def f():\n    return jar\n";
    let sent = r#"    return jar\n\n\ndef g():\n    """Says."""\n    say("x\n")\n"#;
    assert_eq!(corrected_at("a.py", python, r"    return jar\n", sent), None);
}

#[test]
fn indentation_with_a_meaning_must_agree() {
    let yaml = "a:\n  b: 1\nc: 2\n";
    let sent = ("a:\n  b: 1\n  c: 2\n", "a:\n  b: 1\n  c: 3\n");
    let python = "if x:\n    first(x)\nlog(x)\n";
    let logged = ("if x:\n    first(x)\n    log(x)\n", "if x:\n    first(x)\n    log(y)\n");
    for (path, file, (old, new)) in [("a.yaml", yaml, sent), ("a.py", python, logged)] {
        assert_eq!(corrected_at(path, file, old, new), None, "{path}");
    }
    let deeper = "def f():\n    a = 1\n    b = 2\n";
    assert_eq!(
        corrected_at("a.py", deeper, "a = 1\nb = 2\n", "a = 1\nb = 3\n").unwrap(),
        deeper.replace("b = 2", "b = 3")
    );
}

#[test]
fn curly_quotes_and_entities() {
    let after = with("puts(\"sub it\");", "puts(\"sub\");");
    assert_eq!(corrected("puts(\u{201c}sub it\u{201d});", "puts(\u{201c}sub\u{201d});"), after);
    assert_eq!(corrected("if (a &lt; b)", "if (a &lt;= b)"), with("(a < b)", "(a <= b)"));
    let prose = "It\u{2019}s one.\nIt is two.\n";
    assert_eq!(
        corrected_in(prose, "It's one.\nIt is two.\n", "It's one.\nIt is 2.\n").unwrap(),
        "It\u{2019}s one.\nIt is 2.\n"
    );
}

#[test]
fn neighbours_that_changed() {
    let file = FILE.replace("int sub(int a, int b)", "int sub(int a, int bb)");
    let sent = "int sub(int a, int b)\n{\n\tputs(\"sub it\");\n\treturn a - b;\n";
    assert_eq!(
        corrected_in(&file, sent, &sent.replace("a - b", "b - a")),
        Some(file.replace("a - b", "b - a"))
    );
}

#[test]
fn lines_that_a_formatter_wrapped_or_indented() {
    let file = "x = 1\nresult = compute(\n    alpha,\n    beta,\n)\n";
    assert_eq!(
        corrected_in(file, "result = compute(alpha, beta)", "result = compute(alpha, gamma)"),
        Some(file.replace("beta", "gamma"))
    );
    let file = "if x:\n  y()\n  z()\n";
    assert_eq!(
        corrected_in(file, "if x:\n    y()\n", "if x:\n    w()\n    y()\n").unwrap(),
        "if x:\n  w()\n  y()\n  z()\n"
    );
}

#[test]
fn an_edit_that_the_agent_made_before() {
    let file = FILE.replace("puts(\"sub it\");", "puts(\"subtract it\");");
    let old = "\tputs(\"sub it\");\n\treturn a - b;\n}\n";
    let both = "\tputs(\"subtract it\");\n\treturn b - a;\n}\n";
    let apart = "int sub(int a, int b)\n{\n";
    let whole = |text: &str| [apart, text].concat();
    assert_eq!(corrected_in(&file, &whole(old), &whole(both)), None, "one change cannot be two");
    let old = "\tputs(\"sub it\");\n\n\treturn a - b;\n}\n";
    let both = "\tputs(\"subtract it\");\n\n\treturn b - a;\n}\n";
    let file = file.replace("it\");\n\treturn a - b", "it\");\n\n\treturn a - b");
    assert_eq!(
        corrected_in(&file, &whole(old), &whole(both)),
        Some(file.replace("a - b", "b - a"))
    );
}

#[test]
fn every_place_of_a_text_that_is_to_be_replaced_everywhere() {
    let all = |old: &str, new: &str| {
        let texts = edit_correction(
            &RepoPath::parse(b"a.c").unwrap(),
            FILE.as_bytes(),
            (old.as_bytes(), new.as_bytes()),
            Occurrences::All,
        )?;
        Some((String::from_utf8(texts.0).unwrap(), String::from_utf8(texts.1).unwrap()))
    };
    assert_eq!(all(r#"(\"s"#, r#"(\"S"#), Some(("(\"s".to_owned(), "(\"S".to_owned())));
    assert_eq!(all("int  a", "long a"), None);
}

#[test]
fn line_endings_stay() {
    let file = "one\r\n\ttwo\r\nthree\r\n";
    assert_eq!(
        corrected_in(file, "    two\n", "    2\n    3\n").unwrap(),
        "one\r\n\t2\r\n\t3\r\nthree\r\n"
    );
}

#[test]
fn one_of_two_places_is_not_chosen() {
    let twice = [FILE, FILE].concat();
    assert_eq!(corrected_in(&twice, "    return a + b;\n", "    return b + a;\n"), None);
    assert_eq!(corrected_in(&twice, r#"puts(\"sub it\");"#, "x"), None);
    assert_eq!(corrected_in("f(a,\n b)\nf(a,\n  b)\n", "f(a, b)", "f(a, c)"), None);
}

#[test]
fn a_text_that_means_something_else_is_not_corrected() {
    for old in [
        "    return a + c;\n",
        "    return a * b;\n",
        "    return a + 2;\n",
        "if (a <= b)",
        "int mul(int a, int b)\n{\n    return a * b;\n}\n",
        "puts(\"subit\");",
    ] {
        assert_eq!(corrected(old, "x"), None, "{old}");
        assert_eq!(corrected(old, &format!("{old}\n    x\n")), None, "{old}");
    }
}

#[test]
fn a_change_that_was_made_is_not_made_again() {
    let file = FILE.replace("puts(\"sub it\");", "puts(\"sub it\");\n\tputs(\"and more\");");
    let sent = "    puts(\"sub it\");\n";
    assert_eq!(corrected_in(&file, sent, &format!("{sent}    puts(\"and more\");\n")), None);
}

#[test]
fn the_head_of_another_block_is_not_a_changed_neighbour() {
    let file = "def first(a):\n    log(\"start\")\n    x = compute(a)\n    log(\"end\")\n\n\ndef second(a):\n    log(\"start\")\n    y = compute(a)\n    log(\"end\")\n";
    let sent = "def second(a):\n    log(\"start\")\n    x = compute(a)\n    log(\"end\")\n";
    let new = sent.replace("compute(a)", "compute(a, 1)");
    assert_eq!(corrected_at("a.py", file, sent, &new), None);
    let file = "build:\n  steps:\n    - run: make\n    - run: make install\n";
    let sent = file.replace("build:", "lint:");
    let new = sent.replace("make install", "make check");
    assert_eq!(corrected_at("a.yml", file, &sent, &new), None);
}
