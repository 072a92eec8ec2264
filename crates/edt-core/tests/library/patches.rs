//! How patches are read and placed in one text, without a repository.

use edt_core::txn::patch::rehearse;
use edt_core::txn::patch_text::PatchText;
use edt_edit::format::{FileAction, FilePatch, read};
use edt_edit::place::Matching;
use edt_types::RepoPath;

fn with(text: &str, patch: &str, matching: Matching) -> Result<String, Vec<serde_json::Value>> {
    let patch = PatchText::new(patch.as_bytes().to_vec(), Some(b"F"), None, matching).unwrap();
    match rehearse(&patch, &RepoPath::parse(b"F").unwrap(), text.as_bytes()) {
        Ok((after, _)) => Ok(String::from_utf8(after.unwrap_or_default()).unwrap()),
        Err(found) => Err(found
            .into_vec()
            .iter()
            .map(|finding| serde_json::to_value(finding).unwrap())
            .collect()),
    }
}

/// What becomes of `text`.
#[track_caller]
fn made(text: &str, patch: &str) -> String {
    with(text, patch, Matching::Strict).unwrap_or_else(|found| panic!("refused: {found:#?}"))
}

/// The first finding.
#[track_caller]
fn refused(text: &str, patch: &str) -> serde_json::Value {
    with(text, patch, Matching::Strict).expect_err("it was applied")[0].clone()
}

fn diff(body: &str) -> String {
    format!("--- a/F\n+++ b/F\n{body}")
}

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: F\n{body}*** End Patch\n")
}

/// The files that a patch names, and what it does to each.
fn files(patch: &str) -> Vec<(String, &'static str)> {
    let what = |file: &FilePatch| match &file.action {
        FileAction::Create { .. } => "create",
        FileAction::Delete { .. } => "delete",
        FileAction::Update { to: Some(_), .. } => "move",
        FileAction::Update { .. } => "update",
        FileAction::Write { .. } => "whole",
    };
    let (_, files) = read(patch.as_bytes(), None).unwrap();
    files.iter().map(|file| (String::from_utf8(file.path.clone()).unwrap(), what(file))).collect()
}

fn one(path: &str, what: &'static str) -> Vec<(String, &'static str)> {
    vec![(path.to_owned(), what)]
}

#[test]
fn the_git_header_says_which_prefix_a_name_has() {
    let gone = "diff --git a/x a/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
    assert_eq!(files(gone), one("a/x", "delete"));
    let new = "diff --git c/n.c i/n.c\nnew file mode 100644\n--- /dev/null\n+++ i/n.c\n@@ -0,0 +1 @@\n+one\n";
    assert_eq!(files(new), one("n.c", "create"));
    let back = "diff --git b/n.c a/n.c\nnew file mode 100644\n--- /dev/null\n+++ a/n.c\n@@ -0,0 +1 @@\n+one\n";
    assert_eq!(files(back), one("n.c", "create"));
    let own = "diff --git old/n.c new/n.c\nnew file mode 100644\n--- /dev/null\n+++ new/n.c\n@@ -0,0 +1 @@\n+one\n";
    assert_eq!(files(own), one("n.c", "create"));
}

#[test]
fn a_name_may_have_spaces() {
    let moved =
        "diff --git a/y b/my file\nsimilarity index 100%\nrename from y\nrename to my file\n";
    let next = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(
        files(&format!("{moved}{next}")),
        [("y".to_owned(), "move"), ("x".to_owned(), "update")]
    );
    assert_eq!(
        files("diff --git a/x  b/x \n--- a/x \t\n+++ b/x \t\n@@ -1 +1 @@\n-a\n+b\n"),
        one("x ", "update")
    );
}

#[test]
fn no_marked_line_is_skipped() {
    let file = "one\ntwo\n\nfour\nfive\n";
    let counts = diff("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n\n-four\n+FOUR\n");
    assert_eq!(made(file, &counts), "one\nTWO\n\nFOUR\nfive\n");
    assert_eq!(refused("one\ntwo\nthree\nfour\n", &counts)["code"], "INVALID_PATCH");
    for tail in ["\nThen:\n+more\n", "\n```\n-two\n+TWO\n```\n"] {
        assert_eq!(
            refused(file, &(diff("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n") + tail))["code"],
            "INVALID_PATCH",
            "{tail}"
        );
    }
    // A list in the sentences after a patch is none.
    assert_eq!(
        made(file, &(diff("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n") + "\n- a point\n- another\n")),
        "one\nTWO\n\nfour\nfive\n"
    );
}

