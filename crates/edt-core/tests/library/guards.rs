//! What the guards refuse and what they pass, each by the smallest edit that shows it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::repo::{Answer, LibraryRepo, lines};

/// A repository with the file; without it if the text is empty.
fn workspace(path: &str, before: &str) -> LibraryRepo {
    let file = [(path, before.as_bytes())];
    LibraryRepo::with(if before.is_empty() { &[] } else { &file })
}

/// The edit that gives the file another text.
fn edit(path: &str, before: &str, after: &str) -> Value {
    json!({"path": path, "mode": if before.is_empty() { "create" } else { "overwrite" }, "content": after})
}

/// The edit must land without a warning.
#[track_caller]
fn lands(path: &str, before: &str, after: &str) {
    let workspace = workspace(path, before);
    workspace.apply(&edit(path, before, after)).landed();
    assert_eq!(workspace.text(path), after);
}

/// The edit must be refused with exactly `codes`, each with its override; with all of the overrides
/// it must land, and its commit must name them.
#[track_caller]
fn refused(codes: &[&str], path: &str, before: &str, after: &str) -> Answer {
    let workspace = workspace(path, before);
    let mut request = edit(path, before, after);
    let answer = workspace.refuses_request(codes, 1, &request);
    let mut words: Vec<&str> = Vec::new();
    for error in answer.errors() {
        let allow = error["allow"].as_str().unwrap();
        assert!(
            error["hint"].as_str().unwrap().contains(&format!("allow: [\"{allow}\"]")),
            "{error:#}"
        );
        assert_eq!(error["path"], json!(path), "{error:#}");
        words.push(allow);
    }
    words.sort_unstable();
    request["allow"] = json!(words);
    workspace.apply(&request).landed();
    assert_eq!(workspace.text(path), after);
    assert_eq!(workspace.trailers("Edt-Allowed"), words);
    answer
}

/// The line that the only error names.
#[track_caller]
fn line(answer: &Answer) -> u64 {
    assert_eq!(answer.errors().len(), 1, "{:#}", answer.json);
    answer.errors()[0]["evidence"]["line"].as_u64().unwrap()
}

/// Both places that the only error names, as first and last lines.
#[track_caller]
fn places(answer: &Answer) -> (&Value, &Value) {
    assert_eq!(answer.errors().len(), 1, "{:#}", answer.json);
    let evidence = &answer.errors()[0]["evidence"];
    (&evidence["first"], &evidence["second"])
}

/// The verdict of a guard on a file.
fn verdict<'a>(answer: &'a Answer, guard: &str, path: &str) -> Option<&'a str> {
    let guards = answer.json["guards"].as_array().unwrap();
    guards.iter().find(|one| one["guard"] == guard && one["path"] == path)?["verdict"].as_str()
}

// Syntax.

/// A function whose head and opening brace occur in both halves of a condition.
const HALVES: &str = "#ifdef WIDE\nint f(long a)\n{\n#else\nint f(int a)\n{\n#endif\n\tint b = 1;\n\n\treturn a + b;\n}\n";

#[test]
fn an_edit_inside_a_function_with_two_heads_lands() {
    lands("f.c", HALVES, &HALVES.replace("b = 1", "b = 2"));
    lands("f.c", HALVES, &HALVES.replace("int a)", "short a)"));
    lands("f.c", "", HALVES);
}

#[test]
fn either_head_of_a_function_must_keep_its_brace() {
    for head in ["long a)\n{", "int a)\n{"] {
        let after = HALVES.replace(head, head.trim_end_matches("\n{"));
        let answer = refused(&["SYNTAX_ERROR"], "f.c", HALVES, &after);
        let bracket = &answer.errors()[0]["evidence"]["bracket"];
        assert_eq!(
            (&bracket["text"], &bracket["line"]),
            (&json!("}"), &json!(10)),
            "{:#}",
            answer.json
        );
    }
}

#[test]
fn a_condition_must_be_closed() {
    assert_eq!(
        line(&refused(&["SYNTAX_ERROR"], "f.c", "int x;\n", "int x;\n#ifdef A\nint y;\n")),
        2
    );
    lands("f.c", "int x;\n", "int x;\n#ifdef A\nint y;\n#endif\n");
}

#[test]
fn the_column_of_an_error_counts_characters() {
    let answer = refused(&["SYNTAX_ERROR"], "a.json", "{}\n", "{\n  \"größe\": 1 2\n}\n");
    let evidence = &answer.errors()[0]["evidence"];
    assert_eq!((&evidence["line"], &evidence["column"]), (&json!(2), &json!(14)), "{evidence:#}");
    assert_eq!(evidence["frame"], json!("1 | {\n2 |   \"größe\": 1 2\n  |              ^\n3 | }"));
}

#[test]
fn a_statement_at_the_wrong_column_is_refused() {
    let answer =
        refused(&["SYNTAX_ERROR"], "a.py", "if x:\n    a()\n", "if x:\n    a()\n      b()\n");
    assert_eq!(line(&answer), 3);
    lands("a.py", "if x:\n    a()\n", "if x:\n    a()\n    b()\n");
}

