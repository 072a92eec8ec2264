//! Idioms of C and C++: macros, and types where the grammars expect values.

use super::c_words::{
    definitions, formats, hints, instantiations, loops, registers, sections, strings_of_macros,
    wrapped_strings,
};
use super::{LONGEST, blank_out, blanks, closing, is_word, name_over, word_length};

/// Words that begin a type, wherever they are.
const TYPE_WORDS: [&[u8]; 15] = [
    b"const",
    b"volatile",
    b"struct",
    b"union",
    b"enum",
    b"unsigned",
    b"signed",
    b"char",
    b"short",
    b"int",
    b"long",
    b"float",
    b"double",
    b"void",
    b"bool",
];

/// Rewrites, in C and C++:
/// * what stands for attributes or whole lines: a macro in capitals, with its arguments, before
///   another word, after one, or alone on its line; `__attribute__((…))`, `__unused` and their
///   like. It becomes blank.
/// * types among the arguments of a macro, `va_arg(ap, char *)`, and the expressions of
///   `decltype`. They become names.
/// * pointers to members, `int A::*p`, which become pointers; operators called by name,
///   `a->operator[](1)`, which become names; `new T*[n]`, which loses its stars; `typename` in
///   expressions, and the `&` of a type that is an argument, which become blank.
/// * what a macro or a pragma has beyond its first line, and explicit instantiations,
///   `template class A<int>;`. They become blank.
/// * operators that are arguments of a macro, `check(a, ==, b)`, and default arguments in braces.
///   They become names.
/// * `signals:` and `slots` of Qt, formats such as `PRIi64` behind a string, the `...` of
///   `using A::operator()...;`, the hint of `if unlikely(a)`, and the register of
///   `register int a asm ("a0");`. They become blank.
/// * strings in a macro behind others in it, `L("a") L("b")`, and macros that make a string before
///   another one, `xstr(A) "b"`. They become blank.
/// * the heads of loops by a macro, `for_each (a, b) {`. They become blank.
/// * definitions by a macro, `static A_B(c, d)`, alone on their line. They become blank.
pub(crate) fn macros(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut text = text.to_vec();
    directives(&mut text, expired)?;
    instantiations(&mut text, expired)?;
    let text = &text[..];
    let mut out = attributes(text, expired)?;
    definitions(text, &mut out, expired)?;
    qualifiers(text, &mut out, expired)?;
    type_arguments(text, &mut out, expired)?;
    default_arguments(text, &mut out, expired)?;
    members(text, &mut out, expired)?;
    wrapped_strings(text, &mut out, expired)?;
    strings_of_macros(text, &mut out, expired)?;
    sections(text, &mut out, expired)?;
    formats(text, &mut out, expired)?;
    hints(text, &mut out, expired)?;
    loops(text, &mut out, expired)?;
    registers(text, &mut out, expired)?;
    for at in memchr::memmem::find_iter(text, b"decltype(") {
        if expired() {
            return None;
        }
        let open = at + b"decltype".len();
        let Some(end) = closing(text, open) else { continue };
        if text[end + 1..].starts_with(b"{") {
            name_over(&mut out[at..=end]);
        } else if text[open..end].contains(&b',') {
            name_over(&mut out[open + 1..end]);
        }
    }
    for at in memchr::memmem::find_iter(text, b"operator") {
        if expired() {
            return None;
        }
        let sign = at + b"operator".len();
        let before = &text[..at];
        let length = text[sign..].iter().take_while(|byte| b"[]+-*/%=<>!&|^~".contains(byte));
        let length = length.count();
        if (before.ends_with(b".") || before.ends_with(b"->"))
            && text.get(sign + length) == Some(&b'(')
        {
            out[sign..sign + length].fill(b'A');
        }
    }
    for at in memchr::memmem::find_iter(text, b"::operator()...;") {
        if expired() {
            return None;
        }
        blank_out(&mut out[at + b"::operator()".len()..at + b"::operator()...".len()]);
    }
    for at in memchr::memmem::find_iter(text, b"typename ") {
        if expired() {
            return None;
        }
        let before = text[..at].trim_ascii_end();
        if before.ends_with(b"=") || before.ends_with(b"(") || before.ends_with(b"return") {
            blank_out(&mut out[at..at + b"typename".len()]);
        }
    }
    for at in memchr::memchr_iter(b'&', text) {
        if expired() {
            return None;
        }
        let after_name = text[..at].last().is_some_and(|byte| is_word(*byte));
        if after_name && matches!(text.get(at + 1), Some(b',' | b')')) {
            out[at] = b' ';
        }
    }
    for at in memchr::memmem::find_iter(text, b"*[") {
        if expired() {
            return None;
        }
        // `new const T*[n]`, `new(std::nothrow) T*[n]`
        let type_part = |byte: &&u8| is_word(**byte) || matches!(**byte, b':' | b' ' | b'*');
        let start = at - text[..at].iter().rev().take(LONGEST).take_while(type_part).count();
        let before = &text[..start];
        let placed = before.ends_with(b")")
            && memchr::memrchr(b'(', before).is_some_and(|open| {
                let word = before[..open].trim_ascii_end().strip_suffix(b"new");
                word.is_some_and(|before| before.last().is_none_or(|byte| !is_word(*byte)))
            });
        if placed
            || text[start..at].trim_ascii_start().starts_with(b"new ")
            || memchr::memmem::find(&text[start..at], b" new ").is_some()
        {
            out[at] = b' ';
        }
    }
    Some(out)
}