#[test]
fn a_fence_in_the_text_of_a_fenced_diff_does_not_end_it() {
    let file = "intro\nold\n```\nfoo\n```\nend\n";
    let patch =
        format!("```diff\n{}```\n", diff("@@ @@\n intro\n-old\n+new\n ```\n-foo\n+bar\n ```\n"));
    assert_eq!(made(file, &patch), "intro\nnew\n```\nbar\n```\nend\n");
}

#[test]
fn line_numbers_of_any_size_are_accepted() {
    for head in [
        "-18446744073709551614,3 +1,3",
        "-18446744073709551615,0 +1,1",
        "-99999999999999999999,1 +1,1",
    ] {
        let patch = diff(&format!("@@ {head} @@\n+x\n"));
        assert_eq!(refused("one\ntwo\nthree\n", &patch)["code"], "INVALID_PATCH", "{head}");
    }
    let start = "F\n<<<<<<< SEARCH\n:start_line:18446744073709551615\n-------\none\ntwo\n=======\n1\n>>>>>>> REPLACE\n";
    assert_eq!(made("one\ntwo\nthree\n", start), "1\nthree\n");
}

#[test]
fn an_anchor_is_never_shortened_or_ignored() {
    let ruby = "class A\n  a\n  @@count = 0\nend\n";
    assert_eq!(refused(ruby, &envelope("@@ @@count = 0\n-  a\n+  b\n"))["code"], "INVALID_PATCH");
    assert_eq!(
        made(ruby, &envelope("@@ @@count = 0\n+  b\n")),
        "class A\n  a\n  @@count = 0\n  b\nend\n"
    );
    // Lines below another header are not below this one.
    let text = "def f():\n    return 2\n\ndef g():\n    return 1\n";
    assert_eq!(
        refused(text, &envelope("@@ def f():\n-    return 1\n+    return 2\n"))["code"],
        "INVALID_PATCH"
    );
    assert_eq!(
        refused("def get_all():\n    return 1\n", &envelope("@@ def get\n+    trace()\n"))["code"],
        "INVALID_PATCH"
    );
    let next = "function f() {\n  keep();\n}\n(function g() {\n  value = 1;\n})();\n";
    assert_eq!(
        refused(next, &envelope("@@ function f() {\n-  value = 1;\n+  value = 2;\n"))["code"],
        "INVALID_PATCH"
    );
    // Unless more than one line identifies the place, and the lines occur once.
    let more = "@@ def f():\n def g():\n-    return 1\n+    return 3\n";
    assert_eq!(made(text, &envelope(more)), text.replace("return 1", "return 3"));
    // A block goes on to the brace that closes it, labels and other halves included.
    let c = "int f(void)\n{\n\tif (a)\n\t\tgoto out;\n#ifdef X\n\tb();\n#endif\nout:\n\treturn 1;\n}\n\nint g(void)\n{\n\treturn 1;\n}\n";
    assert_eq!(
        made(c, &envelope("@@ int f(void)\n-\treturn 1;\n+\treturn 2;\n")),
        c.replacen("return 1", "return 2", 1)
    );
    assert_eq!(
        made(c, &envelope("@@ out:\n-\treturn 1;\n+\treturn 2;\n")),
        c.replacen("return 1", "return 2", 1)
    );
}

#[test]
fn a_byte_order_mark_before_the_patch_is_ignored() {
    assert_eq!(made("one\n", &format!("\u{feff}{}", diff("@@ -1 +1 @@\n-one\n+1\n"))), "1\n");
    assert_eq!(made("one\n", &format!("\u{feff}{}", envelope("@@\n-one\n+1\n"))), "1\n");
}

#[test]
fn counts_never_reach_into_the_next_file() {
    assert_eq!(
        made("one\ntwo\n", &format!("```diff\n{}```\n", diff("@@ -1,3 +1,3 @@\n one\n-two\n+2\n"))),
        "one\n2\n"
    );
    let two = diff("@@ -1,2 +1,2 @@\n-one\n+1\n") + "--- a/G\n+++ b/G\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(files(&two), [("F".to_owned(), "update"), ("G".to_owned(), "update")]);
}