#[test]
#[ignore = "an error like one that the file has already counts as an idiom of the grammar, even in the edited lines"]
fn the_same_error_once_more_is_refused() {
    let all = [
        ("a.json", "{\n  \"a\": ,\n  \"b\": 1\n}\n", "1\n", "\n"),
        ("a.js", "f(1;\n\nfunction g() {\n  h(2);\n}\n", "2)", "2"),
        ("a.go", "package p\n\nfunc f() {\n\tg(1\n}\n\nfunc h() {\n\tg(2)\n}\n", "2)", "2"),
        ("a.rs", "fn f() {\n    g(1;\n}\n\nfn h() {\n    g(2);\n}\n", "2)", "2"),
        ("a.py", "x = 1)\n\n\ny = 2\n", "2", "2)"),
        ("a.c", "void f(void)\n{\n\tg(1;\n}\n\nvoid h(void)\n{\n\tg(2);\n}\n", "2)", "2"),
    ];
    let workspace = LibraryRepo::with(&all.map(|(path, before, ..)| (path, before.as_bytes())));
    let edits: Vec<Value> = all
        .iter()
        .map(|(path, before, old, new)| edit(path, before, &before.replace(old, new)))
        .collect();
    workspace.refuses_request(&["SYNTAX_ERROR"; 6], 1, &json!({ "edits": edits }));
}

#[test]
#[ignore = "a bracket that was open already makes the parser read everything below it again, and it finds one more error"]
fn an_old_open_bracket_does_not_refuse_an_edit_below_it() {
    let before = "x = (1\n\n\ndef f(a):\n    return a\n";
    lands("a.py", before, &before.replace("return a", "return a + 1"));
}

#[test]
fn a_file_without_a_grammar_is_not_checked() {
    lands("a.txt", "text\n", "text (\n");
    lands("a.unknown", "text\n", "text }}}\n");
}

// Duplicates.

#[test]
fn a_getter_and_a_setter_share_a_name_in_python() {
    let getter = "class A:\n    @property\n    def x(self):\n        return self._x\n";
    lands(
        "a.py",
        getter,
        &format!("{getter}\n    @x.setter\n    def x(self, value):\n        self._x = value\n"),
    );
    let again = format!("{getter}\n    @property\n    def x(self):\n        return 0\n");
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "a.py", getter, &again)),
        (&json!([2, 4]), &json!([6, 8]))
    );
}

#[test]
fn an_overload_set_lands_and_a_second_plain_definition_does_not() {
    let set = "@overload\ndef f(a: int) -> int: ...\n\n\n@overload\ndef f(a: str) -> str: ...\n\n\ndef f(a):\n    return a\n";
    lands("a.py", "", set);
    let answer =
        refused(&["DUPLICATE_CODE"], "a.py", set, &format!("{set}\n\ndef f(b):\n    return b\n"));
    assert_eq!(places(&answer), (&json!([9, 10]), &json!([13, 14])));
    assert!(answer.message().contains("`f`"), "{}", answer.message());
}

#[test]
fn a_method_belongs_to_its_receiver_in_go() {
    let one = "package p\n\nfunc (a *A) Close() error { return nil }\n";
    lands("p.go", one, &format!("{one}\nfunc (b B) Close() error {{ return nil }}\n"));
    let twice = format!("{one}\nfunc (a A) Close() error {{ return a.close() }}\n");
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "p.go", one, &twice)),
        (&json!([3, 3]), &json!([5, 5]))
    );
    let init = "package p\n\nfunc init() { one() }\n";
    lands("p.go", init, &format!("{init}\nfunc init() {{ two() }}\n"));
}

#[test]
fn overloads_land_in_cpp_and_a_second_body_does_not() {
    let one = "int f(int a)\n{\n\treturn a;\n}\n";
    lands("f.cpp", one, &format!("{one}\nint f(double a)\n{{\n\treturn 0;\n}}\n"));
    let twice = format!("{one}\nint f(int a)\n{{\n\treturn 0;\n}}\n");
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "f.cpp", one, &twice)),
        (&json!([1, 4]), &json!([6, 9]))
    );
}

#[test]
fn a_function_of_c_may_occur_in_both_branches_of_a_condition_only() {
    let one = "#ifdef A\nint f(void)\n{\n\treturn 1;\n}\n#endif\n";
    lands("f.c", one, &one.replace("#endif", "#else\nint f(void)\n{\n\treturn 2;\n}\n#endif"));
    let twice = one.replace("#endif", "int f(void)\n{\n\treturn 2;\n}\n#endif");
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "f.c", one, &twice)),
        (&json!([2, 5]), &json!([6, 9]))
    );
}

#[test]
fn a_key_occurs_once() {
    let answer = refused(
        &["DUPLICATE_CODE"],
        "a.json",
        "{\n  \"a\": 1\n}\n",
        "{\n  \"a\": 1,\n  \"a\": 2\n}\n",
    );
    assert_eq!(places(&answer), (&json!([2, 2]), &json!([3, 3])));
    lands("a.json", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"b\": {\n    \"a\": 2\n  }\n}\n");
    let answer = refused(&["DUPLICATE_CODE"], "a.yaml", "a: 1\nb: 2\n", "a: 1\nb: 2\na: 3\n");
    assert_eq!(places(&answer), (&json!([1, 1]), &json!([3, 3])));
    let merged = "one: &one\n  x: 1\ntwo: &two\n  y: 1\nall:\n  <<: *one\n";
    lands("a.yaml", merged, &format!("{merged}  <<: *two\n"));
}