/// The last place of a run of lines that a backslash joins.
fn joined_end(text: &[u8], start: usize) -> usize {
    let mut ends = memchr::memchr_iter(b'\n', &text[start..]).map(|end| start + end);
    let joined = |end: usize| {
        let line = text[start..end].iter().rev().find(|byte| !b" \t\r".contains(byte));
        line == Some(&b'\\')
    };
    ends.find(|&end| !joined(end)).unwrap_or(text.len())
}

/// Blanks pragmas, which may be anywhere, macros and included files in braces, files that are included
/// by a macro, and the lines that
/// continue a `#define`: the grammars end a macro at its first comment.
fn directives(text: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    let mut next = 0;
    while let Some(at) = memchr::memchr(b'#', &text[next..]).map(|at| next + at) {
        if expired() {
            return None;
        }
        next = at + 1;
        let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        if !text[line..at].trim_ascii().is_empty() {
            continue;
        }
        let word = text[next..].trim_ascii_start();
        let (pragma, define) = (word.starts_with(b"pragma"), word.starts_with(b"define"));
        next = joined_end(text, at);
        // A list may be made by a file that is included into it.
        let listed = (define || word.starts_with(b"undef") || word.starts_with(b"include"))
            && (innermost(&text[..at]) == Some(b'{') || is_between_entries(text, at, next));
        // `#include A_HEADER >`
        let by_macro = word.strip_prefix(b"include").is_some_and(|name| {
            name.trim_ascii_start().first().is_some_and(u8::is_ascii_uppercase)
        });
        if pragma || listed || by_macro {
            blank_out(&mut text[at..next]);
        } else if define && let Some(end) = memchr::memchr(b'\n', &text[at..next]) {
            let first = at + text[at..at + end].trim_ascii_end().len() - 1;
            blank_out(&mut text[first..next]);
        }
    }
    Some(())
}

/// Whether an initializer or its next entry goes on behind the lines from `at` to `end`.
fn is_between_entries(text: &[u8], at: usize, end: usize) -> bool {
    let mut rest = text[end..].trim_ascii_start();
    while rest.starts_with(b"/*")
        && let Some(close) = memchr::memmem::find(rest, b"*/")
    {
        rest = rest[close + 2..].trim_ascii_start();
    }
    rest.starts_with(b",") || matches!(text[..at].trim_ascii_end().last(), Some(b'=' | b','))
}

/// Blanks a macro in small letters at the start of a line, before a word that begins a type:
/// `local int x;`.
fn qualifiers(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    const NO_QUALIFIER: [&[u8]; 9] =
        [b"operator", b"new", b"delete", b"return", b"case", b"else", b"goto", b"typedef", b"asm"];
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if expired() {
            return None;
        }
        let at = blanks(line);
        let word = word_length(&line[at..]);
        let blank = blanks(&line[at + word..]);
        let next = &line[at + word + blank..];
        if word > 0
            && blank > 0
            && TYPE_WORDS.contains(&&next[..word_length(next)])
            && !TYPE_WORDS.contains(&&line[at..at + word])
            && !NO_QUALIFIER.contains(&&line[at..at + word])
        {
            blank_out(&mut out[start + at..start + at + word]);
        }
        start += line.len();
    }
    Some(())
}

/// Words before a name that is no attribute of a pointer: `return A * b`, `const A *b`.
const NO_TYPE: [&[u8]; 6] = [b"return", b"case", b"else", b"throw", b"delete", b"const"];

