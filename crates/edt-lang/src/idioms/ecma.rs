//! Idioms of TypeScript and of JSX.

use super::{blank_out, blanks, is_word, word_length};

const DEFAULT: &[u8] = b"export default function";

/// Rewrites, in TypeScript:
/// * a line that begins with `<`, which the grammar takes for type arguments of the line above: a
///   call signature with type parameters. It gets a `;` before it, unless a value must follow.
/// * function types in parentheses beside a `|`, which become names.
/// * `export type * from`, without `type`.
/// * `export default function(…): T`, without a name and a body. It gets a name.
/// * the variance of a type parameter, `<in A, out B>`, and the modifier `accessor`.
/// * the type `import('…').A`, and the type argument `typeof import('…')`: the import becomes a
///   name.
/// * `using`, which becomes `const`, and `&` in addresses, which becomes `_`.
pub(crate) fn types(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if expired() {
            return None;
        }
        let blank = blanks(line);
        let rest = line[blank..].trim_ascii_end();
        // An element of JSX begins with `<` and a capital, too.
        let parameter = rest.get(1).is_none_or(u8::is_ascii_uppercase)
            && (rest.len() == 1 || memchr::memmem::find(rest, b">(").is_some());
        if blank > 0 && rest.starts_with(b"<") && parameter && !expects_value(&text[..start]) {
            out[start + blank - 1] = b';';
        }
        if let Some(tail) = rest.strip_prefix(b"export type")
            && tail.trim_ascii_start().starts_with(b"*")
        {
            let word = start + blank + b"export ".len();
            blank_out(&mut out[word..word + b"type".len()]);
        }
        start += line.len();
    }
    for at in memchr::memmem::find_iter(text, DEFAULT) {
        let end = at + DEFAULT.len();
        if matches!(text.get(end + blanks(&text[end..])), Some(b'<' | b'(')) {
            out[at..at + DEFAULT.len()].copy_from_slice(b"function AAAAAAAAAAAAAA");
        }
    }
    for (word, replace) in [
        (&b"in "[..], variance as fn(&[u8], usize) -> Option<usize>),
        (b"out ", variance),
        (b"accessor ", accessor),
    ] {
        for at in memchr::memmem::find_iter(text, word) {
            if expired() {
                return None;
            }
            if at > 0
                && !is_word(text[at - 1])
                && let Some(end) = replace(text, at)
            {
                blank_out(&mut out[at..end]);
            }
        }
    }
    for at in memchr::memmem::find_iter(text, b"<typeof import(") {
        if expired() {
            return None;
        }
        if let Some(end) = super::closing(text, at + b"<typeof import".len())
            && text.get(end + 1) == Some(&b'>')
            && is_module(&text[at + b"<typeof import(".len()..end])
        {
            super::name_over(&mut out[at + 1..=end]);
        }
    }
    for at in memchr::memmem::find_iter(text, b"import(") {
        if expired() {
            return None;
        }
        if at > 0
            && !is_word(text[at - 1])
            && let Some(end) = super::closing(text, at + b"import".len())
            && text.get(end + 1) == Some(&b'.')
            && is_module(&text[at + b"import(".len()..end])
        {
            super::name_over(&mut out[at..=end]);
        }
    }
    for at in memchr::memmem::find_iter(text, b"<<") {
        if expired() {
            return None;
        }
        // The type argument of a call is a function with type parameters: `f<<T>(a: T) => T>()`.
        let name = word_length(&text[at + 2..]);
        let end = at + 2 + name;
        if at > 0 && is_word(text[at - 1]) && name > 0 && text[end..].starts_with(b">(") {
            blank_out(&mut out[at + 1..=end]);
        }
    }
    for name in [&b"in("[..], b"out("] {
        for at in memchr::memmem::find_iter(text, name) {
            if expired() {
                return None;
            }
            // A member may have the name of an operator.
            let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
            let close = super::closing(text, at + name.len() - 1);
            if text[start..at].trim_ascii().is_empty()
                && close.is_some_and(|close| text.get(close + 1) == Some(&b':'))
            {
                out[at..at + name.len() - 1].fill(b'A');
            }
        }
    }
    united_functions(text, &mut out, expired)?;
    deferred(text, &mut out, expired)?;
    using(text, &mut out, expired)?;
    ampersands(text, &mut out, expired)?;
    Some(out)
}

