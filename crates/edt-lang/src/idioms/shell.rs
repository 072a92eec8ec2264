//! Idioms of shells.

use std::ops::Range;

use super::{LONGEST, blanks, closing, is_word, word_length};

/// Words that are not the name of a command.
const KEYWORDS: [&[u8]; 14] = [
    b"while", b"until", b"for", b"if", b"case", b"time", b"select", b"then", b"do", b"done", b"fi",
    b"elif", b"else", b"esac",
];

/// Replaces, in a shell script:
/// * expansions, `${…}` and `$((…))`, by names, and extended patterns, such as `!(a|b)`, by words.
/// * `for NAME do` by `for NAME;do`.
/// * the sign `<<<`, behind whose word further arguments may follow, by blanks, or by `<` if a number
///   is before it.
/// * redirections to `/dev/null` by blanks: the grammar knows none behind an assignment. An empty
///   substitution as a value, `a=$()`, by a word.
/// * a command that is a word in brackets, `[string] a`, by a word.
/// * escaped parentheses of `test`, and the `!` before a group, by blanks.
/// * the backticks of an assignment whose command begins below or behind blanks, by blanks.
/// * a single quote, or an escaped one in two others, between an expansion and the end of its string,
///   `"${a}'"`, by a word.
/// * tests on one line, `[ … ]` and `[[ … ]]`, by words: many of them in nested conditions exceed what
///   the parser follows, too.
/// * the name of a function that is also a builtin's, `unset()`, by another one.
/// * `coproc`, with the name of the coprocess, by blanks.
/// * the bars of pipelines by blanks: many of them in nested conditions exceed what the parser
///   follows.
/// * the ends of a clause of `case`, `;&` and `;;&`, by `;;`, and a `!` before the end of its line by
///   a blank.
/// * a here-document with more commands behind its word by blanks, up to its end.
pub(crate) fn expansions(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    let mut at = 0;
    while at + 1 < text.len() {
        let pair = &text[at..at + 2];
        let pattern = matches!(pair, b"!(" | b"@(" | b"?(" | b"*(" | b"+(")
            && at > 0
            && matches!(text[at - 1], b' ' | b'/' | b'.' | b'*' | b'\t');
        let (open, inner) = match pair {
            b"${" => (at + 1, at + 2),
            b"$(" if text.get(at + 2) == Some(&b'(') => (at + 1, at + 3),
            _ if pattern => (at + 1, at),
            _ => {
                at += 1;
                continue;
            }
        };
        if expired() {
            return None;
        }
        let end = if pair == b"${" { expansion_end(text, inner) } else { closing(text, open) };
        let Some(end) = end else {
            at += 2;
            continue;
        };
        let last = match () {
            () if pattern => end + 1,
            () if inner == open + 2 => end.saturating_sub(1),
            () => end,
        };
        if inner < last && is_whole(&text[inner..last]) {
            let fill = if inner == open + 2 { b'1' } else { b'A' };
            out[inner..last].fill(fill);
            at = end + 1;
        } else {
            at += 2;
        }
    }
    signs(text, &mut out);
    substitutions(text, &mut out, expired)?;
    for at in memchr::memmem::find_iter(text, b"}'") {
        let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        let quotes = memchr::memchr_iter(b'"', &text[line..at]);
        let within = quotes.filter(|quote| !text[..line + quote].ends_with(b"\\")).count() % 2 == 1;
        for end in [&br#"'\''""#[..], br#"'""#] {
            if within && text[at + 1..].starts_with(end) {
                out[at + 1..at + end.len()].fill(b'A');
            }
        }
    }
    inputs(text, &mut out);
    outputs(text, &mut out);
    for at in memchr::memmem::find_iter(text, b"=$()") {
        out[at + 1..at + 4].fill(b'A');
    }
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if expired() {
            return None;
        }
        if let Some(name) = bracketed(line) {
            out[start + name.start..start + name.end].fill(b'A');
        }
        if let Some(words) = coprocess(line) {
            out[start + words.start..start + words.end].fill(b' ');
        }
        if let Some(blank) = before_do(line) {
            out[start + blank] = b';';
        }
        for bar in bars(text, start..start + line.len()) {
            if out[bar] == b'|' {
                out[bar] = b' ';
            }
        }
        if let Some(name) = builtin_defined(line) {
            out[start + name.start..start + name.end].fill(b'A');
        }
        for test in tests(line) {
            out[start + test.start..start + test.end].fill(b'A');
        }
        start += line.len();
    }
    here_documents(text, &mut out, expired)?;
    Some(out)
}