#[test]
fn a_second_definition_under_cfg_lands() {
    let one = "#[cfg(unix)]\nfn f() {\n    unix();\n}\n";
    lands("f.rs", one, &format!("{one}\n#[cfg(not(unix))]\nfn f() {{\n    other();\n}}\n"));
    let plain = "fn f() {\n    unix();\n}\n";
    let twice = format!("{plain}\nfn f() {{\n    other();\n}}\n");
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "f.rs", plain, &twice)),
        (&json!([1, 3]), &json!([5, 7]))
    );
}

#[test]
fn a_doubled_if_is_refused_whatever_its_comments() {
    let one = "def f(a):\n    if a:\n        return 1\n    return 2\n";
    let twice = "def f(a):\n    if a:\n        return 1\n    # once more\n    if a:\n        return 1\n    return 2\n";
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "f.py", one, twice)),
        (&json!([2, 3]), &json!([5, 6]))
    );
    lands("f.py", one, &twice.replace("# once more\n    if a:", "if not a:"));
    // With something between them the second may be meant.
    lands("f.py", one, &twice.replace("# once more", "a = g()"));
}

#[test]
fn a_block_pasted_twice_is_refused() {
    let one =
        "void f(struct port *p)\n{\n\topen_port(p, READ);\n\tset_speed(p, 9600);\n\n\trun(p);\n}\n";
    let block = "\topen_port(p, READ);\n\tset_speed(p, 9600);\n";
    let answer =
        refused(&["DUPLICATE_CODE"], "f.c", one, &one.replace(block, &format!("{block}\n{block}")));
    assert_eq!(places(&answer), (&json!([3, 4]), &json!([6, 7])));
    lands(
        "f.c",
        one,
        &one.replace("\trun(p);", &format!("\trun(p);\n{}", block.replace("(p", "(q"))),
    );
}

#[test]
fn lines_around_an_existing_duplicate_may_be_edited() {
    let twice = "int f(int a)\n{\n\tif (a)\n\t\tg();\n\tif (a)\n\t\tg();\n\treturn 1;\n}\n";
    lands("f.c", twice, &twice.replace("return 1", "return 2"));
    refused(
        &["DUPLICATE_CODE"],
        "f.c",
        twice,
        &twice.replace("\treturn 1", "\tif (a)\n\t\tg();\n\treturn 1"),
    );
}

#[test]
fn an_assignment_from_itself_may_be_repeated_and_a_constant_one_may_not() {
    let one = "def f(p):\n    p = p.parent\n    return p\n";
    lands("f.py", one, &one.replace("    p = p.parent\n", "    p = p.parent\n    p = p.parent\n"));
    let one = "def f(p):\n    p.count = LIMIT\n    return p\n";
    let twice = one.replace("    p.count = LIMIT\n", "    p.count = LIMIT\n    p.count = LIMIT\n");
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "f.py", one, &twice)),
        (&json!([2, 2]), &json!([3, 3]))
    );
}

#[test]
fn a_header_is_included_once_and_a_table_any_number_of_times() {
    lands("f.c", "#include \"names.def\"\n", "#include \"names.def\"\n#include \"names.def\"\n");
    let twice = "#include \"names.h\"\n#include \"names.h\"\n";
    assert_eq!(
        places(&refused(&["DUPLICATE_CODE"], "f.c", "#include \"names.h\"\n", twice)),
        (&json!([1, 1]), &json!([2, 2]))
    );
}

#[test]
fn a_table_of_toml_occurs_once() {
    let one = "[a]\nx = 1\n\n[b]\nx = 1\n";
    let codes = ["SYNTAX_ERROR", "DUPLICATE_CODE"];
    let answer = refused(&codes, "a.toml", one, &format!("{one}\n[a]\ny = 2\n"));
    assert!(answer.errors()[1].to_string().contains("`a`"), "{:#}", answer.json);
    lands("a.toml", one, &format!("{one}\n[c]\nx = 1\n"));
}

#[test]
fn a_table_with_equal_rows_lands() {
    lands(
        "t.c",
        "int t[] = {\n\t1, 2, 3,\n};\n",
        "int t[] = {\n\t1, 2, 3,\n\t1, 2, 3,\n\t1, 2, 3,\n};\n",
    );
    let row = "    {\"name\": \"the same name in each row\", \"size\": 1},\n";
    lands("t.py", &format!("T = [\n{row}]\n"), &format!("T = [\n{row}{row}{row}]\n"));
    let row = "\t{\"the same name in each row\", 1},\n";
    lands("t.go", "", &format!("package p\n\nvar t = []T{{\n{row}{row}}}\n"));
    let row = "  <tr><td>the same text in each row of the table</td></tr>\n";
    lands("t.html", "", &format!("<table>\n{row}{row}</table>\n"));
    lands(
        "t.txt",
        "",
        &"the same line of a text, long enough to count as a run of its own\n".repeat(4),
    );
}

