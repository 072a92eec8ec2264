//! What the rewriting of idioms must accept, and which damage it must not hide.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test may panic")]

use edt_lang::LANGUAGES;

/// Whether the text, as it is or without its idioms, has no fault.
fn is_read(name: &str, text: &str) -> bool {
    let language = LANGUAGES.iter().find(|language| language.name == name).unwrap();
    let is_whole = |text: &[u8]| {
        let parsed = edt_lang::parse(language, text, &|| false).unwrap();
        parsed.faults(&|| false).unwrap().is_empty()
    };
    let rewritten = language.without_idioms(text.as_bytes(), &|| false).unwrap();
    is_whole(text.as_bytes()) || rewritten.is_some_and(|text| is_whole(&text))
}

#[test]
fn idioms_hide_no_damage() {
    let damaged = [
        ("bash", "foo\n  | grep x\n"),
        ("bash", "foo > | bar\n"),
        ("bash", "foo && | bar\n"),
        ("bash", "a |\n | b\n"),
        ("bash", "a | \\\n | b\n"),
        ("bash", "if ! { a; then\n  b\nfi\n"),
        ("bash", "if ! { a; }; then\n  b\n"),
        ("bash", "if [ \"$a\" \\> \"$b\"; then\n  c\nfi\n"),
        ("bash", "a=`\n  b`\nc=`\n  d\n"),
        ("bash", "a=`  b`\nc=`  d\n"),
        ("c", "struct t a[] =\n#define B 0\n{ { 1 }\n#define C 1\n, { 2 };\n"),
        ("rust", "#[deriving(A)]\nstruct B;\nfn f() {\n    g(1u 2u);\n}\n"),
        ("bash", "a=`\n  b (`\nc=`\n  d`\n"),
        ("c", "void f(void) { g(T(\"a\") \"b\" T(c), 1); }\n"),
        ("c", "void f(void) {\n  register int a asm (\"a0\" = b;\n}\n"),
        ("c", "void f(void) { if unlikely a) b(); }\n"),
        ("c", "int a __attribute__ ((b);\nint c;\n"),
        ("c", "static int A_B(c, struct d)\nint e;\n"),
        ("c", "static A_B(c, struct d\nint e;\n"),
        ("c", "enum a {\n# define B(C) C,\n# include \"d\"\n  e f\n};\n"),
        ("c", "void f(void) { if (g(a, >= b)) c(); }\n"),
        ("c", "void f(void) { if LIKELY\n  (a b(); }\n"),
        ("c", "void f(void) { for_each(a, b) if (a c(); }\n"),
        ("bash", "a \"${b}'\\''\n"),
        ("cpp", "auto a = new(std::nothrow) B*[n;\n"),
        ("cpp", "std::string a{b(C) \"d\"};\n"),
        ("cpp", "std::string a{bstr(c) \"d\"};\n"),
        ("cpp", "int f(A *a) { return a->*(&A::b; }\n"),
        ("c", "void f(void) { if unlikely(a b(); }\n"),
        ("c", "void f(void) { g(T(\"a\") T(\n\"b\", 1); }\n"),
        ("c", "void f(void) { g(T(\"a\") \n\"b\"), 1); }\n"),
        ("go", "package a\n\nvar b = new(c.D[0]\n"),
        ("go", "// Package a is a.\n"),
        ("go", "// Package a is a.\n\nfunc b() {}\n"),
        ("java", "class A {\n  void b() {\n    c();\nimport d.E;\n  }\n}\n"),
        ("java", "class A {\n}\nimport b.C;\n"),
        ("rust", "struct A;\n\n/// B\n"),
        ("rust", "impl A {\n    fn a() {}\n\n    /// B\n    /// C\n}\n"),
        ("rust", "fn a() {}\n//! B\n"),
        ("rust", "//! A\n\n/// B\n//! C\nfn d() {}\n"),
        ("rust", "fn a() {\n    b();\n    //! C\n}\n"),
        ("rust", "const A: u32 = ~0u32;\n"),
        ("rust", "fn a() -> u32 { b!(~); ~(1 << 4) }\n"),
        ("c", "struct a b = {\n  .sub = {\n    This is some prose\n  },\n  .c = 1,\n};\n"),
        ("cpp", "struct a b = {\n  .sub = {\n    This is some prose\n  },\n  .c = 1,\n};\n"),
    ];
    for (language, text) in damaged {
        assert!(!is_read(language, text), "{language}: {text}");
    }
}

