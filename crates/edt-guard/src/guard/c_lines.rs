//! Errors of C and C++ that look like a macro to a grammar: a statement without its semicolon, two
//! commas in a row, and a name beside a string. And those of directives, which it does not look
//! into.

use super::subject::Subject;
use super::syntax_break::{BreakKind, SyntaxBreak};
use edt_lang::Parsed;

/// The first error of these kinds in an added line, if the old text has none of its kind.
pub(super) fn first(subject: &Subject<'_>) -> Option<SyntaxBreak> {
    let Some(Ok(tree)) = subject.new_tree() else { return None };
    let text = subject.after.unwrap_or_default();
    let (old, new) = subject.lines().texts();
    let added = subject.added();
    let is_over: &dyn Fn() -> bool = &|| subject.is_over();
    let added = || added.iter().cloned().flatten().take_while(|_| !subject.is_over());
    let is_idiom = |rule: Rule| {
        let Some(Ok(tree)) = subject.old_tree() else { return false };
        let lines = Lines { all: old, tree, text: subject.old_text(), is_over };
        (0..old.len()).take_while(|_| !subject.is_over()).any(|row| rule(&lines, row).is_some())
    };
    let lines = Lines { all: new, tree, text, is_over };
    let commas = || {
        let at = added().find_map(|row| doubled_comma(&lines, row))?;
        (!is_idiom(doubled_comma)).then_some((at, BreakKind::Unexpected))
    };
    let semicolon = || {
        // A line above an added one may lack its end, too: the edit may have replaced it.
        let at = added().find_map(|row| lost_semicolon(&lines, row));
        let rule: Rule = if at.is_some() { lost_semicolon } else { open_initializer };
        let at = at.or_else(|| added().find_map(|row| open_initializer(&lines, row)))?;
        (!is_idiom(rule)).then_some((at, BreakKind::Missing(";".to_owned())))
    };
    let directive = || {
        let at = added().find_map(|row| broken_directive(&lines, row))?;
        (!is_idiom(broken_directive)).then_some((at, BreakKind::Unexpected))
    };
    let string = || {
        let at = added().find_map(|row| name_beside_string(&lines, row))?;
        (!is_idiom(name_beside_string)).then_some((at, BreakKind::Unexpected))
    };
    let found = commas().or_else(semicolon).or_else(directive);
    // A header of the project may define the name.
    let certain = found.is_some() || memchr::memmem::find(text, b"#include \"").is_none();
    let (at, what) = found.or_else(string)?;
    Some(SyntaxBreak { at, what, bracket: None, certain, cause: None })
}

type Rule = fn(&Lines<'_, '_>, usize) -> Option<usize>;

/// The lines of a text, with its tree.
struct Lines<'l, 't> {
    all: &'l [&'t [u8]],
    tree: &'l Parsed<'t>,
    text: &'t [u8],
    /// Whether no time is left.
    is_over: &'l dyn Fn() -> bool,
}

impl<'t> Lines<'_, 't> {
    /// The byte at which a row begins.
    fn start(&self, row: usize) -> usize {
        self.all[row].as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// Whether the row is a part of a directive.
    fn is_directive(&self, row: usize) -> bool {
        let continues = |row: usize| self.all[row].trim_ascii_end().ends_with(b"\\");
        let first = (0..row).rev().take_while(|row| continues(*row)).last().unwrap_or(row);
        self.all[first].trim_ascii_start().starts_with(b"#") || continues(row)
    }

    /// The code of a row, without the comment at its end and white space, and its first byte.
    fn code(&self, row: usize) -> (usize, &'t [u8]) {
        let line = self.all[row];
        let start = self.start(row);
        let mut end = line.len();
        for at in memchr::memchr_iter(b'/', line) {
            // `a /* b */;` goes on behind its comment.
            let behind = memchr::memmem::find(&line[at..], b"*/").map(|close| at + close + 2);
            let goes_on = line[at..].starts_with(b"/*")
                && behind.is_some_and(|behind| !line[behind..].trim_ascii().is_empty());
            if !goes_on && self.tree.prose_from(start + at) == Some(start + at) {
                end = at;
                break;
            }
        }
        let indent = line.len() - line.trim_ascii_start().len();
        (start + indent.min(end), line[..end].trim_ascii())
    }

    /// Whether the row has code. A string is prose for the tree, and code here.
    fn has_code(&self, row: usize) -> bool {
        let (at, code) = self.code(row);
        code.starts_with(b"\"") || !code.is_empty() && !self.tree.is_prose(at)
    }
}