// Elisions.

/// A text and a placeholder for a part of it, in the comments of its language.
const ELISIONS: [(&str, &str, &str, &str); 8] = [
    (
        "a.c",
        "int f(int a)\n{\n\tint b = a;\n\n\treturn b;\n}\n",
        "\tint b = a;\n\n\treturn b;\n",
        "\t/* ... existing code ... */\n",
    ),
    (
        "b.c",
        "int f(int a)\n{\n\tint b = a;\n\n\treturn b;\n}\n",
        "\tint b = a;\n",
        "\t// ... existing code ...\n",
    ),
    (
        "a.py",
        "def f(a):\n    b = a\n    c = b\n    return c\n",
        "    b = a\n    c = b\n",
        "    # ... rest of the function unchanged ...\n",
    ),
    (
        "a.html",
        "<ul>\n  <li>one</li>\n  <li>two</li>\n</ul>\n",
        "  <li>one</li>\n  <li>two</li>\n",
        "  <!-- ... rest of the page unchanged ... -->\n",
    ),
    ("a.yaml", "a: 1\nb: 2\nc: 3\n", "b: 2\nc: 3\n", "# ... other settings unchanged ...\n"),
    (
        // It may have comments.
        "tsconfig.json",
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n",
        "  \"a\": 1,\n  \"b\": 2,\n",
        "  // ... existing keys ...\n",
    ),
    (
        "b.json",
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n",
        "  \"a\": 1,\n  \"b\": 2,\n",
        "  \"...\": \"existing keys\",\n",
    ),
    (
        "a.sql",
        "select a,\n  b,\n  c\nfrom t;\n",
        "  b,\n  c\n",
        "-- ... rest of the columns unchanged ...\n",
    ),
];

#[test]
fn a_placeholder_in_place_of_removed_lines_is_refused() {
    for (path, before, part, placeholder) in ELISIONS {
        let answer = refused(&["ELIDED_CODE"], path, before, &before.replace(part, placeholder));
        let row = before[..before.find(part).unwrap()].lines().count() as u64 + 1;
        let lost = part.lines().filter(|line| !line.is_empty()).count();
        let evidence = &answer.errors()[0]["evidence"];
        assert_eq!(
            (line(&answer), &evidence["lines_lost"]),
            (row, &json!(lost)),
            "{path}: {evidence:#}"
        );
    }
}

#[test]
fn a_placeholder_that_replaces_nothing_is_a_comment() {
    for (path, before, part, placeholder) in ELISIONS {
        lands(path, before, &before.replace(part, &format!("{placeholder}{part}")));
        lands(path, "", &before.replace(part, placeholder));
    }
}

#[test]
fn dots_are_a_placeholder_for_three_lines_or_more() {
    let before = "void f(void)\n{\n\ta();\n\tb();\n\tc();\n}\n";
    refused(&["ELIDED_CODE"], "f.c", before, "void f(void)\n{\n\t// ...\n}\n");
    lands("f.c", before, "void f(void)\n{\n\t// ...\n\tc();\n}\n");
    // In Python they are a statement.
    lands("f.py", "def f():\n    a()\n    b()\n    c()\n", "def f():\n    ...\n");
}

// Markers of a merge or a patch.

#[test]
fn markers_of_a_merge_and_of_a_patch_are_refused() {
    for (mark, after) in [
        (2, "one\n<<<<<<< HEAD\ntwo\n=======\n2\n>>>>>>> topic\n"),
        (2, "one\n<<<<<<< HEAD\ntwo\n||||||| base\n=======\n2\n>>>>>>> topic\n"),
        (2, "one\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n"),
        (3, "one\ntwo\n>>>>>>> REPLACE\n"),
        (1, "*** Begin Patch\n*** Update File: a.txt\none\ntwo\n*** End Patch\n"),
    ] {
        for path in ["a.txt", "a.md", "a.sql"] {
            assert_eq!(
                line(&refused(&["CONFLICT_MARKERS"], path, "one\ntwo\n", after)),
                mark,
                "{path}: {after}"
            );
        }
        for path in ["a.patch", "a.diff", "a.txt.rej", "a.txt.orig"] {
            lands(path, "one\ntwo\n", after);
        }
    }
}

#[test]
fn markers_in_code_are_a_syntax_error_too() {
    let after = "int x;\n<<<<<<< HEAD\nint y;\n=======\nint z;\n>>>>>>> topic\n";
    refused(&["SYNTAX_ERROR", "CONFLICT_MARKERS"], "a.c", "int x;\nint y;\n", after);
}

#[test]
fn a_line_of_equals_signs_is_an_underline_in_prose_and_a_marker_in_code() {
    lands("a.md", "text\n", "Title\n=======\n\ntext\n");
    lands("a.py", "x = 1\n", "\"\"\"Title\n=======\n\"\"\"\nx = 1\n");
    refused(&["SYNTAX_ERROR", "CONFLICT_MARKERS"], "a.py", "x = 1\n", "x = 1\n=======\ny = 1\n");
}