fn attributes(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    let (mut at, mut line, mut seen) = (0, 0, 0);
    while let Some(start) = text[at..]
        .iter()
        .position(|byte| byte.is_ascii_uppercase() || *byte == b'_')
        .map(|n| at + n)
    {
        if expired() {
            return None;
        }
        let word = word_length(&text[start..]);
        at = start + word;
        let inside = start > 0 && is_word(text[start - 1]);
        let reserved = text[start..].starts_with(b"__");
        // `int f OF((int a));`
        let prototype = word == 2 && text[at..].trim_ascii_start().starts_with(b"((");
        let capitals =
            (word > 2 || prototype) && !text[start..at].iter().any(u8::is_ascii_lowercase);
        if inside || !(capitals || reserved) {
            continue;
        }
        let end = arguments_end(text, start, at);
        let rest = &text[end..];
        let blank = blanks(rest);
        let next = rest.get(blank);
        if let Some(end) = memchr::memrchr(b'\n', &text[seen..start]) {
            line = seen + end + 1;
        }
        seen = start;
        let indent = text[line..start].trim_ascii();
        let first = indent.is_empty();
        if indent.starts_with(b"#") {
            continue;
        }
        // An operand may be on a line of its own.
        let operand =
            text[..start].trim_ascii_end().last().is_some_and(|byte| b"?=|&+".contains(byte));
        let alone = first && !operand && next.is_none_or(|&byte| byte == b'\n');
        // `A::~A() NOEXCEPT = default;`
        let defaulted =
            text[..start].trim_ascii_end().ends_with(b")") && is_defaulted(&rest[blank..]);
        let before_word = (blank > 0 || end > at)
            && next.is_some_and(|&byte| {
                byte.is_ascii_alphabetic()
                    || matches!(byte, b'_' | b'[')
                    || byte == b'"' && end > at
            });
        // `int done GUARDED_BY(mu);`, `void f() LOCKS_EXCLUDED(mu) {`, `int fd __unused,`
        let last = text[line..start].trim_ascii_end().last();
        let after_word = (end > at || reserved)
            && start > line
            && text[start - 1] == b' '
            && last.is_some_and(|&byte| {
                is_word(byte) || matches!(byte, b')' | b']' | b'>' | b'*' | b'"')
            })
            && next.is_none_or(|byte| matches!(byte, b';' | b'{' | b',' | b')' | b'=' | b'\n'));
        // `if CONSTEXPR (x)`, `while LIKELY` NEWLINE `(x)`
        let condition = (indent.ends_with(b"if") || indent.ends_with(b"while"))
            && rest.trim_ascii_start().starts_with(b"(");
        // `A::A(B b)` NEWLINE `LOCKS_EXCLUDED(b) {`, `TRY {`, `} CATCH(…) {`, `f() NOEXCEPT {`
        let above = text[..start].trim_ascii_end().last();
        let before_block = next == Some(&b'{')
            && match above {
                Some(b')') => true,
                Some(b';' | b'{') => first && end == at,
                Some(b'}') => !first || end == at,
                _ => false,
            };
        // `unsigned char FAR *p`
        let word_before = indent.rsplit(|byte| !is_word(*byte)).next().unwrap_or_default();
        let in_pointer = next == Some(&b'*')
            && end == at
            && text[start.saturating_sub(1)] == b' '
            && !word_before.is_empty()
            && out[..start].trim_ascii_end().ends_with(word_before)
            && !NO_TYPE.contains(&word_before);
        // `class A FINAL : public B`
        let in_head = (indent.starts_with(b"class ") || indent.starts_with(b"struct "))
            && text[start - 1] == b' '
            && last.is_some_and(|&byte| is_word(byte))
            && !matches!(indent, b"class" | b"struct")
            && (next == Some(&b'{') || next == Some(&b':') && !rest[blank..].starts_with(b"::"));
        // `PRIVATE_UNLESS_TESTED:`
        let label = first && !operand && rest[blank..].starts_with(b":\n");
        // `template <typename A, ENABLE_IF(sizeof(A) == 1)>`
        let parameter = indent.starts_with(b"template")
            && end > at
            && !lacks_operand(&text[at..end])
            && matches!(last, Some(b',' | b'<'))
            && matches!(next, Some(b',' | b'>'));
        if parameter {
            name_over(&mut out[start..end]);
            at = end;
        } else if alone
            || before_word
            || after_word
            // `) WARN_UNUSED;` below the parameters
            || indent == b")" && next == Some(&b';')
            || defaulted
            || before_block
            || in_pointer
            || in_head
            || reserved && end > at
            || condition
            || label
        {
            blank_out(&mut out[start..end + if label { blank + 1 } else { 0 }]);
            at = end;
        }
    }
    Some(out)
}