/// The second of two commas in a row.
fn doubled_comma(lines: &Lines<'_, '_>, row: usize) -> Option<usize> {
    let line = lines.all[row];
    let start = lines.start(row);
    let at = memchr::memchr_iter(b',', line).find(|at| {
        let rest = line[at + 1..].trim_ascii_start().strip_prefix(b",");
        // The last argument is empty: `f(a,,)` is a macro.
        rest.is_some_and(|rest| !rest.starts_with(b")")) && !lines.tree.is_prose(start + at)
    })?;
    // The arguments of a macro may be empty, those of an old prototype, `OF((a, b))`, may not.
    let by_macro = match enclosing(&lines.text[..start + at])? {
        Enclosing::Call(name) => !name.is_empty() && !name.iter().any(u8::is_ascii_lowercase),
        Enclosing::Other => false,
    };
    if by_macro || lines.is_directive(row) {
        return None;
    }
    let blank = line[at + 1..].len() - line[at + 1..].trim_ascii_start().len();
    Some(start + at + 1 + blank)
}

/// A string with a name beside it that no macro of the text has: `f(a "b")`.
fn name_beside_string(lines: &Lines<'_, '_>, row: usize) -> Option<usize> {
    let line = lines.all[row];
    let start = lines.start(row);
    let quotes = memchr::memchr_iter(b'"', line).map(|at| start + at);
    let defined = |name: &[u8]| {
        memchr::memmem::find_iter(lines.text, name)
            .any(|at| lines.text[..at].trim_ascii_end().ends_with(b"define"))
    };
    // Strings that follow each other have one answer, and it takes as long as there are strings.
    let mut known_to = 0;
    for at in quotes.take_while(|_| !(lines.is_over)()) {
        if at < known_to {
            continue;
        }
        let Some((name, end)) = lines.tree.name_beside_string(at) else { continue };
        if name.is_some_and(|name| !defined(name)) {
            return Some(at);
        }
        known_to = end;
    }
    None
}

/// How far the bracket around a place is searched.
const NEAR: usize = 4000;

/// What is open at a place.
enum Enclosing<'t> {
    /// A parenthesis, with the word before it.
    Call(&'t [u8]),
    /// Another bracket, or a statement.
    Other,
}