#[test]
fn context_within_the_counts_is_not_dropped() {
    assert_eq!(
        refused("a\nb\nc\n", &diff("@@ -1,3 +1,3 @@\n a\n-b\n+B\n\n"))["code"],
        "INVALID_PATCH"
    );
}

#[test]
fn the_last_line_does_not_decide_the_line_endings() {
    let file = "one\r\ntwo\r\nthree";
    assert_eq!(
        made(file, &envelope("@@\n-three\n+three a\n+three b\n")),
        "one\r\ntwo\r\nthree a\r\nthree b"
    );
}

#[test]
fn a_correction_is_not_offered_for_one_of_two_similar_places() {
    let server = "connect_timeout = 30\nread_timeout = 30\nretries = 5\n";
    let file = format!("[server one]\n{server}\n[server two]\n{server}");
    let patch =
        diff("@@\n connect_timeout = 30\n-read_timeout = 30\n+read_timeout = 60\n retries = 3\n");
    assert_eq!(refused(&file, &patch)["evidence"].get("correction"), None);
}

#[test]
fn a_correction_does_not_trust_a_line_number_that_placement_ignores() {
    let head =
        "import one_package\nimport two_package\nimport three_package\nimport four_package\n";
    let section = |n: usize| format!("section {n}\nstart\nvalue = 1\nstop\nend\n");
    let file = head.to_owned() + &(1..9).map(section).collect::<String>();
    let patch = diff(
        "@@ -6,4 +6,4 @@\n import one_package\n-import two_package\n+import TWO_package\n import three_package_x\n import four_package\n@@ -21,3 +21,3 @@\n start\n-value = 1\n+value = 2\n stop\n",
    );
    assert_eq!(refused(&file, &patch)["evidence"].get("correction"), None);
}

#[test]
fn a_correction_does_not_drop_a_new_line_without_its_marker() {
    let file = "def f(arg):\n    one = load(arg)\n    two = load(arg)\n    return two\n";
    let patch = diff(
        "@@\n def f(arg):\n     one = load(arg)\n+    check(one)\n     log(\"checked\")\n     two = load(arg)\n     return two\n",
    );
    assert_eq!(refused(file, &patch)["evidence"].get("correction"), None);
}

#[test]
fn a_correction_does_not_change_a_function_that_only_resembles_the_intended_one() {
    let file = "def write_utf8(name):\n    check(name)\n    handle = open_it(name)\n    result = handle.read()\n    return close_utf8(result)\n";
    let patch = diff(
        "@@\n def write_latin(name):\n     check(name)\n     handle = open_it(name)\n-    result = handle.read()\n+    result = handle.load()\n     return close_latin(result)\n",
    );
    assert_eq!(refused(file, &patch)["evidence"].get("correction"), None);
}

#[test]
fn a_correction_does_not_drop_a_contradicting_line() {
    let file = "def save_a(arg):\n    first = load(arg)\n    second = load(arg)\n    return None\n\ndef other():\n    pass\n";
    let patch = diff(
        "@@\n def save_a(arg):\n     first = load(arg)\n     second = load(arg)\n+    log(\"done\")\n\n     gone = 1\n",
    );
    assert_eq!(refused(file, &patch)["evidence"].get("correction"), None);
}

#[test]
fn a_changed_encoding_or_line_ending_is_a_change() {
    assert_eq!(made("a\r\nb\r\n", &diff("@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n")), "a\nb\r\n");
    assert_eq!(made("\u{feff}a\nb\n", &diff("@@ -1,2 +1,2 @@\n-\u{feff}a\n+a\n b\n")), "a\nb\n");
    assert_eq!(made("a\nb\n", &diff("@@ -1,2 +1,2 @@\n-a\n+\u{feff}a\n b\n")), "\u{feff}a\nb\n");
    let spaced = with(
        "if x:\n  foo()\nbar()\n",
        &diff("@@\n if x: \n-  foo()\n+    foo()\n"),
        Matching::Lenient,
    );
    assert_eq!(spaced.unwrap(), "if x:\n    foo()\nbar()\n");
}

#[test]
fn new_lines_that_meet_are_in_the_order_of_their_hunks() {
    let file = "4\n5\n6\n7\n";
    let patch = diff("@@ -2 +2,2 @@\n 5\n+new5\n@@ -3 +4,2 @@\n+new6\n 6\n");
    assert_eq!(made(file, &patch), "4\n5\nnew5\nnew6\n6\n7\n");
}