#[test]
fn a_hunk_header_is_a_marker_in_code_only() {
    let after = "int x;\n@@ -1,2 +1,2 @@\nint y;\n";
    refused(&["SYNTAX_ERROR", "CONFLICT_MARKERS"], "a.c", "int x;\n", after);
    for path in ["a.md", "a.txt", "a.patch"] {
        lands(path, "int x;\n", after);
    }
}

#[test]
fn a_file_with_markers_may_get_more_of_them() {
    let before = "Look for these:\n\n<<<<<<< HEAD\n";
    lands("a.md", before, &format!("{before}>>>>>>> topic\n"));
}

// New files.

/// The new file must land with a warning of the guard.
#[track_caller]
fn warns_of_new(guard: &str, path: &str, text: &str) {
    let answer = workspace(path, "").apply(&edit(path, "", text));
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    assert_eq!(verdict(&answer, guard, path), Some("warn"), "{:#}", answer.json);
}

#[test]
fn a_new_file_is_refused_for_what_every_dialect_rejects() {
    for (path, text) in [
        ("a.c", "int f(void)\n{\n    return 1;\n"),
        ("a.cpp", "class A {\n  void f() { g(; }\n};\n"),
        ("a.css", "a {\n  color: red;\n"),
        ("a.mk", "ifdef A\nB = 1\n"),
        ("a.sh", "if true; then\n  echo yes\n"),
        ("a.json", "{\"a\": 1,\n"),
    ] {
        refused(&["SYNTAX_ERROR"], path, "", text);
    }
}

#[test]
fn an_idiom_that_a_grammar_does_not_know_is_a_warning_in_a_new_file() {
    warns_of_new(
        "syntax",
        "a.c",
        "EM_JS(void, f, (int x), {\n    const y = new X((z) => z);\n});\n",
    );
    warns_of_new("syntax", "a.html", "<p>one</b></p>\n");
}

#[test]
fn one_macro_may_close_what_another_opens() {
    let text = "#define BEGIN do {\n#define END } while (0)\nint x;\n";
    let answer = workspace("b.c", "int x;\n").apply(&edit("b.c", "int x;\n", text));
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    refused(
        &["SYNTAX_ERROR"],
        "c.c",
        "int x;\n",
        "#define A do {\n#define B }} while (0)\nint x;\n",
    );
}

#[test]
fn repetition_in_a_new_file_is_a_warning_unless_it_is_long() {
    let body = "    if a {\n        b();\n    }\n";
    warns_of_new("duplicate_code", "a.rs", &format!("fn f() {{\n{}}}\n", body.repeat(2)));
    let long: String = (0..14).map(|n| format!("    step_number_{n}(argument);\n")).collect();
    refused(&["DUPLICATE_CODE"], "b.rs", "", &format!("fn f() {{\n{}}}\n", long.repeat(2)));
}

#[test]
fn markup_that_was_not_well_formed_gets_a_warning() {
    let before = "<div>\n<p>one</b></p>\n</div>\n";
    let after = "<div>\n<p>one</b></p>\n<p>two</i></p>\n</div>\n";
    let answer = workspace("a.html", before).apply(&edit("a.html", before, after));
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    refused(&["SYNTAX_ERROR"], "b.html", "<p>one</p>\n", "<p>one</div></p>\n");
    // Browsers skip it.
    let answer = workspace("c.html", "<p>one</p>\n").apply(&edit("c.html", "one", "one</b>"));
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    let after = "<button />three</button>";
    let answer = workspace("e.html", "<p>one</p>\n").apply(&edit("e.html", "one", after));
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    warns_of_new("syntax", "d.html", "</div>\n</body>\n</html>\n");
}

// Artifacts of a chat.

#[test]
fn a_fence_around_a_file_is_refused() {
    for (codes, path, text) in [
        (&["CHAT_ARTIFACT"][..], "a.sql", "select 1;\n"),
        (&["SYNTAX_ERROR", "CHAT_ARTIFACT"], "a.py", "x = 1\n"),
        (&["SYNTAX_ERROR", "CHAT_ARTIFACT"], "a.c", "int x;\n"),
    ] {
        refused(codes, path, text, &format!("```\n{text}```\n"));
    }
    refused(&["SYNTAX_ERROR", "CHAT_ARTIFACT"], "a.py", "", "```code\nx = 1\n```\n");
    refused(&["CHAT_ARTIFACT"], "a.sql", "", "```code\nselect 1;\n```\n");
    // In a new file, only brackets and a cut show that C is broken.
    let fenced = edit("a.c", "", "```code\nint x;\n```\n");
    workspace("a.c", "").refuses_request(&["CHAT_ARTIFACT"], 1, &fenced);
}

#[test]
fn line_numbers_and_plus_signs_before_every_line_are_refused() {
    let text = "select a,\n  b,\n  c\nfrom t;\n";
    let plus: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let numbers = |sign: &str| -> String {
        text.lines()
            .enumerate()
            .map(|(row, line)| format!("{:>4}{sign}{line}\n", row + 1))
            .collect()
    };
    for after in [plus, numbers(" | "), numbers("\t"), numbers("→"), numbers(": ")] {
        assert_eq!(line(&refused(&["CHAT_ARTIFACT"], "a.sql", text, &after)), 1, "{after}");
        assert_eq!(line(&refused(&["CHAT_ARTIFACT"], "b.sql", "", &after)), 1, "{after}");
        lands("a.md", text, &after);
    }
}

