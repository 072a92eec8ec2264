//! What GNU make rejects while it reads a makefile: lines that are neither assignments, rules nor
//! directives, conditionals and definitions without an end, and references without one.
//!
//! The order of the questions is that of `eval` in GNU make's `read.c`. The conditionals and
//! assignments of BSD make are accepted as well.

use std::ops::Range;

use super::{BOM, Found, into_faults};
use crate::fault::SyntaxFault;

const SPACES: &str = "a recipe line that begins with spaces, where make needs a tab";
const SEPARATOR: &str = "a line without `:` or `=`";
const NO_ENDIF: &str = "a conditional without `endif`";
const NO_CONDITIONAL: &str = "no conditional that this line belongs to";
const NO_ENDEF: &str = "a `define` without `endef`";
const NO_DEFINE: &str = "an `endef` without `define`";
const CONDITION: &str = "a condition that is neither `(a,b)` nor two quoted words";
const NO_RULE: &str = "a recipe line without a rule";
const REFERENCE: &str = "a `$(` or `${` that its line does not close";

/// Directives that end a rule, whatever follows them.
const DIRECTIVES: &[&[u8]] = &[
    b"include",
    b"-include",
    b"sinclude",
    b"export",
    b"unexport",
    b"vpath",
    b"override",
    b"private",
    b"undefine",
    b"load",
    b"-load",
];

/// Directives of BSD make; a dot is before them.
const BSD: &[&[u8]] = &[
    b"if",
    b"ifdef",
    b"ifndef",
    b"ifmake",
    b"ifnmake",
    b"elif",
    b"elifdef",
    b"elifndef",
    b"else",
    b"endif",
    b"for",
    b"endfor",
    b"include",
    b"-include",
    b"sinclude",
    b"dinclude",
    b"error",
    b"warning",
    b"info",
    b"undef",
    b"export",
    b"export-env",
    b"export-literal",
    b"unexport",
    b"break",
];

/// Those of them that may enclose lines of a recipe.
const BSD_BLOCKS: &[&[u8]] = &[
    b"if",
    b"ifdef",
    b"ifndef",
    b"ifmake",
    b"ifnmake",
    b"elif",
    b"elifdef",
    b"elifndef",
    b"else",
    b"endif",
    b"for",
    b"endfor",
];

/// Directives of NMAKE; a `!` is before them.
const NMAKE: &[&[u8]] = &[
    b"include",
    b"if",
    b"ifdef",
    b"ifndef",
    b"else",
    b"endif",
    b"message",
    b"error",
    b"cmdswitches",
];