/// Whether a text ends where a value must follow, such as an arrow function.
fn expects_value(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    text.ends_with(b"=>") || text.last().is_some_and(|byte| b"=(,:?|&[".contains(byte))
}

/// Writes names over function types in parentheses next to a `|` without a blank, which the grammar
/// misreads as an operand: `string|((a: B) => C)|D`.
fn united_functions(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memmem::find_iter(text, b"((") {
        if expired() {
            return None;
        }
        let Some(inner) = super::closing(text, at + 1) else { continue };
        let Some(end) = super::closing(text, at) else { continue };
        let arrow = text[inner + 1..end].trim_ascii_start().starts_with(b"=>");
        let joined = text[..at].ends_with(b"|") || text.get(end + 1) == Some(&b'|');
        if arrow && joined && !text[at..end].contains(&b'\n') {
            out[at..=end].fill(b'A');
        }
    }
    Some(())
}

/// Blanks the phase of an import: `import defer * as a from 'b'`, `import source a from 'b'`.
fn deferred(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for phase in [&b"import defer "[..], b"import source "] {
        for at in memchr::memmem::find_iter(text, phase) {
            if expired() {
                return None;
            }
            let next = text[at + phase.len()..].trim_ascii_start();
            let word = &next[..word_length(next)];
            let named = next.starts_with(b"*") || !word.is_empty() && word != b"from";
            if named && (at == 0 || !is_word(text[at - 1])) {
                blank_out(&mut out[at + b"import ".len()..at + phase.len() - 1]);
            }
        }
    }
    Some(())
}

/// Whether the argument of an import is one whole string, perhaps with attributes behind it:
/// `'./x', { with: {} }`.
fn is_module(argument: &[u8]) -> bool {
    let argument = argument.trim_ascii();
    let Some((quote @ (b'\'' | b'"'), rest)) = argument.split_first() else { return false };
    let Some(end) = memchr::memchr3(*quote, b'\\', b'\n', rest) else { return false };
    let tail = rest[end + 1..].trim_ascii_start();
    if rest[end] != *quote || tail.is_empty() {
        return rest[end] == *quote;
    }
    let Some(attributes) = tail.strip_prefix(b",").map(<[u8]>::trim_ascii_start) else {
        return false;
    };
    match attributes.first() {
        Some(b'{') => super::closing(attributes, 0)
            .is_some_and(|end| matches!(attributes[end + 1..].trim_ascii(), b"" | b",")),
        other => other.is_none(),
    }
}

/// Writes `_` over each `&` of a quoted address, `href="?a=1&b=2"`: the grammar expects a character
/// reference there.
fn ampersands(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memchr_iter(b'&', text) {
        if expired() {
            return None;
        }
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        let start = start.max(at.saturating_sub(super::LONGEST));
        let quotes = memchr::memchr_iter(b'"', &text[start..at]).count();
        let word = word_length(&text[at + 1..]);
        if quotes % 2 == 1 && word > 0 && text.get(at + 1 + word) == Some(&b'=') {
            out[at] = b'_';
        }
    }
    Some(())
}