#[test]
fn html_and_newline_escapes_are_refused_in_code() {
    let loop_ = "void f(int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tg(i);\n}\n";
    let answer =
        refused(&["SYNTAX_ERROR", "CHAT_ARTIFACT"], "f.c", loop_, &loop_.replace("< n", "&lt; n"));
    assert_eq!(answer.errors()[1]["evidence"], json!({"line": 3}));
    let codes = ["SYNTAX_ERROR", "CHAT_ARTIFACT"];
    let answer = refused(&codes, "f.c", "int x;\n", "int x;\\nint y;\n");
    assert_eq!(answer.errors()[1]["evidence"], json!({"line": 1}));
    // In strings and comments they are text.
    lands("f.c", "int x;\n", "/* a &lt; b \\n */\nconst char *x = \"&lt;\\n\";\n");
}

#[test]
fn prose_and_markup_may_have_fences_and_escapes() {
    lands("a.md", "# Title\n", "# Title\n\n```c\nint x;\n```\n\n+ one\n+ two\n+ three\n");
    lands("a.html", "<p>text</p>\n", "<p>a &lt; b &amp; c</p>\n");
    lands("a.jsx", "let x = <p>a</p>;\n", "let x = <p>a &lt; b</p>;\n");
    refused(&["CHAT_ARTIFACT"], "a.ts", "let x = a < b;\n", "let x = a &lt; b;\n");
    // A listing in a string.
    lands("a.py", "x = 1\n", "x = \"\"\"\n```\n+ a\n+ b\n+ c\n\"\"\"\n");
}

// What a transaction deletes.

/// `count` files, all different.
fn many(count: usize) -> Vec<(String, String)> {
    (0..count).map(|n| (format!("{n}.txt"), format!("file {n}\n"))).collect()
}

fn workspace_of(files: &[(String, String)]) -> LibraryRepo {
    LibraryRepo::with(
        &files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect::<Vec<_>>(),
    )
}

fn deletions(count: usize) -> Value {
    json!({"edits": (0..count).map(|n| json!({"path": format!("{n}.txt"), "mode": "delete"})).collect::<Vec<_>>()})
}

#[test]
fn ten_files_may_be_deleted_at_once_and_eleven_may_not() {
    let workspace = workspace_of(&many(25));
    let answer = workspace.refuses_request(&["MASS_DELETION"], 1, &deletions(11));
    assert_eq!(
        (
            &answer.errors()[0]["path"],
            &answer.errors()[0]["evidence"],
            &answer.errors()[0]["allow"]
        ),
        (&json!(null), &json!({"files_lost": 11, "lines_lost": 11}), &json!("mass_deletion"))
    );
    assert!(answer.hint().contains("allow: [\"mass_deletion\"]"), "{}", answer.hint());
    workspace.apply(&deletions(10)).landed();
    assert!(!workspace.exists("9.txt") && workspace.exists("10.txt"));
    let edits: Vec<Value> =
        (10..21).map(|n| json!({"path": format!("{n}.txt"), "mode": "delete"})).collect();
    workspace.apply(&json!({"edits": edits, "allow": ["mass_deletion"]})).landed();
    assert!(workspace.message().contains("\nEdt-Allowed: mass_deletion\n"));
}

#[test]
fn two_thousand_lines_may_be_deleted_at_once_and_one_more_may_not() {
    let workspace = LibraryRepo::with(&[("0.txt", lines(2000).as_bytes()), ("1.txt", b"one\n")]);
    workspace.refuses_request(&["MASS_DELETION"], 1, &deletions(2));
    workspace.apply(&deletions(1)).landed();
}

#[test]
fn twenty_files_may_move() {
    let workspace = workspace_of(&many(20));
    let edits: Vec<Value> = (0..20)
        .map(|n| json!({"path": format!("{n}.txt"), "mode": "rename", "to": format!("moved/{n}.txt")}))
        .collect();
    workspace.apply(&json!({ "edits": edits })).landed();
    assert_eq!(workspace.text("moved/19.txt"), "file 19\n");
}

#[test]
fn code_that_moves_to_another_file_of_the_transaction_is_not_lost() {
    let code: String = (0..100).map(|n| format!("int f{n}(void);\n")).collect();
    let workspace = LibraryRepo::with(&[("a.h", code.as_bytes())]);
    let rest = json!({"path": "a.h", "mode": "overwrite", "content": "#include \"b.h\"\n"});
    workspace.refuses_request(&["SIZE_REDUCTION"], 1, &rest);
    workspace.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"edits": [rest, {"path": "b.h", "mode": "create", "content": "int other;\n"}]}),
    );
    workspace
        .apply(&json!({"edits": [rest, {"path": "b.h", "mode": "create", "content": code}]}))
        .landed();
    assert_eq!(workspace.text("b.h"), code);
}

// Files that cannot be checked.