/// Rewrites escaped parentheses, the `!` of a group or at the end of a line, and the ends of clauses.
fn signs(text: &[u8], out: &mut [u8]) {
    for at in memchr::memchr_iter(b'\\', text) {
        let blank = at > 0 && text[at - 1].is_ascii_whitespace();
        if blank
            && matches!(text.get(at + 1), Some(b'(' | b')'))
            && text.get(at + 2).is_none_or(u8::is_ascii_whitespace)
        {
            out[at..at + 2].fill(b' ');
        }
    }
    for at in memchr::memmem::find_iter(text, b"! {") {
        let alone = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        if alone(text[..at].last()) && alone(text.get(at + 3)) {
            out[at] = b' ';
        }
    }
    for at in memchr::memmem::find_iter(text, b";&") {
        if text.get(at + 2).is_some_and(|byte| !byte.is_ascii_whitespace()) {
            continue;
        }
        out[at] = b';';
        out[at + 1] = if text[..at].ends_with(b";") { b' ' } else { b';' };
    }
    for at in memchr::memmem::find_iter(text, b"!\n") {
        let before = text[..at].last();
        if before.is_none_or(|byte| byte.is_ascii_whitespace() || b"&;|".contains(byte)) {
            out[at] = b' ';
        }
    }
}

/// Rewrites the sign `<<<`: behind the number of a descriptor it becomes `<`.
fn inputs(text: &[u8], out: &mut [u8]) {
    for at in memchr::memmem::find_iter(text, b"<<< ") {
        out[at..at + 3].fill(b' ');
        let digits = text[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && text[..at - digits].ends_with(b" ") {
            out[at - digits..at].fill(b' ');
            out[at] = b'<';
        }
    }
}

/// Blanks the redirections of a command to `/dev/null`, and `2>&1` behind one.
fn outputs(text: &[u8], out: &mut [u8]) {
    for at in memchr::memmem::find_iter(text, b"/dev/null") {
        let mut end = at + b"/dev/null".len();
        let before = text[..at].strip_suffix(b" ").unwrap_or(&text[..at]);
        let before = before.strip_suffix(b"|").unwrap_or(before);
        let Some(open) = before.strip_suffix(b">") else { continue };
        let open = open.strip_suffix(b">").unwrap_or(open);
        let open = open.strip_suffix(b"&").unwrap_or(open);
        let digits = open.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let command = &open[..open.len() - digits];
        let apart =
            text.get(end).is_none_or(|byte| byte.is_ascii_whitespace() || b";&|)".contains(byte));
        if !apart || !command.ends_with(b" ") || lacks_command(command_before(text, command.len()))
        {
            continue;
        }
        for other in [&b" 2>&1"[..], b" 1>&2"] {
            end += if text[end..].starts_with(other) { other.len() } else { 0 };
        }
        out[command.len()..end].fill(b' ');
    }
}

/// Blanks the here-documents whose first line goes on behind their word, `(a <<b; c)`, if they end.
fn here_documents(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    let mut last = 0;
    for at in memchr::memmem::find_iter(text, b"<<") {
        if expired() {
            return None;
        }
        let indented = text.get(at + 2) == Some(&b'-');
        let start = at + if indented { 3 } else { 2 };
        let start =
            start + text[start..].iter().take_while(|byte| b" '\"\\".contains(byte)).count();
        let word = &text[start..start + word_length(&text[start..])];
        let rest = &text[start + word.len()..];
        let Some(line) = memchr::memchr(b'\n', rest) else { break };
        let more = rest[..line].iter().any(|byte| b";)&".contains(byte));
        if at < last || word.is_empty() || !more || text[..at].ends_with(b"<") {
            continue;
        }
        let mut end = start + word.len() + line + 1;
        let from = end;
        let is_end = |line: &[u8]| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let tabs =
                if indented { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
            &line[tabs..] == word
        };
        let mut lines = text[from..].split_inclusive(|&byte| byte == b'\n');
        let ends = lines.any(|line| {
            end += line.len();
            is_end(line)
        });
        if ends {
            let quote = usize::from(matches!(rest.first(), Some(b'\'' | b'"')));
            out[at..start + word.len() + quote].fill(b' ');
            super::blank_out(&mut out[from..end]);
            last = end;
        }
    }
    Some(())
}

/// Blanks the backticks of an assignment whose first one is before a blank or ends its line.
fn substitutions(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for sign in [&b"=`\n"[..], b"=\"`\n", b"=` ", b"=\"` "] {
        for at in memchr::memmem::find_iter(text, sign) {
            if expired() {
                return None;
            }
            let open = at + sign.len() - 2;
            let inside = &text[open + 1..text.len().min(open + LONGEST)];
            let mut ticks = memchr::memchr_iter(b'`', inside);
            if let Some(end) = ticks.find(|&tick| !inside[..tick].ends_with(b"\\")) {
                out[open] = b' ';
                out[open + 1 + end] = b' ';
            }
        }
    }
    Some(())
}

/// Where the expansion `${` whose content begins at `at` ends: braces alone do not nest in it.
fn expansion_end(text: &[u8], mut at: usize) -> Option<usize> {
    let (mut depth, last) = (1_usize, text.len().min(at + LONGEST));
    while at < last {
        match text[at] {
            b'\\' => at += 1,
            b'$' if text.get(at + 1) == Some(&b'{') => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether the content of an expansion is on one line, and whatever opens in it ends in it.
fn is_whole(content: &[u8]) -> bool {
    let count = |byte| memchr::memchr_iter(byte, content).count();
    let quotes = memchr::memchr_iter(b'"', content);
    let open = quotes.filter(|&at| !content[..at].ends_with(b"\\")).count() % 2 == 1;
    let runs = memchr::memmem::find(content, b"$(").is_some();
    !open && !content.contains(&b'\n') && (!runs || count(b'(') == count(b')'))
}

/// The word in brackets at the start of a line whose command it is: `[string] name`.
fn bracketed(line: &[u8]) -> Option<Range<usize>> {
    let blank = blanks(line);
    let name = line[blank..].strip_prefix(b"[")?;
    let part = |byte: &&u8| is_word(**byte) || b".-:[]".contains(*byte);
    let end = blank + 1 + name.iter().take_while(part).count();
    let rest = &line[end..];
    let apart =
        blanks(rest) > 0 && rest.trim_ascii_start().first().is_some_and(|byte| is_word(*byte));
    let whole = end > blank + 2 && !name.starts_with(b"[") && line[..end].ends_with(b"]");
    (apart && whole).then_some(blank..end)
}

/// The word `coproc` at the start of a line, with the name of the coprocess.
fn coprocess(line: &[u8]) -> Option<Range<usize>> {
    let blank = blanks(line);
    let rest = line[blank..].strip_prefix(b"coproc ")?.trim_ascii_start();
    let name = word_length(rest);
    let named = matches!(rest[name..].trim_ascii_start().first(), Some(b'{' | b'('));
    let end = line.len() - rest.len() + if named { name } else { 0 };
    Some(blank..end)
}

/// The place of the blank before `do` in the line `for NAME do`.
fn before_do(line: &[u8]) -> Option<usize> {
    let mut at = blanks(line);
    at += line[at..].starts_with(b"for").then_some(3)?;
    let blank = blanks(&line[at..]);
    let name = word_length(&line[at + blank..]);
    at += blank + name;
    let last = blanks(&line[at..]);
    let tail = &line[at + last..];
    let whole = tail.starts_with(b"do") && word_length(tail) == 2;
    (blank > 0 && name > 0 && last > 0 && whole).then_some(at)
}

/// The name of the function that a line defines, if the grammar takes it for the builtin.
fn builtin_defined(line: &[u8]) -> Option<Range<usize>> {
    let blank = blanks(line);
    let name = word_length(&line[blank..]);
    let is_builtin = matches!(&line[blank..blank + name], b"unset" | b"unsetenv");
    let rest = &line[blank + name..];
    (is_builtin && rest[blanks(rest)..].starts_with(b"()")).then_some(blank..blank + name)
}

/// The tests `[ … ]` and `[[ … ]]` where a line may have a command, if quotes and parentheses in them
/// are in pairs and nothing in them ends a command.
fn tests(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = memchr::memchr(b'[', &line[from..]).map(|at| from + at) {
        from = open + 1;
        let double = line[from..].starts_with(b"[");
        let (inside, close) = if double { (open + 2, &b"]]"[..]) } else { (open + 1, &b"]"[..]) };
        if !is_command_place(&line[..open]) || line.get(inside) != Some(&b' ') {
            continue;
        }
        let ends = memchr::memmem::find_iter(&line[inside..], close).map(|at| inside + at);
        let last = |end: &usize| {
            let next = line.get(end + close.len());
            let apart = line[..*end].ends_with(b" ") || double && line[..*end].ends_with(b")");
            apart && next.is_none_or(|byte| byte.is_ascii_whitespace() || b";&|)".contains(byte))
        };
        let Some(end) = { ends }.find(last) else { continue };
        if is_plain_test(&line[inside..end]) {
            from = end + close.len();
            found.push(open..from);
        }
    }
    found
}

/// Whether a command may follow the text before it.
fn is_command_place(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let word = before.iter().rev().take_while(|byte| is_word(**byte)).count();
    let word = &before[before.len() - word..];
    match word {
        b"" => before.last().is_none_or(|byte| b";&|({!".contains(byte)),
        _ => matches!(word, b"if" | b"elif" | b"while" | b"until" | b"then" | b"do" | b"else"),
    }
}

/// Whether quotes and parentheses are in pairs, and nothing ends a command.
fn is_plain_test(content: &[u8]) -> bool {
    let count = |byte| memchr::memchr_iter(byte, content).count();
    let even = |byte| count(byte).is_multiple_of(2);
    let single = |byte: u8| {
        content.split(|other| *other != byte).any(|run| !run.is_empty() && run.len() != 2)
    };
    b"\"'`".iter().all(|quote| even(*quote))
        && count(b'(') == count(b')')
        && !content.contains(&b';')
        && !single(b'&')
}

/// The bars between two commands of the line at `row`: a command is before each, and a word
/// follows. In a line with more closing parentheses than opening ones, a bar may be one of a pattern
/// of `case`.
fn bars(text: &[u8], row: Range<usize>) -> impl Iterator<Item = usize> + '_ {
    let (start, line) = (row.start, &text[row]);
    let count = |byte| memchr::memchr_iter(byte, line).count();
    let pattern = count(b')') > count(b'(');
    let places = memchr::memchr_iter(b'|', line).filter(|&at| is_pipe(line, at));
    places.map(move |at| start + at).filter(move |&at| {
        let next = &line[at - start + 1..];
        let next = next.strip_prefix(b" ").unwrap_or(next);
        let word = &next[..word_length(next)];
        let before = command_before(text, at);
        // A group or a compound statement has no arguments.
        let last = before.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
        let group = before.ends_with(b")") || before.ends_with(b" }");
        !pattern
            && !lacks_command(before)
            && !group
            && !KEYWORDS.contains(&last)
            && !word.is_empty()
            && !KEYWORDS.contains(&word)
            && next.get(word.len()) != Some(&b'=')
    })
}

/// Whether the bar at `at` is alone, with a blank on each side, or with none and outside of strings.
fn is_pipe(line: &[u8], at: usize) -> bool {
    let (before, next) = (&line[..at], line.get(at + 1));
    if before.ends_with(b" ") || next == Some(&b' ') {
        return before.ends_with(b" ") && next == Some(&b' ');
    }
    let even = |quote| memchr::memchr_iter(quote, before).count().is_multiple_of(2);
    let part = |byte: Option<&u8>| byte.is_some_and(|byte| b"|&\\\n\r".contains(byte));
    even(b'"') && even(b'\'') && !part(before.last()) && !part(next)
}

/// The text before `at`, without blanks at its end and without joined lines that are blank.
fn command_before(text: &[u8], at: usize) -> &[u8] {
    let mut before = &text[..at];
    loop {
        let blank = before.iter().rev().take_while(|byte| b" \t\r".contains(byte)).count();
        before = &before[..before.len() - blank];
        let Some(joined) = before.strip_suffix(b"\\\n").or(before.strip_suffix(b"\\\r\n")) else {
            return before;
        };
        before = joined;
    }
}

/// Whether no command ends at the end of a text: a line or an operator does.
fn lacks_command(before: &[u8]) -> bool {
    let operator = matches!(
        before.last(),
        None | Some(b'\n' | b'|' | b'&' | b';' | b'>' | b'<' | b'(' | b'{' | b'!')
    );
    operator && before.iter().nth_back(1) != Some(&b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn expansions_become_names() {
        let text = "a=${x:$i:1} b=$((0x$E)) rm !(a|b) $(ls)\n";
        assert_eq!(rewritten(expansions, text), "a=${AAAAAA} b=$((1111)) rm AAAAAA $(ls)\n");
        assert_eq!(rewritten(expansions, "${a#*{\\}b} ${c:-${d}}"), "${AAAAAAA} ${AAAAAAA}");
        assert_eq!(rewritten(expansions, "${a:-$(b} ${c:-\"d}"), "${a:-$(b} ${c:-\"d}");
    }

    #[test]
    fn a_text_as_input_becomes_an_argument() {
        assert_eq!(rewritten(expansions, "sed a > b <<< c \"d\"\n"), "sed a > b     c \"d\"\n");
    }

    #[test]
    fn redirections_that_the_grammar_does_not_know_are_rewritten() {
        let text = "while a; do b; done 4<<< \"c\" 15<<< \"d\"\n";
        let files = "while a; do b; done  <   \"c\"   <   \"d\"\n";
        assert_eq!(rewritten(expansions, text), files);
        let text = "a=$(b) &> /dev/null || c=$() 2>/dev/null 2>&1; d > /dev/null)\n";
        let plain = format!(
            "a=$(b){}|| c=AAA{};{})\n",
            " ".repeat(14),
            " ".repeat(17),
            " d".to_owned() + &" ".repeat(12)
        );
        assert_eq!(rewritten(expansions, text), plain);
        assert_eq!(rewritten(expansions, "a 2>| /dev/null b\n"), "a               b\n");
        for other in ["> /dev/null\n", "a;  > /dev/null\n", "a > /dev/nullb\n", "a >b/dev/null\n"] {
            assert_eq!(rewritten(expansions, other), other);
        }
    }

    #[test]
    fn a_word_in_brackets_may_be_a_command() {
        let text = "f() {\n  [string] a\n  [map[]] b=c\n  [...rest] d\n}\n";
        let words = "f() {\n  AAAAAAAA a\n  AAAAAAA b=c\n  AAAAAAAAA d\n}\n";
        assert_eq!(rewritten(expansions, text), words);
        for other in ["[a]\n", "[a b] c\n", "[a] && b\n", "a [b] c\n", "[] b\n", "[[a]] b\n"] {
            assert_eq!(rewritten(expansions, other), other);
        }
    }

    #[test]
    fn escaped_parentheses_become_blank() {
        assert_eq!(rewritten(expansions, "[ a -a \\( b \\) \\\n ]\n"), "[ a -a    b    \\\n ]\n");
    }

    #[test]
    fn comparisons_and_the_sign_of_a_group_are_rewritten() {
        let text = "! { a; } && [ b \\> c ] || [ d \">\" e ] || [ f '<' g ]\n";
        let plain = "  { a; } && AAAAAAAAAA || AAAAAAAAAAA || AAAAAAAAAAA\n";
        assert_eq!(rewritten(expansions, text), plain);
        for other in ["a! { b; }\n", "!{ a; }\n", "! {a; }\n", "echo \\>a \">\"\n"] {
            assert_eq!(rewritten(expansions, other), other);
        }
    }

    #[test]
    fn backticks_over_lines_become_blank() {
        let text = "# don`t\na=`b`\nc=`\n  d \\` |\n  e`\nf `\n  g`\n";
        let blank = "# don`t\na=`b`\nc= \n  d \\` |\n  e \nf `\n  g`\n";
        assert_eq!(rewritten(expansions, text), blank);
        assert_eq!(rewritten(expansions, "a=`  b c`\nd=\"` e`\"\n"), "a=   b c \nd=\"  e \"\n");
    }

    #[test]
    fn a_quote_behind_an_expansion_in_a_string_becomes_a_word() {
        assert_eq!(rewritten(expansions, "a \"${b%c}'\\''\""), "a \"${AAA}AAAA\"");
        assert_eq!(rewritten(expansions, "a \"'${b}'\""), "a \"'${A}A\"");
        assert_eq!(rewritten(expansions, "a ${b}'\\'' \""), "a ${A}'\\'' \"");
        assert_eq!(rewritten(expansions, "a ${b}'\"c\"'"), "a ${A}'\"c\"'");
    }

    #[test]
    fn a_test_becomes_a_word() {
        let text = "if [ $(a < b) -eq 0 ] && [[ $c =~ ^(d|e)$ ]]; then [ f ] || g; fi\n";
        let words = format!("if {} && {}; then AAAAA || g; fi\n", "A".repeat(18), "A".repeat(19));
        assert_eq!(rewritten(expansions, text), words);
        for other in
            ["a [ b ]\n", "[ a; ]\n", "[ a &lt b ]\n", "[[ (a ]]\n", "[ 'a ]\n", "[ a\n]\n"]
        {
            assert_eq!(rewritten(expansions, other), other);
        }
    }

    #[test]
    fn the_ends_of_a_clause_and_a_sign_at_the_end_of_a_line_are_rewritten() {
        let text = "case a in\n  b) c ;;&\n  d) e;&\nesac\n{ f; }&!\n";
        let plain = "case a in\n  b) c ;; \n  d) e;;\nesac\n{ f; }& \n";
        assert_eq!(rewritten(expansions, text), plain);
        for other in ["echo a!\n!a\n", "a;&lt;b\n"] {
            assert_eq!(rewritten(expansions, other), other);
        }
        assert_eq!(rewritten(expansions, "[[ (a || b)]] && c\n"), "AAAAAAAAAAAAA && c\n");
    }

    #[test]
    fn a_here_document_before_further_commands_becomes_blank() {
        let text = "(cat <<end; a)|b\nc `d` (\nend\nf\n";
        assert_eq!(
            rewritten(expansions, text),
            "(cat      ; a)|b\n       \n   \nf\n"
                .replace("\n       \n", &format!("\n{}\n", " ".repeat(7)))
        );
        let tabs = "(cat <<-'end' && a)\n\tc\n\tend\n";
        assert_eq!(rewritten(expansions, tabs), "(cat          && a)\n  \n    \n");
        for other in ["cat <<end\na (\nend\n", "(cat <<end; a)\nb\n", "a=$((1 <<b; c\n"] {
            assert_eq!(rewritten(expansions, other), other);
        }
    }

    #[test]
    fn a_builtin_may_be_defined() {
        assert_eq!(rewritten(expansions, "unset() {\n  unset a\n}\n"), "AAAAA() {\n  unset a\n}\n");
        assert_eq!(rewritten(expansions, "  unsetenv () {\n"), "  AAAAAAAA () {\n");
    }

    #[test]
    fn a_coprocess_becomes_a_command() {
        assert_eq!(rewritten(expansions, "coproc A { b; }\n"), "         { b; }\n");
        assert_eq!(rewritten(expansions, "  coproc cat b\n"), "         cat b\n");
        assert_eq!(rewritten(expansions, "a coproc b\n"), "a coproc b\n");
    }

    #[test]
    fn a_loop_without_a_list_gets_a_semicolon() {
        let text = "for file do\n  a\ndone\nfor a in b; do c; done\n";
        let split = "for file;do\n  a\ndone\nfor a in b; do c; done\n";
        assert_eq!(rewritten(expansions, text), split);
    }

    #[test]
    fn a_pipeline_becomes_one_command() {
        let text =
            "x=\"$(a | b)\"\na | while read b; do c; done\n  -h | --help | h) d ;;\n(a) | b\n";
        let one =
            "x=\"$(a   b)\"\na | while read b; do c; done\n  -h | --help | h) d ;;\n(a) | b\n";
        assert_eq!(rewritten(expansions, text), one);
        let text = "a|b 'c|d' \"e|f\"|g||h\n  i|j) k ;;\n";
        assert_eq!(rewritten(expansions, text), "a b 'c|d' \"e|f\" g||h\n  i|j) k ;;\n");
    }
}