/// The faults of a makefile. One that sets another recipe prefix and one for
/// NMAKE are not read.
pub(crate) fn faults(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<SyntaxFault>> {
    if text.starts_with(b".RECIPEPREFIX")
        || memchr::memmem::find(text, b"\n.RECIPEPREFIX").is_some()
        || is_nmake(text)
    {
        return Some(Vec::new());
    }
    let mut reader = Reader::default();
    let mut at = if text.starts_with(BOM) { BOM.len() } else { 0 };
    while at < text.len() {
        if expired() {
            return None;
        }
        let end = logical_end(text, at);
        reader.read(text, at..end);
        at = end + 1;
    }
    reader.found.extend(reader.conditionals.into_iter().map(|line| (line, NO_ENDIF)));
    reader.found.extend(reader.definitions.into_iter().map(|line| (line, NO_ENDEF)));
    Some(into_faults(text, reader.found))
}

/// Whether a line is a directive of NMAKE, such as `!INCLUDE`.
fn is_nmake(text: &[u8]) -> bool {
    let directive = |line: &[u8]| {
        let word = line[1..].trim_ascii_start();
        let word = &word[..word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()];
        NMAKE.iter().any(|known| known.eq_ignore_ascii_case(word))
    };
    let starts = memchr::memchr_iter(b'\n', text).map(|end| end + 1);
    std::iter::once(0)
        .chain(starts)
        .any(|start| text.get(start) == Some(&b'!') && directive(&text[start..]))
}

#[derive(Default)]
struct Reader {
    found: Vec<Found>,
    /// Whether a line that begins with a tab is part of a recipe.
    in_rule: bool,
    conditionals: Vec<Range<usize>>,
    definitions: Vec<Range<usize>>,
}

impl Reader {
    fn read(&mut self, text: &[u8], whole: Range<usize>) {
        let raw = &text[whole.clone()];
        let blank = raw.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        let line = without_comment(&raw[blank..]).trim_ascii_end();
        let place = whole.start + blank..whole.start + blank + first_line(line);
        let word = first_word(line);
        let tab = raw.starts_with(b"\t");
        if !self.definitions.is_empty() {
            if !tab && is_definition(line) {
                self.definitions.push(place);
            } else if !tab && word == b"endef" {
                self.definitions.pop();
            }
            return;
        }
        if tab && self.in_rule {
            return self.check_references(raw, whole.start);
        }
        if line.is_empty() {
            return;
        }
        match word {
            b"ifeq" | b"ifneq" => {
                if !is_condition(line[word.len()..].trim_ascii_start()) {
                    self.found.push((place.clone(), CONDITION));
                }
                self.conditionals.push(place);
            }
            b"ifdef" | b"ifndef" => self.conditionals.push(place),
            b"else" if self.conditionals.is_empty() => self.found.push((place, NO_CONDITIONAL)),
            b"else" => {}
            b"endif" => {
                if self.conditionals.pop().is_none() {
                    self.found.push((place, NO_CONDITIONAL));
                }
            }
            b"endef" => self.found.push((place, NO_DEFINE)),
            _ if is_definition(line) => {
                self.in_rule = false;
                self.definitions.push(place);
            }
            _ => self.read_statement(line, word, place, raw[..blank].contains(&b' '), tab),
        }
        self.check_references(line, whole.start + blank);
    }

    fn read_statement(
        &mut self,
        line: &[u8],
        word: &[u8],
        place: Range<usize>,
        spaces: bool,
        tab: bool,
    ) {
        // `.  if`: blanks may follow the dot.
        let bsd = line.strip_prefix(b".").map(|rest| first_word(rest.trim_ascii_start()));
        let is_bsd = bsd.is_some_and(|word| BSD.contains(&word));
        match separator(line) {
            Some(Separator::Assignment) => self.in_rule = false,
            // Loops and conditionals may be within a recipe.
            _ if is_bsd && bsd.is_some_and(|word| BSD_BLOCKS.contains(&word)) => {}
            _ if DIRECTIVES.contains(&word) || is_bsd => self.in_rule = false,
            Some(Separator::Rule) => self.in_rule = true,
            // What a reference expands to is not known. Words beside one remain.
            None if line.starts_with(b"$") && !(spaces && self.in_rule && has_words(line)) => {}
            None if tab && line.starts_with(b"$") => {}
            None if tab => self.found.push((place, NO_RULE)),
            None if spaces && self.in_rule => self.found.push((place, SPACES)),
            None => self.found.push((place, SEPARATOR)),
        }
    }

    fn check_references(&mut self, line: &[u8], start: usize) {
        let mut at = 0;
        while let Some(dollar) = memchr::memchr(b'$', &line[at..]).map(|found| at + found) {
            let Some(end) = reference_end(line, dollar) else {
                let end = dollar + first_line(&line[dollar..]);
                self.found.push((start + dollar..start + end, REFERENCE));
                return;
            };
            at = end;
        }
    }
}

/// Whether a line that begins with a reference has words besides references.
fn has_words(line: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if byte == b'$' {
            let Some(end) = reference_end(line, at) else { return false };
            at = end;
        } else if byte.is_ascii_alphanumeric() {
            return true;
        } else {
            at += 1;
        }
    }
    false
}