#[test]
fn idioms_are_read() {
    let valid = [
        ("bash", "foo \\\n  | grep x \\\n  | sort\n"),
        ("bash", "find . -exec ls {} \\; | grep x\n"),
        ("bash", "if [ -n \"$a\" -a \\( \"$b\" = 1 -o \"$c\" = 2 \\) ]; then\n  d\nfi\n"),
        ("bash", "find . \\( -name a -o -name b \\) -print\n"),
        ("bash", "if [ ! \\( -f a -o -f b \\) ]; then\n  d\nfi\n"),
        ("bash", "if ! { [[ \"$a\" -eq 1 ]] ||\n  b; }; then\n  c\nfi\n! {\n  d\n} || exit 1\n"),
        ("bash", "if [ \"$a\" \\> \"$b\" ] && [ c \\< d ]; then\n  e\nfi\n"),
        ("bash", "[ \"$a\" \">\" \"$b\" ] && [ a '<' b ] && c\n"),
        ("bash", "case a in\nb)\n  c=`\n    d |\n  e`\n  ;;\nf)\n  c=\"`\n  g\n`\"\nesac\n"),
        ("c", "void f(void) { g(T(\"a\\n\")\n  T(\"b\") T(\"\\n\"), 1); }\n"),
        ("c", "void f(void) {\n  register int a asm (\"a0\") = b;\n}\n"),
        (
            "c",
            "void f(void) {\n  register long a asm(\"v0\") = b;\n  asm volatile (\"c\" : \"+r\"(a));\n}\n",
        ),
        ("c", "int a __attribute__ ((unused));\nw_t b __attribute__ ((c (\"d\"))) = 1;\n"),
        ("c", "static A_B(c, struct d, e)\nstatic inline A_B(f, struct d, e)\n\nint g;\n"),
        ("c", "enum a {\n# define B(C) C,\n# include \"d\"\n# undef B\n  e\n};\n"),
        ("c", "int a[] = {\n#define B(C) C,\n#include \"d\"\n#undef B\n};\n"),
        ("c", "void f(void) { if (!g(&a, b, >=)) c(); }\n"),
        ("c", "void f(void) {\n  if LIKELY\n    (a) b();\n  while LIKELY\n  (a) b();\n}\n"),
        ("c", "void f(void) {\n  for_each (a, b) if (a)\n    c();\n}\n"),
        (
            "bash",
            "set -- \"$1\" \"${2:-}'\" \"\"\nset -- \"$1\" \"${2#*\\'}\" \"$3${2%%\\'*}'\\''\"\nb() {\n  c\n}\n",
        ),
        ("cpp", "auto a = new(std::nothrow) B*[n];\nauto c = new (d) e::f *[2 * n];\n"),
        ("cpp", "int f(A & a, A *b) { return a.*(&A::c) + b->*(d()); }\n"),
        ("cpp", "std::string a{xstr(B_C) \"/d\"}, e(STRINGIFY(f)\"g\");\n"),
        ("c", "void f(void) { if unlikely(a > (b)) c(); }\n"),
        ("c", "void f(void) { g(T(\"a\") T(\n    \"b\\n\"), 1); }\n"),
        ("cpp", "A_FLAG(bool, b, true,\n       \"c\");\nA_FLAG(bool, d, false, \"e\");\n"),
        ("cpp", "class A {\npublic slots:\n  void a();\nsignals:\n  void b();\n};\n"),
        ("cpp", "template <class... A>\nstruct B : A... {\n  using A::operator()...;\n};\n"),
        ("cpp", "void f() { printf(\"%\" PRIi64, x); }\n"),
        ("go", "package a\n\nvar b = []*int{new(c.D[0]), new([]int)[0], new(1 + e[2])}\n"),
        ("go", "// Package a is a.\n\npackage a\n"),
        ("java", "package a;\n\nimport b.C;\nimport static b.D.e;\n\nclass A {}\n"),
        ("rust", "//! A\n\n/// B\n#[c]\nstruct D {\n    //// E\n    f: u8, // ///\n}\n//// G\n"),
        ("rust", "// A\n#![a]\n//! B\n\n// C\n//! D\nmod e {\n    //! F\n}\n"),
        ("rust", "a! {\n    b\n    //! C\n}\nconst E: &str = \"\n//! f\n\";\n"),
        ("rust", "a! {\n    /// B\n}\nfn c() {\n    //! D\n}\nconst E: &str = \"\n/// f\n\";\n"),
        ("rust", "fn a() { let b = |s| f32::<_, (_, C)>(D::E)(s); }\n"),
        ("rust", "type A = Token![~];\nmacro_rules! a { (~ $b:expr) => { c!(~ \"~)\") } }\n"),
        ("cpp", "void f(A a, B b = {1, 2}, C c = {});\n"),
        ("css", "a { b: url(\n  ../a.png\n) }\n"),
        ("css", "a { b: url(a\\)b.png) }\n"),
    ];
    for (language, text) in valid {
        assert!(is_read(language, text), "{language}: {text}");
    }
}