/// Writes `const` over each `using`, and blanks the `await` before it.
fn using(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memmem::find_iter(text, b"using ") {
        if expired() {
            return None;
        }
        let rest = text[at + b"using ".len()..].trim_ascii_start();
        let name = word_length(rest);
        let next = rest[name..].trim_ascii_start();
        // `using = f()`: it may be a variable.
        if rest.starts_with(b"=") && (at == 0 || !is_word(text[at - 1])) {
            out[at] = b'U';
            continue;
        }
        let declares = name > 0 && (next.starts_with(b"=") || next.starts_with(b"of "));
        if declares && (at == 0 || !is_word(text[at - 1])) {
            out[at..at + 5].copy_from_slice(b"const");
            if text[..at].ends_with(b"await ") {
                blank_out(&mut out[at - 6..at]);
            }
        }
    }
    Some(())
}

/// Renames the attributes of JSX that are reserved words of JavaScript, `<p class="…">`, blanks the
/// `::` of a bound method, `{::this.f}`, writes `import` over the `module` of `module a from 'b';`, a
/// proposal of 2014, and rewrites `using` and `&` as [`types`] does.
pub(crate) fn jsx_attributes(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    for word in [&b"class="[..], b"for="] {
        for at in memchr::memmem::find_iter(text, word) {
            if expired() {
                return None;
            }
            let before = at > 0 && text[at - 1].is_ascii_whitespace();
            if before && matches!(text.get(at + word.len()), Some(b'"' | b'\'' | b'{')) {
                out[at] = b'A';
            }
        }
    }
    for at in memchr::memmem::find_iter(text, b"::this.") {
        if expired() {
            return None;
        }
        if matches!(text[..at].trim_ascii_end().last(), Some(b'{' | b'[' | b'(' | b',' | b'=')) {
            blank_out(&mut out[at..at + 2]);
        }
    }
    for at in memchr::memmem::find_iter(text, b"module ") {
        if expired() {
            return None;
        }
        let first = text[..at].last().is_none_or(|byte| *byte == b'\n');
        let name = text[at + b"module ".len()..].trim_ascii_start();
        let from = name[word_length(name)..].trim_ascii_start();
        if first && from.len() < name.len() && from.starts_with(b"from ") {
            out[at..at + b"import".len()].copy_from_slice(b"import");
        }
    }
    deferred(text, &mut out, expired)?;
    using(text, &mut out, expired)?;
    ampersands(text, &mut out, expired)?;
    Some(out)
}

/// Where the modifier of a type parameter at `at` ends: `in` or `out`, after `<`, `,` or a
/// comment, and before a name in capitals.
fn variance(text: &[u8], at: usize) -> Option<usize> {
    let end = at + word_length(&text[at..]);
    let next = text[end..].trim_ascii_start();
    let next = next.strip_prefix(b"out ").unwrap_or(next).first()?;
    let before = text[..at].trim_ascii_end();
    let before = before.strip_suffix(b"in").map_or(before, <[u8]>::trim_ascii_end);
    let first = matches!(before.last()?, b'<' | b',') || before.ends_with(b"*/");
    (first && next.is_ascii_uppercase()).then_some(end)
}