/// What is open at the end of `before`; `None` if that is far away.
fn enclosing(before: &[u8]) -> Option<Enclosing<'_>> {
    let mut depth = 0_usize;
    let least = before.len().saturating_sub(NEAR);
    for at in (least..before.len()).rev() {
        match before[at] {
            b')' | b']' | b'}' => depth += 1,
            b';' | b'[' | b'{' if depth == 0 => return Some(Enclosing::Other),
            b'(' if depth == 0 => {
                let name = before[..at].trim_ascii_end();
                let from = name.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1);
                return Some(Enclosing::Call(&name[from..]));
            }
            b'(' | b'[' | b'{' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where a directive breaks off: `#include` with a name that does not end, and `#if` with a
/// parenthesis without its partner.
fn broken_directive(lines: &Lines<'_, '_>, row: usize) -> Option<usize> {
    let line = lines.all[row];
    let start = lines.start(row);
    let hash = line.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let word = line[hash..].strip_prefix(b"#")?.trim_ascii();
    let continues = |row: usize| lines.all[row].trim_ascii_end().ends_with(b"\\");
    let length = word.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
    if lines.tree.is_prose(start + hash)
        || row > 0 && continues(row - 1)
        || continues(row) && &word[..length] != b"define"
    {
        return None;
    }
    let rest = word[length..].trim_ascii();
    let whole = match &word[..length] {
        b"include" => match rest.first()? {
            b'"' => rest[1..].contains(&b'"'),
            b'<' => rest.contains(&b'>'),
            // `#include A_NAME >`
            first if first.is_ascii_uppercase() && is_word_apart(rest) => true,
            _ => !rest.contains(&b'"') && !rest.contains(&b'>'),
        },
        b"define" => has_parameters(rest),
        b"if" | b"elif" => is_balanced(&without_comments(rest)) || rest.contains(&b'\''),
        _ => true,
    };
    (!whole).then_some(start + hash)
}

/// Whether the first word of a text ends it or is before a blank.
fn is_word_apart(text: &[u8]) -> bool {
    let word = text.iter().take_while(|byte| is_word(**byte)).count();
    text.get(word).is_none_or(u8::is_ascii_whitespace)
}

/// Whether none of the parameters of a macro, `a(b, c) d`, is empty.
fn has_parameters(macro_text: &[u8]) -> bool {
    let name = macro_text.iter().take_while(|byte| is_word(**byte)).count();
    let Some(list) = macro_text[name..].strip_prefix(b"(") else { return true };
    let list = &list[..memchr::memchr(b')', list).unwrap_or(0)];
    list.trim_ascii().is_empty()
        || list.split(|byte| *byte == b',').all(|one| !one.trim_ascii().is_empty())
}

/// A line without its comments. One that goes on in the next line ends it.
fn without_comments(line: &[u8]) -> Vec<u8> {
    let end = memchr::memmem::find(line, b"//").unwrap_or(line.len());
    let (mut code, mut rest) = (Vec::new(), &line[..end]);
    while let Some(open) = memchr::memmem::find(rest, b"/*") {
        code.extend(&rest[..open]);
        let close = memchr::memmem::find(&rest[open..], b"*/");
        rest = close.map_or(&[], |close| &rest[open + close + 2..]);
    }
    code.extend(rest);
    code
}

/// The end of a statement that lacks its semicolon.
fn lost_semicolon(lines: &Lines<'_, '_>, row: usize) -> Option<usize> {
    // What may precede a statement without being a part of it, or not end one.
    const NO_STATEMENT: [&[u8]; 22] = [
        b"if",
        b"for",
        b"while",
        b"switch",
        b"else",
        b"do",
        b"case",
        b"default",
        b"struct",
        b"enum",
        b"union",
        b"class",
        b"template",
        b"namespace",
        b"public",
        b"private",
        b"protected",
        b"extern",
        b"try",
        b"catch",
        b"foreach",
        b"forever",
    ];
    const NO_END: [&[u8]; 8] =
        [b"else", b"do", b"return", b"const", b"override", b"noexcept", b"throw", b"try"];
    let (start, code) = lines.code(row);
    let (first, last) = (code.first()?, code.last()?);
    if !(first.is_ascii_alphabetic() || matches!(first, b'_' | b'*'))
        || !(is_word(*last) || matches!(last, b')' | b']' | b'"' | b'\''))
        || lines.tree.is_prose(start)
    {
        return None;
    }
    let head = &code[..code.iter().take_while(|byte| is_word(**byte)).count()];
    let tail = &code[code.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1)..];
    let capitals = |word: &[u8]| {
        word.len() > 1
            && word.iter().any(u8::is_ascii_uppercase)
            && !word.iter().any(u8::is_ascii_lowercase)
    };
    let is_plain = |word: &[u8]| !capitals(word) && !word.starts_with(b"__");
    if NO_STATEMENT.contains(&head)
        || NO_END.contains(&tail)
        || !is_plain(head)
        || head == code
        || capitals(tail) && memchr::memchr(b'=', code).is_none()
        || !is_balanced(code)
        || lines.is_directive(row)
    {
        return None;
    }
    let filled = |row: &usize| lines.has_code(*row);
    let before = (0..row).rev().find(filled)?;
    let after = (row + 1..lines.all.len()).find(filled)?;
    let (above, (next_at, below)) = (lines.code(before).1, lines.code(after));
    // `else` NEWLINE `f()` NEWLINE `}`
    let controlled = below.starts_with(b"}") && (above.ends_with(b"else") || is_condition(above));
    if !controlled && !matches!(above.last(), Some(b';' | b'{' | b'}')) {
        return None;
    }
    // A loop by a macro may have a condition: `for_each (a, b) if (c)`.
    if ends_with_condition(code) {
        return None;
    }
    let indent = |at: usize, row: usize| at - lines.start(row);
    if lines.is_directive(before)
        || lines.is_directive(after)
        || indent(next_at, after) > indent(start, row)
        || !begins_statement(below)
        || !lines.tree.is_in_block(start)
    {
        return None;
    }
    Some(start + code.len())
}

fn is_balanced(code: &[u8]) -> bool {
    let count = |sign: u8| memchr::memchr_iter(sign, code).count();
    count(b'(') == count(b')') && count(b'[') == count(b']') && count(b'{') + count(b'}') == 0
}

