//! What the parsers of the languages accept and reject, and that they survive any text.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test may panic")]

use edt_lang::judgement::{Judgement, MAX_JUDGED};
use edt_types::RepoPath;

fn judge(path: &str, text: &str) -> Option<Judgement> {
    let path = RepoPath::parse(path.as_bytes()).unwrap();
    edt_lang::language_of(&path, text.as_bytes()).unwrap().judge(&path, text.as_bytes())
}

/// The message and the place of the error that an edit adds.
fn added(path: &str, before: Option<&str>, after: &str) -> Option<(String, usize)> {
    let (before, after) = (before.map(|text| judge(path, text).unwrap()), judge(path, after));
    let after = after.unwrap();
    after.added_to(before.as_ref()).map(|one| (one.message.clone(), one.at))
}

#[test]
fn what_a_specification_allows_is_accepted() {
    for (path, text) in [
        ("a.jsx", "const a = <p>Terms & Conditions</p>;\n"),
        ("a.tsx", "const a = <X extends={b} config={1} />;\n"),
        ("a.ts", "function f<T extends string>(t: T): `\\0${T}` {\n  return `\\0${t}`;\n}\n"),
        ("a.js", ".pragma library\n.import QtQuick 2.0 as Q\n\nfunction f(x) { return x; }\n"),
        ("a.js", "return 1;\n"),
        ("a.js", "const f = (a: string) => a;\n"),
        ("a.mjs", "import defer * as a from 'b';\nawait using c = d();\n"),
        ("a.jsx", "const a = <p class=\"b\"><a href=\"?a=1&b=2\">c</a></p>;\n"),
        ("a.ts", "export type * from 'a';\nclass A<in B, out C> { accessor d = 1; }\n"),
        ("a.ts", "interface A {\n  in(a: B): C\n  <T>(a: T): C; d: E, f: G\n}\n"),
        ("a.ts", "let a: B<string|((c: d.E) => void)|F>;\nf<<S>(s: S) => S>();\n"),
        ("a.d.ts", "export default function <A>(a: A): A\ndeclare const b: number\n"),
        ("a.ts", "let a: import(\"./x\", { with: {} }).B;\nf<typeof import('./x')>(a);\n"),
        ("a.py", "class A[T = int, *B = *C]:\n    async def b(self):\n        return await c()\n"),
        ("a.py", "a = lambda: (yield)\n[x for x in y]\nwhile a:\n    break\nelse:\n    pass\n"),
        ("a.py", "# %%\nawait a()\n"),
        ("a.py", "async def f():\n    return (await a async for a in b), [await c for d in e]\n"),
        ("a.py", "\u{feff}a = 1\n"),
        ("a.json", "\u{feff}{\"a\": [1.5e+30, \"\\ud800\"]}\n"),
        ("a.json", "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n\n"),
        ("a.json", "// a\n{\"a\": 1}\n"),
        ("a.json", " \n"),
        ("tsconfig.json", "{\"a\": [1, 2,], // b\n}\n"),
        ("a.toml", "a = {\n  b . \"c d\" = 1,\n  '' = \"\\e\\x41\",\n}\n"),
    ] {
        let found = judge(path, text).unwrap();
        assert!(found.is_accepted(), "{path}: {text}{found:?}");
    }
}

#[test]
fn what_a_grammar_lets_pass_is_rejected() {
    let mut wrong = Vec::new();
    for (path, text, at) in [
        ("a.py", "try:\n    a()\nb()\n", "b()"),
        ("a.py", "def f(a, a):\n    pass\n", "a):"),
        ("a.py", "def f(a=1, b):\n    pass\n", "b):"),
        ("a.py", "if a:\n    continue\n", "continue"),
        ("a.py", "for a in b:\n    def f():\n        break\n", "break"),
        ("a.py", "class A:\n    return 1\n", "return"),
        ("a.py", "for a in b:\n    pass\nelse:\n    break\n", "break"),
        ("a.py", "class A:\n    await b()\n", "await"),
        ("a.py", "def f():\n    await b()\n", "await"),
        ("a.py", "for a in b:\n    yield a\n", "yield"),
        ("a.py", "class A[T = ]: pass\n", "]"),
        ("a.js", "try {\n  a();\n}\nb();\n", "\nb()"),
        ("a.js", "f(a,, b);\n", ", b"),
        ("a.ts", "interface A {\n  b?: boolean boolean;\n}\n", "boolean;"),
        ("a.ts", "let a: { b: C d: E };\n", "d: E"),
        ("a.json", "{\"a\": \"b\tc\"}\n", "\tc"),
        ("a.json", "{\"a\": \"\\u12\"}\n", "}"),
        ("a.json", "{\"a\": 1,}\n", "}"),
        ("tsconfig.json", "{\"a\": 1,, }\n", ", }"),
        ("tsconfig.json", "{\"a\": \"b\tc\", }\n", "\tc"),
        ("a.toml", "a = { b = 1,\n d e f = 2 }\n", "e f"),
        ("a.toml", "[a]\nb = 1\nb = 2\n", "b = 2"),
    ] {
        let found = added(path, None, text).map(|(message, place)| (message, Some(place)));
        if found.as_ref().is_none_or(|(_, place)| *place != text.rfind(at)) {
            wrong.push(format!("{path}: {text:?}: {found:?}, not {:?}", text.rfind(at)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_text_stays_in_its_dialect() {
    let plain = "{\n  \"a\": 1\n}\n";
    let with_comment = "{\n  // b\n  \"a\": 1\n}\n";
    assert!(added("a.json", Some(plain), with_comment).is_some());
    assert_eq!(added("a.json", Some(with_comment), plain), None);
    assert_eq!(added("a.json", None, with_comment), None);
    let lines = "{\"a\": 1}\n{\"a\": 2}\n";
    assert_eq!(added("a.json", Some(lines), "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n"), None);
    assert!(added("a.json", Some(plain), lines).is_some());
    assert!(added("a.json", Some(lines), "{\"a\": 1}\n{\"a\": 2\n").is_some());
}

#[test]
fn deep_and_long_texts_are_survived() {
    let long = MAX_JUDGED - 20;
    let repeated = |head: &str, one: &str, tail: &str, count: usize| {
        format!("{head}{}{tail}", one.repeat(count))
    };
    for (path, head, one) in [
        ("a.py", "a = ", "- "),
        ("a.py", "a = ", "1+"),
        ("a.py", "a = b", ".b"),
        ("a.js", "a = ", "!"),
        ("a.js", "", "a="),
        ("a.js", "", "if(a);else "),
        ("a.js", "a = ", "<a>"),
        ("a.ts", "let a: ", "keyof "),
        ("a.ts", "let a: ", "A<"),
    ] {
        judge(path, &repeated(head, one, "1\n", long / one.len())).unwrap();
    }
    for open in ["(", "[", "{", "a(", "a[", "{a:", "(a,", "(a=>", "`${", "<a b={"] {
        for path in ["a.py", "a.js", "a.ts", "a.tsx", "a.json", "a.toml"] {
            judge(path, &repeated("a = ", open, "", 1000)).unwrap();
        }
    }
    let nested = "[".repeat(1000) + &"]".repeat(1000);
    assert!(judge("a.json", &nested).unwrap().is_plain());
    assert!(judge("a.py", &nested).unwrap().is_plain());
    assert_eq!(judge("a.py", &"a\n".repeat(MAX_JUDGED)), None);
}