/// Whether the text after `ifeq` is `(a,b)`, or begins with a quote. As in GNU make, every
/// parenthesis counts.
fn is_condition(text: &[u8]) -> bool {
    if !text.starts_with(b"(") {
        return matches!(text.first(), Some(b'"' | b'\''));
    }
    let (mut depth, mut comma) = (0_usize, false);
    for &byte in text {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 1 => comma = true,
            _ => {}
        }
        if depth == 0 {
            return comma;
        }
    }
    false
}

enum Separator {
    Assignment,
    Rule,
}

/// Whether the line is an assignment (`name =`, with an operator) or a rule (a colon).
fn separator(line: &[u8]) -> Option<Separator> {
    let mut at = 0;
    // An assignment has one word before its operator.
    let mut words = 1;
    while let Some(&byte) = line.get(at) {
        let rest = &line[at..];
        match byte {
            b'$' => {
                at = reference_end(line, at)?;
                continue;
            }
            b'\\' => at += 1,
            b'=' if words == 1 => return Some(Separator::Assignment),
            b'+' | b'?' | b'!' if words == 1 && rest.get(1) == Some(&b'=') => {
                return Some(Separator::Assignment);
            }
            b':' => {
                let colons = rest.iter().take_while(|&&byte| byte == b':').count();
                let assigns = colons <= 3 && rest.get(colons) == Some(&b'=');
                let assignment = assigns && words == 1;
                return Some(if assignment { Separator::Assignment } else { Separator::Rule });
            }
            b' ' | b'\t' => {
                at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let next = &line[at..];
                let operator = [&b"="[..], b"+=", b"?=", b"!=", b":"];
                words += usize::from(!operator.iter().any(|sign| next.starts_with(sign)));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the reference at `dollar` ends. `None` if it does not end. As in GNU make, brackets of the
/// kind that opens the reference nest in it.
fn reference_end(line: &[u8], dollar: usize) -> Option<usize> {
    let (open, close) = match line.get(dollar + 1) {
        Some(b'(') => (b'(', b')'),
        Some(b'{') => (b'{', b'}'),
        _ => return Some((dollar + 2).min(line.len())),
    };
    let mut depth = 0_usize;
    for (at, &byte) in line.iter().enumerate().skip(dollar + 1) {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

/// Where the line that begins at `at` ends, with the lines that a backslash adds to it.
fn logical_end(text: &[u8], at: usize) -> usize {
    for newline in memchr::memchr_iter(b'\n', &text[at..]).map(|found| at + found) {
        let line = text[at..newline].strip_suffix(b"\r").unwrap_or(&text[at..newline]);
        let backslashes = line.iter().rev().take_while(|&&byte| byte == b'\\').count();
        if backslashes % 2 == 0 {
            return newline;
        }
    }
    text.len()
}

/// The line up to a `#` that is neither escaped nor in a reference.
fn without_comment(line: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        match byte {
            b'#' => return &line[..at],
            b'\\' => at += 2,
            b'$' => match reference_end(line, at) {
                Some(end) => at = end,
                None => return line,
            },
            _ => at += 1,
        }
    }
    line
}

fn first_word(line: &[u8]) -> &[u8] {
    line.split(u8::is_ascii_whitespace).next().unwrap_or_default()
}

/// The length of the first physical line.
fn first_line(line: &[u8]) -> usize {
    memchr::memchr(b'\n', line).unwrap_or(line.len())
}

/// Whether the line begins a `define`, perhaps after `override`, `export` or `private`.
fn is_definition(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let modifier = |word: &&[u8]| [&b"override"[..], b"export", b"private"].contains(word);
    words.find(|word| !modifier(word)) == Some(b"define")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkers::tests::problems_of;

    fn problems(text: &str) -> Vec<(usize, &'static str)> {
        problems_of(faults, text)
    }

    #[test]
    fn assignments_rules_and_directives_are_lines_of_a_makefile() {
        let text = "A = 1\nB+= 2\nC ?= 3\nD:=4\nE ::= 5\nobj-$(X) += y.o\nV != date\n\
                    all: a b ; cc $(@:.a=.b)\n\t@echo $$(date) # (\nexport A\n$(call f,x)\n\
                    -include x.mk\n.if empty(A)\n.include <bsd.prog.mk>\n.endif\nS := sh # (#574)\n";
        assert_eq!(problems(text), []);
    }

    #[test]
    fn a_definition_and_a_conditional_may_have_any_text() {
        let text = "define X\nany text (\nendef\nifeq ($(A),b)\nelse ifdef C\nendif\n";
        assert_eq!(problems(text), []);
    }

    #[test]
    fn spaces_before_a_recipe_are_a_fault() {
        assert_eq!(problems("all:\n    cc -DX=1 a.c\n"), [(2, SPACES)]);
    }

    #[test]
    fn a_recipe_has_a_rule_and_a_tab() {
        assert_eq!(problems("all:\n    $(CC) -o a $^\n"), [(2, SPACES)]);
        assert_eq!(problems("all:\n    $(call f,x)\n"), []);
        assert_eq!(problems("A = 1\n\tcc a.c\n\t# why\n\t$(info x)\n"), [(2, NO_RULE)]);
    }

    #[test]
    fn a_condition_has_two_parts() {
        assert_eq!(problems("ifeq ($(A,b)\nendif\n"), [(1, CONDITION)]);
        assert_eq!(problems("ifneq ($(A)b)\nendif\nifeq \"$(A)\" 'b'\nendif\n"), [(1, CONDITION)]);
        assert_eq!(problems("ifeq (,$(filter a b,$(C)))\nendif\n"), []);
    }

    #[test]
    fn blocks_of_bsd_make_may_enclose_recipes() {
        let text = "all: a\n.for b in c d\n\t@echo ${b}\n.endfor\n.  if exists(/e)\n\tf\n. endif\n";
        assert_eq!(problems(text), []);
        assert_eq!(problems(".for b in c\n\techo ${b}\n.endfor\n"), [(2, NO_RULE)]);
        assert_eq!(problems("all:\n.for b in c\n    echo ${b}\n.endfor\n"), [(3, SPACES)]);
        assert_eq!(problems("all:\n.include <a.mk>\n\tb\n"), [(3, NO_RULE)]);
        assert_eq!(problems(". other words\n"), [(1, SEPARATOR)]);
    }

    #[test]
    fn a_line_of_words_is_a_fault() {
        assert_eq!(problems("A = 1\nHere is the file\n"), [(2, SEPARATOR)]);
    }

    #[test]
    fn what_begins_must_end() {
        assert_eq!(problems("ifdef A\n"), [(1, NO_ENDIF)]);
        assert_eq!(problems("define A\nx\n"), [(1, NO_ENDEF)]);
        assert_eq!(problems("endif\nendef\nelse\n").len(), 3);
        assert_eq!(problems("A = $(wildcard *.c\nB = 1\n"), [(1, REFERENCE)]);
        assert_eq!(problems("a:\n\techo $(X\n"), [(2, REFERENCE)]);
    }

    #[test]
    fn a_backslash_continues_a_line() {
        assert_eq!(problems("A = $(wildcard a \\\n  b)\na: b \\\n  c\n\techo \\\n  x\n"), []);
    }

    #[test]
    fn a_makefile_for_nmake_is_not_read() {
        assert_eq!(problems("!INCLUDE <a.mak>\nall:\n    cl a.c\n"), []);
        assert_eq!(problems("! if 1\nany text\n!endif\n"), []);
        assert_eq!(problems("!important\n").len(), 1);
    }

    #[test]
    fn another_recipe_prefix_is_not_read() {
        assert_eq!(problems(".RECIPEPREFIX = >\nall:\n> echo\n"), []);
    }
}