#[test]
fn files_too_large_or_too_deep_for_a_parser_land_unchecked_and_in_time() {
    let nested =
        |open: &str, close: &str| format!("{}{}\n", open.repeat(100_000), close.repeat(100_000));
    let numbers: String = (0..60_000).map(|n| format!("  {n}.{},\n", "0".repeat(30))).collect();
    let large = format!("[\n{numbers}  0\n]\n");
    assert!(large.len() > 2 << 20);
    for (path, text) in [
        ("large.json", large),
        ("deep.json", nested("[", "]")),
        ("deep.py", nested("(", ")")),
        ("deep.rs", format!("fn f() {}", nested("{", "}"))),
        ("deep.c", format!("int f(void) {}", nested("{", "}"))),
        ("deep.js", nested("[", "]")),
        ("deep.yaml", format!("{}x\n", "- ".repeat(300))),
    ] {
        let workspace = LibraryRepo::unborn();
        let begun = Instant::now();
        let answer = workspace.apply(&json!({"path": path, "mode": "create", "content": text}));
        let took = begun.elapsed();
        assert_eq!(
            (answer.exit, &answer.json["status"]),
            (0, &json!("applied")),
            "{path}: {:#}",
            answer.json["errors"]
        );
        assert_eq!(
            verdict(&answer, "syntax", path),
            Some("warn"),
            "{path}: {:#}",
            answer.json["guards"]
        );
        let warnings = answer.json["warnings"].as_array().unwrap();
        let reported: Vec<(&Value, &Value)> =
            warnings.iter().map(|one| (&one["code"], &one["path"])).collect();
        assert_eq!(
            reported,
            ["syntax", "duplicate_code"]
                .map(|code| (json!(code), json!(path)))
                .each_ref()
                .map(|(a, b)| (a, b)),
            "{warnings:#?}"
        );
        let message = warnings[0]["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("The syntax of {path} was not checked: ")),
            "{message}"
        );
        assert!(took < Duration::from_secs(4), "{path} took {took:?}");
        assert!(workspace.committed(path) == text.as_bytes(), "{path} in the commit");
    }
}

// Policy.

/// A repository with this `edt.toml` and two files of the same text.
fn ruled(policy: &str) -> LibraryRepo {
    LibraryRepo::with(&[
        ("edt.toml", policy.as_bytes()),
        ("src/a.c", b"int x;\n"),
        ("fixtures/a.c", b"int x;\n"),
    ])
}

/// A syntax error in one of the files.
fn broken(path: &str) -> Value {
    json!({"path": path, "mode": "overwrite", "content": "int x[;\n"})
}

#[test]
fn a_guard_may_warn_for_some_paths() {
    let workspace =
        ruled("[[paths]]\nmatch = [\"fixtures/**\"]\n[paths.guards.syntax]\nmode = \"warn\"\n");
    let answer = workspace.apply(&broken("fixtures/a.c"));
    assert_eq!(
        (answer.exit, verdict(&answer, "syntax", "fixtures/a.c")),
        (0, Some("warn")),
        "{:#}",
        answer.json
    );
    let warning = &answer.json["warnings"][0];
    assert_eq!((&warning["code"], &warning["path"]), (&json!("syntax"), &json!("fixtures/a.c")));
    let message = warning["message"].as_str().unwrap();
    assert!(
        message.contains("fixtures/a.c:1:6") && !message.contains("Nothing was changed"),
        "{message}"
    );
    assert!(!workspace.message().contains("Edt-Allowed"));
    workspace.refuses_request(&["SYNTAX_ERROR"], 1, &broken("src/a.c"));
}

#[test]
fn the_last_table_of_paths_decides() {
    let off = "[[paths]]\nmatch = [\"fixtures/**\"]\nguards.syntax.mode = \"off\"\n";
    let refuse = "[[paths]]\nmatch = [\"**/a.c\"]\nguards.syntax.mode = \"refuse\"\n";
    ruled(&format!("{off}{refuse}")).refuses_request(&["SYNTAX_ERROR"], 1, &broken("fixtures/a.c"));
    ruled(&format!("{refuse}{off}")).apply(&broken("fixtures/a.c")).landed();
}

#[test]
fn a_refusal_without_an_override_names_none() {
    let workspace = ruled("[[paths]]\nmatch = [\"src/**\"]\nguards.syntax.override = \"never\"\n");
    let mut request = broken("src/a.c");
    for allow in [json!([]), json!(["syntax_error"])] {
        request["allow"] = allow;
        let answer = workspace.refuses_request(&["SYNTAX_ERROR"], 1, &request);
        assert_eq!(answer.errors()[0]["allow"], json!(null));
        assert!(!answer.hint().contains("allow:"), "{}", answer.hint());
    }
    let mut elsewhere = broken("fixtures/a.c");
    elsewhere["allow"] = json!(["syntax_error"]);
    workspace.apply(&elsewhere).landed();
}