/// The end of an initializer that lacks its semicolon: `= "a"` or `1, 2}` above another declaration.
fn open_initializer(lines: &Lines<'_, '_>, row: usize) -> Option<usize> {
    const STARTS: [&[u8]; 16] = [
        b"static",
        b"const",
        b"extern",
        b"typedef",
        b"struct",
        b"unsigned",
        b"int",
        b"char",
        b"void",
        b"long",
        b"short",
        b"enum",
        b"return",
        b"if",
        b"for",
        b"while",
    ];
    let (start, code) = lines.code(row);
    let filled = |row: &usize| lines.has_code(*row);
    let value = match code.last()? {
        b'"' => {
            let above = || lines.code((0..row).rev().find(filled)?).1.strip_suffix(b"=");
            memchr::memmem::find(code, b" = \"").is_some() || code[0] == b'"' && above().is_some()
        }
        b'}' => {
            let inner = code[..code.len() - 1].trim_ascii_end().last();
            let list = memchr::memmem::find(code, b"= {").is_some() || !code.contains(&b'{');
            let item = |byte: &u8| byte.is_ascii_digit() || *byte == b'"';
            list && code.contains(&b',') && inner.is_some_and(item)
        }
        _ => false,
    };
    if !value || code[0] == b'#' || lines.is_directive(row) || !lines.has_code(row) {
        return None;
    }
    let below = (row + 1..lines.all.len()).find(filled)?;
    let (_, below) = lines.code(below);
    let head = &below[..below.iter().take_while(|byte| is_word(**byte)).count()];
    STARTS.contains(&head).then_some(start + code.len())
}

/// Whether a line is `if (…)` or another head of one statement.
fn is_condition(code: &[u8]) -> bool {
    let code = code.strip_prefix(b"}").unwrap_or(code).trim_ascii_start();
    let heads = [&b"if"[..], b"else if", b"for", b"while", b"switch"];
    let is_head = |word: &[u8]| {
        code.strip_prefix(word).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"("))
    };
    code.ends_with(b")") && is_balanced(code) && heads.iter().any(|word| is_head(word))
}

/// Whether a line ends with `if (…)` or another head of one statement.
fn ends_with_condition(code: &[u8]) -> bool {
    let heads = [&b" if"[..], b" for", b" while", b" switch"];
    let mut places = heads.iter().filter_map(|word| memchr::memmem::rfind(code, word));
    places.any(|at| is_condition(&code[at + 1..]))
}

/// Whether a line is a declaration: `int *a;`, `struct b c = d;`.
fn is_declaration(code: &[u8]) -> bool {
    let head = code.iter().position(|&byte| matches!(byte, b';' | b'=' | b',' | b'['));
    let Some(head) = head.filter(|_| code.ends_with(b";")).map(|at| code[..at].trim_ascii()) else {
        return false;
    };
    let plain = |byte: &u8| is_word(*byte) || matches!(byte, b' ' | b'\t' | b'*');
    let words = head.split(|byte| !is_word(*byte)).filter(|word| !word.is_empty()).count();
    head.iter().all(plain) && words > 1
}