#[test]
fn an_indentation_that_no_line_has_is_refused() {
    let tabs = "class A:\n\tdef f(self):\n\t\treturn 1\n";
    let block = "F\n<<<<<<< SEARCH\ndef f(self):\n=======\ndef g(self):\n    return 0\n\ndef f(self):\n>>>>>>> REPLACE\n";
    assert!(with(tabs, block, Matching::Lenient).is_err());
}

#[test]
fn anchors_that_occur_everywhere_take_no_time() {
    let text = "}\n".repeat(60_000) + "end\n";
    let begun = std::time::Instant::now();
    assert_eq!(refused(&text, &envelope("@@ }\n-end\n+END\n"))["code"], "OLD_TEXT_AMBIGUOUS");
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn counts_that_are_too_small_cut_off_no_list() {
    let file = "/*\n * old one\n * keep\n * gone\n */\nint a;\n";
    let patch = diff("@@ -1,3 +1,3 @@\n /*\n- * old one\n+ * new one\n  * keep\n- * gone\n  */\n");
    assert_eq!(made(file, &patch), "/*\n * new one\n * keep\n */\nint a;\n");
    let dashes = format!("```diff\n{}```\n", diff("@@ -1,1 +1,1 @@\n-a: 1\n+a: 2\n----\n b: 2\n"));
    assert_eq!(made("a: 1\n---\nb: 2\n", &dashes), "a: 2\nb: 2\n");
}

#[test]
fn sentences_after_a_hunk_are_not_counted_as_context() {
    let patch = diff("@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n\nThis is the change.\n");
    assert_eq!(made("a\nb\nc\nd\n", &patch), "a\nB\nc\nd\n");
}

#[test]
fn a_later_block_has_no_line_number() {
    let file = "import os\n\ndef f():\n    pass\n\ndef g():\n    pass\n";
    let block = |line: usize, old: &str, new: &str| {
        format!(
            "F\n<<<<<<< SEARCH\n:start_line:{line}\n-------\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
        )
    };
    let patch = block(1, "import os", "import os\nimport re\nimport io\nimport sys")
        + &block(7, "    pass", "    return 1");
    assert_eq!(refused(file, &patch)["code"], "OLD_TEXT_AMBIGUOUS");
}

#[test]
fn a_header_without_a_git_line_begins_a_new_file() {
    let mode = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n";
    let bare = "--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(
        files(&format!("{mode}{bare}")),
        [("run.sh".to_owned(), "update"), ("x.c".to_owned(), "update")]
    );
    let empty = "diff --git a/p/__init__.py b/p/__init__.py\nnew file mode 100644\nindex 0000000..e69de29\n";
    let new = "--- /dev/null\n+++ b/p/mod.py\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(
        files(&format!("{empty}{new}")),
        [("p/__init__.py".to_owned(), "create"), ("p/mod.py".to_owned(), "create")]
    );
    assert!(read(format!("diff --git a/y.c b/y.c\n{bare}").as_bytes(), None).is_err());
}

#[test]
fn a_fence_in_a_markdown_file_does_not_cut_it() {
    let patch =
        "`README.md`\n```markdown\n# T\n\nRun:\n\n```\nscripts/build.sh\n```\n\nMore text.\n```\n";
    assert!(read(patch.as_bytes(), None).is_err());
    let long = patch
        .replacen("```markdown", "````markdown", 1)
        .replace("More text.\n```", "More text.\n````");
    assert_eq!(files(&long), one("README.md", "whole"));
}

#[test]
fn a_patch_that_is_not_text_is_named() {
    let log = "Submodule libs/z 1234567..89abcde:\n  > Fix it\n";
    assert!(read((log.to_owned() + &diff("@@ -1 +1 @@\n-a\n+b\n")).as_bytes(), None).is_err());
    let moved = "diff --git a/b b/ lead\nsimilarity index 100%\nrename from b\nrename to  lead\n";
    let (_, files) = read(moved.as_bytes(), None).unwrap();
    assert!(matches!(&files[0].action, FileAction::Update { to: Some(to), .. } if to == b" lead"));
}

#[test]
fn an_empty_file_takes_the_line_ends_of_the_patch() {
    assert_eq!(made("", &diff("@@ -0,0 +1,2 @@\n+a\r\n+b\r\n")), "a\r\nb\r\n");
}