#[test]
fn an_override_that_needs_approval_is_held_when_requested() {
    let workspace = ruled("[guards.syntax]\noverride = \"approval\"\n");
    let answer = workspace.refuses_request(&["SYNTAX_ERROR"], 1, &broken("src/a.c"));
    assert!(
        answer.hint().contains("with allow: [\"syntax_error\"]") && answer.hint().contains("user"),
        "{}",
        answer.hint()
    );
    let mut asked = broken("src/a.c");
    asked["allow"] = json!(["syntax_error"]);
    let before = workspace.files();
    let answer = workspace.apply(&asked);
    assert_eq!(
        (answer.exit, answer.codes(), workspace.files()),
        (4, vec!["APPROVAL_REQUIRED"], before)
    );
    assert_eq!(answer.errors()[0]["evidence"]["code"], json!("SYNTAX_ERROR"));
}

// Answers.

#[test]
fn every_refusal_of_a_request_is_reported() {
    let workspace = LibraryRepo::with(&[
        ("a.c", b"int x;\n"),
        ("b.py", b"def f():\n    pass\n"),
        ("c.sql", b"select a,\n  b;\n"),
    ]);
    let request = json!({"edits": [
        {"path": "c.sql", "mode": "overwrite", "content": "select a,\n-- ... rest unchanged ...\n"},
        {"path": "b.py", "mode": "append", "content": "\n\ndef f():\n    return 1\n"},
        {"path": "a.c", "mode": "overwrite", "content": "int x[;\n"},
    ]});
    let answer =
        workspace.refuses_request(&["SYNTAX_ERROR", "DUPLICATE_CODE", "ELIDED_CODE"], 1, &request);
    let paths: Vec<&str> =
        answer.errors().iter().map(|error| error["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.c", "b.py", "c.sql"]);
    // Two overrides are not enough for three refusals.
    let mut some = request.clone();
    some["allow"] = json!(["syntax_error", "duplicate_code"]);
    workspace.refuses_request(&["ELIDED_CODE"], 1, &some);
    some["allow"] = json!(["syntax_error", "duplicate_code", "elided_code"]);
    workspace.apply(&some).landed();
    assert_eq!(
        workspace.trailers("Edt-Allowed"),
        ["duplicate_code", "elided_code", "syntax_error"]
    );
}

// Ways around a guard.

#[test]
fn an_override_of_one_guard_does_not_override_another() {
    let body = "int one(void)\n{\n\treturn 1;\n}\n\n".repeat(60).replacen("one", "two", 1);
    let workspace = LibraryRepo::with(&[
        ("a.c", body.as_bytes()),
        ("edt.toml", b"[guards.syntax]\noverride = \"never\"\n"),
    ]);
    let request = json!({"path": "a.c", "mode": "overwrite", "content": "int f( {\n", "allow": ["size_reduction"]});
    assert_eq!(workspace.apply(&request).codes(), ["SYNTAX_ERROR"]);
}

#[test]
fn a_detour_through_another_file_name_does_not_avoid_the_syntax_guard() {
    let workspace = LibraryRepo::with(&[("a.c", b"int f(void)\n{\n\treturn 1;\n}\n")]);
    let away = json!({"edits": [
        {"path": "a.c", "mode": "rename", "to": "a.txt"},
        {"path": "a.txt", "mode": "overwrite", "content": "int f(void)\n{\n\treturn 1;\n"}]});
    workspace.apply(&away).landed();
    assert_eq!(
        workspace.apply(&json!({"path": "a.txt", "mode": "rename", "to": "a.c"})).codes(),
        ["SYNTAX_ERROR"]
    );
}

#[test]
fn a_guard_of_transactions_cannot_be_set_for_some_paths() {
    let policy = b"[[paths]]\nmatch = [\"v/**\"]\nguards.mass_deletion.mode = \"off\"\n";
    let workspace = LibraryRepo::with(&[("a.txt", b"a\n"), ("edt.toml", policy)]);
    let answer = workspace.apply(&json!({"path": "a.txt", "mode": "append", "content": "b\n"}));
    assert_eq!((answer.codes(), answer.exit), (vec!["BAD_REQUEST"], 2));
}

#[test]
fn ordinary_files_land() {
    for (path, before, added) in [
        ("log.hpp", "int x;\n", "#define LOG(x) printf(\"%d\\n\", x)\n"),
        ("a.h", "int x;\n", "/* Usage:\n#ifdef FOO\n   foo\n*/\n"),
        ("codes.py", "NAMES = {\n", "    4: \"four\",\n    5: \"five\",\n    6: \"six\",\n}\n"),
        ("levels.yaml", "a: 1\n", "2: mid\n3: high\n4: top\n"),
        ("p.sh", "#!/bin/sh\n", "printf %s\\\\n x\n"),
        ("d.jl", "x = 1\n", "\"\"\"\n```jldoctest\njulia> 1\n```\n\"\"\"\nf() = 1\n"),
        ("tsconfig.json", "{\n", "  \"a\": 1,\n}\n"),
    ] {
        let workspace = LibraryRepo::with(&[("README", b"x\n")]);
        let request =
            json!({"path": path, "mode": "create", "content": format!("{before}{added}")});
        let answer = workspace.apply(&request);
        let errors = answer.json["errors"].as_array().unwrap();
        let reported: Vec<&Value> = errors.iter().map(|error| &error["message"]).collect();
        // A trailing comma in a new tsconfig.json is allowed.
        assert_eq!((path, reported), (path, Vec::new()));
    }
}