/// Whether a line can only begin a statement or end a block.
fn begins_statement(code: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] = [
        b"return",
        b"if",
        b"for",
        b"while",
        b"switch",
        b"break",
        b"continue",
        b"goto",
        b"case",
        b"default",
    ];
    if code.starts_with(b"}") {
        return true;
    }
    let head = &code[..code.iter().take_while(|byte| is_word(**byte)).count()];
    if head.is_empty() || !head[0].is_ascii_lowercase() && head[0] != b'_' {
        return false;
    }
    let rest = code[head.len()..].trim_ascii_start();
    let ends = code.ends_with(b";") || code.ends_with(b"{");
    let operates = [&b"("[..], b"=", b"->", b".", b"++", b"--", b"+=", b"-=", b"["];
    WORDS.contains(&head)
        || is_declaration(code)
        || ends && !rest.starts_with(b"==") && operates.iter().any(|sign| rest.starts_with(sign))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::RepoPath;
    use std::time::Duration;

    fn found(before: &str, after: &str) -> Option<(usize, BreakKind)> {
        let path = RepoPath::parse(b"a.c").unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let file = Subject::new(&path, None, before, after, Vec::new(), Duration::from_secs(5));
        first(&file).map(|found| (found.at, found.what))
    }

    const BEFORE: &str = "int f(int a)\n{\n\treturn a;\n}\n";

    fn body(lines: &str) -> String {
        format!("int f(int a)\n{{\n{lines}\treturn a;\n}}\n")
    }

    #[test]
    fn a_statement_without_its_semicolon_is_found() {
        for lines in [
            "\tg(a)\n",
            "\tint b = a\n",
            "\ta = g(a)\n\tg(b);\n",
            "\tp->x = a // why\n\ta++;\n",
            "\tif (a) {\n\t\tg(a)\n\t}\n",
            "\tg(\"x\")\n\n\t/* next */\n",
            "\tif (a) {\n\t\tif (b)\n\t\t\tg(a)\n\t}\n",
            "\tchar *b\n\tchar *c;\n",
        ] {
            let found = found(BEFORE, &body(lines));
            let missing = BreakKind::Missing(";".to_owned());
            assert!(found.as_ref().is_some_and(|(_, what)| *what == missing), "{lines}: {found:?}");
        }
    }

    #[test]
    fn an_initializer_without_its_semicolon_is_found() {
        for lines in
            ["char a[] =\n  \"b\"\n", "char a[] = \"b\" /* c */\n", "int a[] = {\n  1, 2}\n"]
        {
            let after = format!("{lines}/* d */\n{BEFORE}");
            assert!(found(BEFORE, &after).is_some(), "{lines}");
        }
        for lines in
            ["char a[] =\n  \"b\"\n  \"c\";\n", "enum {\n  A, B2}\n  c;\n", "int a[] = {1, 2};\n"]
        {
            assert_eq!(found(BEFORE, &format!("{lines}{BEFORE}")), None, "{lines}");
        }
    }

    #[test]
    fn macros_and_statements_over_several_lines_are_not() {
        for lines in [
            "\tUNUSED(a)\n",
            "\tlist_for_each(a)\n\t\tg(a);\n",
            "\tint b = a\n\t    + 1;\n",
            "\tg(\"x\"\n\t  \"y\");\n",
            "\tchar b[] = \"x\"\n\t  \"y\";\n\tint c;\n",
            "\tif (a)\n\t\tg(a);\n",
            "out:\n\tg(a);\n",
            "\ta = a /* b */ + a /* c */;\n",
            "\tint b[] = {\n\t\ta\n\t};\n",
            "\tbool c = a\n\t\t? g(a) : 0;\n",
            "#define X g(a)\n",
        ] {
            assert_eq!(found(BEFORE, &body(lines)), None, "{lines}");
        }
        let idiom = body("\tbegin(a)\n\tg(a);\n");
        assert_eq!(found(&idiom, &idiom.replace("begin(a)", "begin(a)\n\tbegin(b)")), None);
    }

    #[test]
    fn two_commas_in_a_row_are_found_in_calls() {
        let after = body("\tg(a,, 1);\n");
        let expected = (after.find(",,").unwrap() + 1, BreakKind::Unexpected);
        assert_eq!(found(BEFORE, &after), Some(expected));
        for lines in ["\tint b[] = {1,, 2};\n", "\tint b,, c;\n", "\tOF((a,, b));\n"] {
            assert!(found(BEFORE, &body(lines)).is_some(), "{lines}");
        }
        for lines in
            ["\tG(a,,1);\n", "\tg(a,,);\n", "\tg(\"a,,b\"); /* a,,b */\n", "#define X(a) Y(a,,1)\n"]
        {
            assert_eq!(found(BEFORE, &body(lines)), None, "{lines}");
        }
    }

    #[test]
    fn a_name_beside_a_string_is_a_macro_or_lost_its_comma() {
        assert!(found(BEFORE, &body("\tg(a \"b\");\n")).is_some());
        assert!(found(BEFORE, &body("\tstruct b c = {\"d\" a};\n")).is_some());
        for lines in ["\tg(\"a\" PRId64 \"b\" A \"c\");\n", "\tg(\"a\" \"b\", a);\n"] {
            assert_eq!(found(BEFORE, &body(lines)), None, "{lines}");
        }
        let after = format!("#define h \"h\"\n{}", body("\tg(h \"b\");\n"));
        assert_eq!(found(BEFORE, &after), None);
        let idiom = body("\tg(h \"b\");\n");
        assert_eq!(found(&idiom, &idiom.replace("h \"b\"", "k \"c\"")), None);
    }

    #[test]
    fn directives_are_whole() {
        for line in [
            "#include \"a.h",
            "#include A.h\"",
            "#include A.h>",
            "#include <a.h",
            "#if defined(A",
            "#elif A)",
        ] {
            assert!(found("int a;\n", &format!("{line}\nint a;\n")).is_some(), "{line}");
        }
        for line in [
            "#include \"a.h\" /* ) */",
            "#include A_H",
            "#include A_H >",
            "#include_next <a.h>",
            "#if !defined(A) && (defined(B) /* ( */)",
            "# include <a.h> // (",
            "#if defined(A) && \\\n  (B)",
            "#if A == ')'",
            "/*\n#include <a\n*/",
        ] {
            assert_eq!(found("int a;\n", &format!("{line}\nint a;\n")), None, "{line}");
        }
    }
}