/// Whether a text begins with `= default;`, `= delete;` or `= 0;`.
fn is_defaulted(text: &[u8]) -> bool {
    let Some(value) = text.strip_prefix(b"=") else { return false };
    let value = value.trim_ascii_start();
    let rest = [&b"default"[..], b"delete", b"0"].iter().find_map(|word| value.strip_prefix(*word));
    rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(b";"))
}

/// Whether an operator is the last thing in the brackets of `arguments`. `&&` may end a type.
fn lacks_operand(arguments: &[u8]) -> bool {
    let inside = arguments.strip_suffix(b")").unwrap_or(arguments).trim_ascii_end();
    let before = |sign: &[u8]| inside.strip_suffix(sign).map(<[u8]>::trim_ascii_end);
    [&b"||"[..], b"==", b"!=", b"<=", b">=", b"+", b"-", b","]
        .iter()
        .any(|sign| before(sign).is_some())
        || before(b"&&")
            .and_then(<[u8]>::last)
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b')')
}

/// Writes names over the types among the arguments of a call.
fn type_arguments(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memchr2_iter(b'(', b',', text) {
        if expired() {
            return None;
        }
        let called = text[..at].last().is_some_and(|byte| is_word(*byte));
        // The arguments of an attribute are blank already.
        if text[at] == b'(' && !called || out[at] == b' ' {
            continue;
        }
        let start = at + 1 + blanks(&text[at + 1..]);
        // `check(a, >=, b)`
        let sign = text[start..].iter().take_while(|byte| b"=!<>".contains(byte)).count();
        let after = start + sign + blanks(&text[start + sign..]);
        let last = matches!(text.get(after), Some(b',' | b')'));
        if (1..3).contains(&sign) && text[at] == b',' && last {
            out[start..start + sign].fill(b'A');
            continue;
        }
        let Some(end) = type_end(text, start) else { continue };
        if matches!(text.get(end), Some(b',' | b')')) {
            out[start..end].fill(b'A');
        }
    }
    Some(())
}

/// Writes names over default arguments in braces: `void f(A a = {1, 2})`.
fn default_arguments(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memmem::find_iter(text, b"= {") {
        if expired() {
            return None;
        }
        let Some(end) = closing(text, at + 2) else { continue };
        if matches!(text[end + 1..].trim_ascii_start().first(), Some(b',' | b')'))
            && innermost(&text[..at]) == Some(b'(')
        {
            name_over(&mut out[at + 2..=end]);
        }
    }
    Some(())
}