/// Where the modifier `accessor` at `at` ends, before the name of a field.
fn accessor(text: &[u8], at: usize) -> Option<usize> {
    let end = at + word_length(&text[at..]);
    let next = text[end..].trim_ascii_start().first()?;
    (next.is_ascii_alphabetic() || matches!(next, b'_' | b'#' | b'$')).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn call_signatures_begin_with_a_semicolon() {
        let text = "interface A {\n  (a: B): C\n  <T>(a: T): C\n  <\n    T,\n  >(a: T): C\n}\n";
        let split = "interface A {\n  (a: B): C\n ;<T>(a: T): C\n ;<\n    T,\n  >(a: T): C\n}\n";
        assert_eq!(rewritten(types, text), split);
        let arrow = "const f =\n  <\n    T,\n  >(a: T) => a;\n";
        assert_eq!(rewritten(types, arrow), arrow);
    }

    #[test]
    fn function_types_beside_a_bar_become_names() {
        let text = "a(...b: C<string|((d: e.F) => void)|G>): void";
        let named = "a(...b: C<string|AAAAAAAAAAAAAAAAAA|G>): void";
        assert_eq!(rewritten(types, text), named);
        let lost = "a(...b: C<string|((d: e.F => void)|G>): void";
        assert_eq!(rewritten(types, lost), lost);
    }

    #[test]
    fn modifiers_of_types_become_blank() {
        let text = "export type * from 'a'\nexport type A<in B, out C> = (a in b)\n";
        let blank = "export      * from 'a'\nexport type A<   B,     C> = (a in b)\n";
        assert_eq!(rewritten(types, text), blank);
        assert_eq!(rewritten(types, "f<typeof import('./x')>(a)"), "f<AAAAAAAAAAAAAAAAAAAA>(a)");
        assert_eq!(rewritten(types, "class A<in out T> {}"), "class A<       T> {}");
        assert_eq!(rewritten(types, "type A = import('./x').B<C>"), "type A = AAAAAAAAAAAAA.B<C>");
    }

    #[test]
    fn a_default_signature_gets_a_name() {
        let text = "export default function<A>(a: A): A\nexport default function f() {}";
        let named = "function AAAAAAAAAAAAAA<A>(a: A): A\nexport default function f() {}";
        assert_eq!(rewritten(types, text), named);
        let text = "export default function (a: string): void";
        assert_eq!(rewritten(types, text), "function AAAAAAAAAAAAAA (a: string): void");
    }

    #[test]
    fn a_module_of_a_proposal_becomes_an_import() {
        let text = "module A from './a';\n module.exports = a;\nmodule = b;\n";
        let other = "import A from './a';\n module.exports = a;\nmodule = b;\n";
        assert_eq!(rewritten(jsx_attributes, text), other);
    }

    #[test]
    fn using_becomes_const() {
        for (text, other) in [
            ("using a = b();", "const a = b();"),
            ("await using a = b();", "      const a = b();"),
            ("for (using a of b) {}", "for (const a of b) {}"),
            ("f(using, a)", "f(using, a)"),
            ("using = f;", "Using = f;"),
            ("// using a file", "// using a file"),
        ] {
            assert_eq!(rewritten(types, text), other);
            assert_eq!(rewritten(jsx_attributes, text), other);
        }
    }

    #[test]
    fn an_import_may_have_a_phase() {
        for (text, other) in [
            ("import defer * as a from 'b'", "import       * as a from 'b'"),
            ("import source a from 'b'", "import        a from 'b'"),
            ("import defer from 'b'", "import defer from 'b'"),
        ] {
            assert_eq!(rewritten(jsx_attributes, text), other);
            assert_eq!(rewritten(types, text), other);
        }
    }

    #[test]
    fn a_function_as_type_argument_loses_its_parameters() {
        assert_eq!(rewritten(types, "f<<S>(s: S) => S>()"), "f<   (s: S) => S>()");
        assert_eq!(rewritten(types, "a << b > (c)"), "a << b > (c)");
    }

    #[test]
    fn a_member_may_be_called_in() {
        assert_eq!(rewritten(types, "{\n  in(i: A): B\n}"), "{\n  AA(i: A): B\n}");
        assert_eq!(rewritten(types, "for (a\n in(b)) {}"), "for (a\n in(b)) {}");
    }

    #[test]
    fn an_address_may_have_ampersands() {
        let text = "<a href=\"?a=1&b=2&amp;c\">{a&b == c}</a>";
        assert_eq!(rewritten(types, text), "<a href=\"?a=1_b=2&amp;c\">{a&b == c}</a>");
    }

    #[test]
    fn reserved_attributes_get_another_name() {
        let text = "<p class=\"a\" data-for=\"b\"/>";
        assert_eq!(rewritten(jsx_attributes, text), "<p Alass=\"a\" data-for=\"b\"/>");
        assert_eq!(
            rewritten(jsx_attributes, "f = {::this.f}, a::this.b"),
            "f = {  this.f}, a::this.b"
        );
    }
}
