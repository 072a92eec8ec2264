//! Edits that name a definition, and the list of definitions.

use serde_json::json;

use crate::test_repo::TestRepo;

const PYTHON: &str = "import os\n\n\n# Reads.\n@cached\ndef load(path):\n    return path\n\n\nclass A:\n    \
                      def run(self):\n        return self.run()\n\n\nclass B:\n    def run(self):\n        \
                      pass\n";

fn repo() -> TestRepo {
    TestRepo::with(&[
        ("a.py", PYTHON.as_bytes()),
        ("a.txt", b"text\n"),
        ("broken.rs", b"fn a() {\n    let x = ;\n}\n"),
    ])
}

#[test]
fn outline_lists_the_definitions_that_symbol_takes() {
    let repo = repo();
    let listed = repo.edt(&["outline", "a.py"]).json;
    let symbols: Vec<(&str, &str, u64, u64)> = listed["symbols"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap();
            let line = |key: &str| one[key].as_u64().unwrap();
            (text("name"), text("kind"), line("first_line"), line("last_line"))
        })
        .collect();
    assert_eq!(
        symbols,
        [
            ("load", "function", 4, 7),
            ("A", "class", 10, 12),
            ("A.run", "function", 11, 12),
            ("B", "class", 15, 17),
            ("B.run", "function", 16, 17),
        ]
    );
    assert_eq!(listed["hash"], repo.edt(&["read", "a.py"]).json["hash"]);
    let some = repo.edt(&["outline", "a.py", "--name", "run"]).json;
    assert_eq!(some["symbols"].as_array().unwrap().len(), 2);
    repo.refuses(&["FILE_NOT_FOUND"], 1, &["outline", "none.py"]);
    repo.refuses(&["SYMBOL_UNCLEAR"], 1, &["outline", "a.txt"]);
}

#[test]
fn definitions_are_changed_by_their_names() {
    let repo = repo();
    repo.apply(&json!({"path": "a.py", "mode": "replace_symbol", "symbol": "load",
        "content": "def load(path):\n    return os.fspath(path)\n"}))
        .landed();
    repo.apply(&json!({"edits": [
        {"path": "a.py", "mode": "insert_after_symbol", "symbol": "A.run", "content": "def stop(self):\n    pass\n"},
        {"path": "a.py", "mode": "insert_before_symbol", "symbol": "B", "content": "LIMIT = 3\n"},
        {"path": "a.py", "mode": "rename_symbol", "symbol": "A.run", "to": "start"}]}))
        .landed();
    repo.edt(&["apply", "a.py", "--mode", "rename_symbol", "--symbol", "load", "--to", "read"])
        .landed();
    let expected = PYTHON
        .replace("return path", "return os.fspath(path)")
        .replace("def load", "def read")
        .replacen("def run", "def start", 1)
        .replace("self.run()\n", "self.start()\n\n    def stop(self):\n        pass\n")
        .replace("class B", "LIMIT = 3\n\n\nclass B");
    assert_eq!(repo.text("a.py"), expected);
    repo.is_sound();
}

#[test]
fn a_name_that_is_not_one_definition_is_refused_with_the_choice() {
    let repo = repo();
    let edit = |symbol: &str| json!({"path": "a.py", "mode": "replace_symbol", "symbol": symbol, "content": "def run(self):\n    return 1\n"});
    let before = repo.files();
    let several = repo.apply(&edit("run"));
    assert_eq!((several.codes(), several.exit), (vec!["SYMBOL_AMBIGUOUS"], 1));
    assert!(
        several.message().contains("A.run (line 11), function B.run (line 16)"),
        "{}",
        several.message()
    );
    assert_eq!(several.errors()[0]["evidence"]["symbols"][1]["name"], "B.run");
    let none = repo.apply(&edit("lod"));
    assert_eq!((none.codes(), none.exit), (vec!["SYMBOL_NOT_FOUND"], 1));
    assert_eq!(none.errors()[0]["evidence"]["similar"], json!(["load"]));
    assert_eq!(repo.files(), before);
    // What the message says to send.
    let mut with_line = edit("run");
    with_line["start_line"] = json!(16);
    repo.apply(&with_line).landed();
    assert!(repo.text("a.py").ends_with("class B:\n    def run(self):\n        return 1\n"));
    repo.apply(&edit("A.run")).landed();
}

#[test]
fn a_definition_that_cannot_be_told_apart_is_refused() {
    let repo = repo();
    for (path, symbol) in [("a.txt", "text"), ("broken.rs", "a")] {
        let request =
            json!({"path": path, "mode": "replace_symbol", "symbol": symbol, "content": "x\n"});
        let answer = repo.apply(&request);
        assert_eq!(answer.codes(), ["SYMBOL_UNCLEAR"], "{path}: {:#}", answer.json);
    }
    let rename =
        |to: &str| json!({"path": "a.py", "mode": "rename_symbol", "symbol": "load", "to": to});
    assert_eq!(repo.apply(&rename("path")).codes(), ["SYMBOL_UNCLEAR"]);
    assert_eq!(repo.apply(&rename("a b")).codes(), ["BAD_REQUEST"]);
    let empty = json!({"path": "a.py", "mode": "replace_symbol", "symbol": "load", "content": ""});
    assert_eq!(repo.apply(&empty).codes(), ["BAD_REQUEST"]);
    let missing = json!({"path": "a.py", "mode": "replace_symbol", "content": "x"});
    assert_eq!(repo.apply(&missing).codes(), ["BAD_REQUEST"]);
}

#[test]
fn guards_judge_a_changed_definition() {
    let repo = repo();
    let request = json!({"path": "a.py", "mode": "replace_symbol", "symbol": "load",
        "content": "def load(path):\n    return (path\n"});
    assert_eq!(repo.apply(&request).codes(), ["SYNTAX_ERROR"]);
}