/// The bracket that is open at the end of a text, if it is near.
fn innermost(text: &[u8]) -> Option<u8> {
    let mut depth = 0_usize;
    for &byte in text.iter().rev().take(LONGEST) {
        match byte {
            b')' | b']' | b'}' => depth += 1,
            b'(' | b'[' | b'{' if depth == 0 => return Some(byte),
            b'(' | b'[' | b'{' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where the type that begins at `start` ends: words of types, a name after one of `struct` and its
/// like, and stars.
fn type_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut named = false;
    // `cast(state *, p)`
    let name = start + word_length(&text[start..]);
    let stars = text[name..].iter().take_while(|byte| matches!(byte, b'*' | b' ')).count();
    if name > start && text[name..name + stars].contains(&b'*') {
        return Some(name + stars);
    }
    loop {
        let word = &text[at..at + word_length(&text[at..])];
        let tagged = matches!(word, b"struct" | b"union" | b"enum");
        if word.is_empty() || !(named || TYPE_WORDS.contains(&word)) {
            break;
        }
        at += word.len() + blanks(&text[at + word.len()..]);
        named = tagged;
    }
    let stars = text[at..].iter().take_while(|byte| matches!(byte, b'*' | b' ')).count();
    (at > start).then_some(at + stars)
}

/// Rewrites pointers to members as pointers, and `.*` and `->*` as another operator.
fn members(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for star in memchr::memchr_iter(b'*', text) {
        if expired() {
            return None;
        }
        let before = &text[..star];
        let name = text.get(star + 1).is_some_and(|&byte| is_word(byte) || byte == b'(');
        if before.ends_with(b"::") {
            let start = qualified_start(before);
            out[start..star].fill(b' ');
        } else if name && before.ends_with(b"->") {
            out[star - 2..=star].copy_from_slice(b"+  ");
        } else if name && before.ends_with(b".") {
            out[star - 1..=star].copy_from_slice(b"+ ");
        }
    }
    Some(())
}

/// Where the name `a::b<c>::` at the end of a text begins.
fn qualified_start(text: &[u8]) -> usize {
    let mut at = text.len();
    let mut depth = 0_usize;
    let least = at.saturating_sub(LONGEST);
    while at > least {
        match text[at - 1] {
            b'>' => depth += 1,
            b'<' if depth > 0 => depth -= 1,
            byte if is_word(byte) || byte == b':' => {}
            b' ' | b',' | b'*' | b'&' if depth > 0 => {}
            _ => break,
        }
        at -= 1;
    }
    at
}

/// Where the arguments of the word from `start` to `at` end, if it has any. Those of an attribute may
/// be apart: `int a __attribute__ ((unused));`.
fn arguments_end(text: &[u8], start: usize, at: usize) -> usize {
    let apart = text[start..].starts_with(b"__attribute");
    let open = at + if apart { blanks(&text[at..]) } else { 0 };
    match text.get(open) {
        Some(b'(') => closing(text, open).map_or(at, |end| end + 1),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn a_macro_before_a_default_becomes_blank_and_an_operand_stays() {
        assert_eq!(rewritten(macros, "A::~A() NOEXCEPT = default;"), "A::~A()          = default;");
        let operand = "int a = b ?\n  WIDE(\"c\") :\n  d;\n";
        assert_eq!(rewritten(macros, operand), operand);
        let parameter = "template <typename A, ENABLE_IF(sizeof(A) == 1)>\nint f(A);\n";
        let named = "template <typename A, AAAAAAAAAAAAAAAAAAAAAAAAA>\nint f(A);\n";
        assert_eq!(rewritten(macros, parameter), named);
        let wrong = [
            "A::~A() NOEXCEPT = defaultx;",
            "template <typename A, ENABLE_IF(sizeof(A) == 1 && )>\nint f(A);\n",
        ];
        wrong.iter().for_each(|text| assert_eq!(rewritten(macros, text), *text));
    }

    #[test]
    fn macros_before_a_word_or_alone_become_blank() {
        assert_eq!(rewritten(macros, "#define MAX 16\n"), "#define MAX 16\n");
        let text = "FMT_BEGIN\nstatic FMT_X bool f(A_B(x) int a);\nFILE *f = NULL;\nCALL(x);\n";
        let blank = "         \nstatic       bool f(       int a);\nFILE *f = NULL;\nCALL(x);\n";
        assert_eq!(rewritten(macros, text), blank);
    }

    #[test]
    fn attributes_after_a_word_become_blank() {
        let text = "int n GUARDED_BY(mu);\n__declspec(align(8)) char b[9];\nx = MAX(a, b);\n";
        let blank = "int n               ;\n                     char b[9];\nx = MAX(a, b);\n";
        assert_eq!(rewritten(macros, text), blank);
        assert_eq!(rewritten(macros, "f(int a __unused, A *b __x)"), "f(int a         , A *b    )");
        assert_eq!(rewritten(macros, "if A_CONST (x)"), "if         (x)");
    }

    #[test]
    fn a_macro_below_a_list_becomes_blank_and_a_type_stays() {
        let text = "int f(\n  int a\n) GNU_UNUSED;\nx = (int) MAX;\n";
        let blank = "int f(\n  int a\n)           ;\nx = (int) MAX;\n";
        assert_eq!(rewritten(macros, text), blank);
        let text = "f(A_PTR const _UD *a, (A_PTR _U8 *)b);";
        assert_eq!(rewritten(macros, text), "f(      const _UD *a, (      _U8 *)b);");
    }

    #[test]
    fn attributes_before_a_block_become_blank() {
        let text = "A::A(B b)\n  LOCKS(b) {\n  TRY {\n  } CATCH(...) {}\n}\nvoid f() NO_X {\n";
        let blank = "A::A(B b)\n           {\n      {\n  }            {}\n}\nvoid f()      {\n";
        assert_eq!(rewritten(macros, text), blank);
        assert_eq!(rewritten(macros, "class A FINAL : public B {"), "class A       : public B {");
        assert_eq!(rewritten(macros, "TEST(A, b) {\n}\n"), "TEST(A, b) {\n}\n");
    }

    #[test]
    fn old_prototypes_and_qualifiers_become_blank() {
        let text = "local int f OF((FILE *a,\n  int b));\nz_x unsigned char FAR *next;\n";
        let blank = "      int f             \n         ;\n    unsigned char     *next;\n";
        assert_eq!(rewritten(macros, text), blank);
        assert_eq!(rewritten(macros, "operator int() const;\n"), "operator int() const;\n");
    }

    #[test]
    fn directives_lose_what_the_grammar_may_misread() {
        let text = "#define A \\\n  B(1) /* c */ \\\n\nint x;\n  #pragma omp for\n";
        assert_eq!(
            rewritten(macros, text),
            "#define A  \n                \n\nint x;\n                 \n"
        );
    }

    #[test]
    fn a_file_included_by_a_macro_becomes_blank() {
        let text = "#define A < b.h\n#include A >\n#include <c.h>\nint d;\n";
        let blank = "#define A < b.h\n            \n#include <c.h>\nint d;\n";
        assert_eq!(rewritten(macros, text), blank);
    }

    #[test]
    fn directives_between_entries_become_blank() {
        let text =
            "int a[] =\n#define B 0\n{ 1 }\n#define C 1\n/* d */\n, { 2 };\n#define E 2\nf();\n";
        let blank =
            "int a[] =\n           \n{ 1 }\n           \n/* d */\n, { 2 };\n#define E 2\nf();\n";
        assert_eq!(rewritten(macros, text), blank);
    }

    #[test]
    fn explicit_instantiations_become_blank() {
        let text =
            "template a::b::b(c, d);\nextern template struct e<void>;\ntemplate <int F> g h();\n";
        let blank = format!("{}\n{}\ntemplate <int F> g h();\n", " ".repeat(23), " ".repeat(31));
        assert_eq!(rewritten(macros, text), blank);
    }

    #[test]
    fn operators_and_braces_among_arguments_become_names() {
        let text = "is(a, >=, b(1)); void f(a b, c d = {1, 2}); int g[] = {1, 2};";
        let names = "is(a, AA, b(1)); void f(a b, c d = AAAAAA); int g[] = {1, 2};";
        assert_eq!(rewritten(macros, text), names);
        let fields = "struct a b = { .c = {1, 2}, .d = {3} };";
        assert_eq!(rewritten(macros, fields), fields);
    }

    #[test]
    fn types_among_arguments_become_names() {
        let text = "of(a, const struct b *, c) va(d, long long) e(int f) (char *)g, int h\n";
        let names = "of(a, AAAAAAAAAAAAAAAA, c) va(d, AAAAAAAAA) e(int f) (char *)g, int h\n";
        assert_eq!(rewritten(macros, text), names);
        assert_eq!(rewritten(macros, "to(a_b *, c) d(e * f, g)"), "to(AAAAA, c) d(e * f, g)");
        assert_eq!(rewritten(macros, "a ? b : decltype(c::d){}"), "a ? b : AAAAAAAAAAAAAA{}");
        assert_eq!(rewritten(macros, "-> decltype(a(b),\n void())"), "-> decltype(AAAAA\n       )");
    }

    #[test]
    fn pointers_to_members_become_pointers() {
        let text = "int A::*p; void (b::C<d, e>::*)(); (x.*p)(); y->*p; z = 2.*q";
        let plain = "int    *p; void (            *)(); (x+ p)(); y+  p; z = 2+ q";
        assert_eq!(rewritten(macros, text), plain);
    }

    #[test]
    fn expressions_lose_what_belongs_to_types() {
        let text = "x = typename A::b(); throws(f(a), b::c&); s = \"_\" STR(A);\nA_B:\n  int c;";
        let plain = "x =          A::b(); throws(f(a), b::c ); s = \"_\"       ;\n    \n  int c;";
        assert_eq!(rewritten(macros, text), plain);
    }

    #[test]
    fn operators_called_by_name_and_arrays_of_pointers_lose_their_signs() {
        assert_eq!(rewritten(macros, "a->operator[](1); new T*[n]"), "a->operatorAA(1); new T [n]");
        assert_eq!(rewritten(macros, "a = new const b*[n]; c*[1]"), "a = new const b [n]; c*[1]");
    }
}
