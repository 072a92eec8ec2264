//! Edits that name a definition instead of its text: replace it, insert beside it, rename it.
//!
//! Comments and attributes above a definition stay unless the new text brings its own. New text
//! gets the indentation of the definition, and as many blank lines as there are beside it.

use super::symbol_error::{FoundSymbol, MAX_TIME, SymbolError, line_of};

use edt_io::clock::CpuLimit;
use edt_lang::symbols::{Above, Symbol, symbols};
use edt_lang::{Language, language_of, parse};
use edt_types::RepoPath;
use edt_types::text::{BOM, Endings};

use super::locate::nearest_ending;
use super::mode::Mode;
use super::rename;
use super::splice::Splice;

/// An edit that names a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolEdit {
    /// The definition: its name, with those around it if that is needed (`Parser.parse`).
    pub symbol: String,
    /// A 1-based line of the definition, if several have the name.
    pub line: Option<usize>,
    /// What happens to it.
    pub change: SymbolChange,
}

/// What happens to a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SymbolChange {
    /// The definition becomes this text.
    Replace(Vec<u8>),
    /// This text comes before it, and before what is directly above it.
    InsertBefore(Vec<u8>),
    /// This text comes after it.
    InsertAfter(Vec<u8>),
    /// The file calls it this.
    Rename(String),
}

impl SymbolChange {
    /// Its mode.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match self {
            SymbolChange::Replace(_) => Mode::ReplaceSymbol,
            SymbolChange::InsertBefore(_) => Mode::InsertBeforeSymbol,
            SymbolChange::InsertAfter(_) => Mode::InsertAfterSymbol,
            SymbolChange::Rename(_) => Mode::RenameSymbol,
        }
    }

    /// The new text, or the new name.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        match self {
            SymbolChange::Replace(content)
            | SymbolChange::InsertBefore(content)
            | SymbolChange::InsertAfter(content) => content,
            SymbolChange::Rename(to) => to.as_bytes(),
        }
    }
}

/// The definitions of the file, in order.
///
/// # Errors
/// [`SymbolError::NoSymbols`], [`SymbolError::Unparsed`].
pub fn outline(path: &RepoPath, text: &[u8]) -> Result<Vec<FoundSymbol>, SymbolError> {
    let (_, all) = read(path, text)?;
    Ok(all.iter().map(|symbol| found(text, symbol)).collect())
}

/// The splices that make the edit.
///
/// # Errors
/// [`SymbolError`].
pub fn splices(
    path: &RepoPath,
    text: &[u8],
    edit: &SymbolEdit,
) -> Result<Vec<Splice>, SymbolError> {
    let (language, all) = read(path, text)?;
    let symbol = find(text, &all, edit)?;
    if symbol.is_broken {
        return Err(SymbolError::Broken(found(text, symbol)));
    }
    let place = Place { language, text, symbol };
    match &edit.change {
        SymbolChange::Rename(to) => rename::splices(language, text, (symbol, &all), to),
        SymbolChange::Replace(content)
        | SymbolChange::InsertBefore(content)
        | SymbolChange::InsertAfter(content)
            if content.trim_ascii().is_empty() =>
        {
            Err(SymbolError::NoContent)
        }
        SymbolChange::Replace(content) => place.replace(content),
        SymbolChange::InsertBefore(content) => place.insert_before(content),
        SymbolChange::InsertAfter(content) => place.insert_after(content),
    }
}

/// The language with the cleanest tree of the file, and its definitions.
fn read(path: &RepoPath, text: &[u8]) -> Result<(&'static Language, Vec<Symbol>), SymbolError> {
    let language = language_of(path, text).filter(|language| !language.symbols.is_empty());
    let Some(language) = language else { return Err(SymbolError::NoSymbols) };
    let until = CpuLimit::new(MAX_TIME);
    let expired = || until.is_over();
    let of = |language| symbols(language, text, &expired).map(|all| (language, all));
    let mut best = of(language).map_err(|why| SymbolError::Unparsed(why.to_string()))?;
    let broken = |all: &[Symbol]| all.iter().filter(|one| one.is_broken).count();
    for other in language.dialects(path).skip(1) {
        if broken(&best.1) > 0
            && let Ok(read) = of(other)
            && broken(&read.1) < broken(&best.1)
        {
            best = read;
        }
    }
    Ok(best)
}

fn find<'s>(text: &[u8], all: &'s [Symbol], edit: &SymbolEdit) -> Result<&'s Symbol, SymbolError> {
    let has_line = |one: &&Symbol| {
        let (first, last) = found(text, one).lines;
        edit.line.is_none_or(|line| (first..=last).contains(&line))
    };
    let named: Vec<&Symbol> =
        all.iter().filter(|one| one.is_named(&edit.symbol)).filter(has_line).collect();
    let dotted = edit.symbol.replace("::", ".");
    // The complete name is a choice.
    let exact: Vec<&Symbol> = named.iter().copied().filter(|one| one.name == dotted).collect();
    match (named.as_slice(), exact.as_slice()) {
        ([one], _) | (_, [one]) => Ok(one),
        ([], _) => {
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            let near = similar::get_close_matches(edit.symbol.as_str(), &names, 5, 0.5);
            let last = edit.symbol.rsplit(['.', ':', '#', ' ']).next().unwrap_or_default();
            let same =
                all.iter().filter(|one| one.last_name() == last).map(|one| one.name.as_str());
            let mut near: Vec<String> = same.chain(near).map(ToOwned::to_owned).collect();
            near.dedup();
            Err(SymbolError::NotFound(near))
        }
        (several, _) => {
            Err(SymbolError::Ambiguous(several.iter().map(|one| found(text, one)).collect()))
        }
    }
}

fn found(text: &[u8], symbol: &Symbol) -> FoundSymbol {
    let line = |at: usize| line_of(text, at);
    let lines = (line(symbol.start()), line(symbol.definition.end.saturating_sub(1)));
    FoundSymbol { name: symbol.name.clone(), kind: symbol.kind, lines }
}

/// A definition in its file.
struct Place<'a> {
    language: &'static Language,
    text: &'a [u8],
    symbol: &'a Symbol,
}

impl Place<'_> {
    fn replace(&self, content: &[u8]) -> Result<Vec<Splice>, SymbolError> {
        let content = self.indented(content);
        let brought = self.leading(&content)?;
        let (comments, attributes) =
            (&content[..brought.attributes], &content[brought.attributes..brought.definition]);
        let definition = content[brought.definition..].to_vec();
        let symbol = self.symbol;
        let old: Vec<&Above> = symbol.above.iter().collect();
        let first = old.iter().position(|above| !above.is_comment).unwrap_or(old.len());
        let (old_comments, old_attributes) = old.split_at(first);
        if old_attributes.iter().any(|above| above.is_comment) && brought.definition > 0 {
            return Ok(self.replace_all(comments, attributes, &definition));
        }
        let mut splices = Vec::new();
        let below = old_attributes.first().map_or(symbol.definition.start, |one| one.at.start);
        splices.extend(self.above(old_comments, comments, below));
        splices.extend(self.above(old_attributes, attributes, symbol.definition.start));
        splices
            .push(Splice { at: symbol.definition.start..self.end_for(&content), with: definition });
        Ok(splices)
    }

    /// The end of the definition, after the comment behind it if `content` has one there, too.
    fn end_for(&self, content: &[u8]) -> usize {
        let end = self.symbol.definition.end;
        let line_end = self.line_end(end);
        let rest = self.text[end..line_end].trim_ascii();
        let until = CpuLimit::new(MAX_TIME);
        let parsed = || parse(self.language, content, &|| until.is_over());
        let brings_own = || parsed().is_ok_and(|tree| tree.ends_in_comment());
        if self.is_comment(rest) && brings_own() { line_end } else { end }
    }

    /// Whether the end of a line is one comment that ends there.
    fn is_comment(&self, text: &[u8]) -> bool {
        let language = self.language;
        let is_line = |open: &&str| text.starts_with(open.as_bytes()) && !text.ends_with(b"\\");
        let is_block = |(open, close): &(&str, &str)| {
            let inside = text.strip_prefix(open.as_bytes());
            let end = |inside: &[u8]| memchr::memmem::find(inside, close.as_bytes());
            inside.is_some_and(|inside| end(inside) == inside.len().checked_sub(close.len()))
                && text.len() >= open.len() + close.len()
        };
        language.line_comments.iter().any(is_line) || language.block_comments.iter().any(is_block)
    }

    /// The splice that puts `new` in the place of `old`, or directly above `below`.
    fn above(&self, old: &[&Above], new: &[u8], below: usize) -> Option<Splice> {
        let new = new.trim_ascii_end();
        let (Some(first), Some(last)) = (old.first(), old.last()) else {
            let with = [new, self.newline(), self.indentation()].concat();
            return (!new.is_empty()).then_some(Splice { at: below..below, with });
        };
        let at = first.at.start..last.at.end;
        let text = |above: &&Above| &self.text[above.at.clone()];
        // What tools read stays: licences and encodings above, directives below.
        let kept = |one: &&&Above| {
            let text = text(one);
            one.is_comment && is_directive(text) && memchr::memmem::find(new, text).is_none()
        };
        let head = old.iter().take_while(kept).map(text);
        let tail = old.iter().skip_while(kept).filter(kept).map(text);
        let lines: Vec<&[u8]> = head.chain([new]).chain(tail).collect();
        let between = [self.newline(), self.indentation()].concat();
        (!new.is_empty()).then(|| Splice { at, with: lines.join(between.as_slice()) })
    }

    /// As [`Place::replace`], where comments are between attributes.
    fn replace_all(&self, comments: &[u8], attributes: &[u8], definition: &[u8]) -> Vec<Splice> {
        let old = |is_comment: bool| {
            let of = self.symbol.above.iter().filter(move |above| above.is_comment == is_comment);
            of.map(|above| &self.text[above.at.clone()]).collect::<Vec<_>>()
        };
        let lines = |new, is_comment| {
            let new: &[u8] = <[u8]>::trim_ascii_end(new);
            if new.is_empty() { old(is_comment) } else { vec![new] }
        };
        let between = [self.newline(), self.indentation()].concat();
        let all = [lines(comments, true), lines(attributes, false), vec![definition]].concat();
        let at = self.symbol.start()..self.symbol.definition.end;
        vec![Splice { at, with: all.join(between.as_slice()) }]
    }

    fn insert_before(&self, content: &[u8]) -> Result<Vec<Splice>, SymbolError> {
        let start = self.line_start(self.symbol.start());
        if !self.text[start..self.symbol.start()].trim_ascii().is_empty() {
            return Err(SymbolError::SharedLine(found(self.text, self.symbol)));
        }
        let gap =
            self.gap_before().or_else(|| self.gap_after()).unwrap_or_else(|| self.usual_gap());
        let content = self.indented(content);
        let with = [self.indentation(), &content, &self.newline().repeat(gap + 1)].concat();
        Ok(vec![Splice { at: start..start, with }])
    }

    fn insert_after(&self, content: &[u8]) -> Result<Vec<Splice>, SymbolError> {
        let end = self.line_end(self.symbol.definition.end);
        let rest = self.text[self.symbol.definition.end..end].trim_ascii();
        if !rest.is_empty() && !self.is_comment(rest) {
            return Err(SymbolError::SharedLine(found(self.text, self.symbol)));
        }
        let gap =
            self.gap_after().or_else(|| self.gap_before()).unwrap_or_else(|| self.usual_gap());
        let content = self.indented(content);
        let with = [&self.newline().repeat(gap + 1), self.indentation(), &content].concat();
        Ok(vec![Splice { at: end..end, with }])
    }

    fn newline(&self) -> &'static [u8] {
        let endings = match Endings::of(self.text) {
            Endings::Mixed => nearest_ending(self.text, self.symbol.start()),
            endings => endings,
        };
        if endings == Endings::Crlf { b"\r\n" } else { b"\n" }
    }

    fn line_start(&self, at: usize) -> usize {
        let first = if self.text.starts_with(BOM) { BOM.len() } else { 0 };
        memchr::memrchr(b'\n', &self.text[..at]).map_or(first.min(at), |newline| newline + 1)
    }

    /// The end of the line, without its line end.
    fn line_end(&self, at: usize) -> usize {
        let end = memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |end| at + end);
        if self.text[at..end].ends_with(b"\r") { end - 1 } else { end }
    }

    /// What the line of the definition begins with.
    fn indentation(&self) -> &[u8] {
        let line = &self.text[self.line_start(self.symbol.start())..];
        &line[..indent(line)]
    }

    /// How many blank lines are above, unless it is the first in its block.
    fn gap_before(&self) -> Option<usize> {
        let above = &self.text[..self.line_start(self.symbol.start())];
        let above = above.strip_prefix(BOM).unwrap_or(above);
        let rest = above.trim_ascii_end();
        let opens = matches!(rest.last(), None | Some(b'{' | b':' | b'('));
        let newlines = memchr::memchr_iter(b'\n', &above[rest.len()..]).count();
        (!opens).then(|| newlines.saturating_sub(1))
    }

    /// How many blank lines are below, unless it is the last in its block.
    fn gap_after(&self) -> Option<usize> {
        let below = &self.text[self.line_end(self.symbol.definition.end)..];
        let rest = below.trim_ascii_start();
        let newlines = memchr::memchr_iter(b'\n', &below[..below.len() - rest.len()]).count();
        let is_outside = indent_before(below, rest) < self.indentation().len();
        let closes = rest.first().is_none_or(|byte| b"})]".contains(byte)) || is_outside;
        (!closes).then(|| newlines.saturating_sub(1))
    }

    /// The blank lines between definitions where the file has no example.
    fn usual_gap(&self) -> usize {
        match self.symbol.kind {
            "variable" | "constant" | "field" | "macro" => 0,
            _ if self.language.name == "python" && self.indentation().is_empty() => 2,
            _ => 1,
        }
    }

    /// The content with the indentation of the definition, except for its first line, which has
    /// none, and without blank lines around it.
    fn indented(&self, content: &[u8]) -> Vec<u8> {
        let content = content.strip_prefix(BOM).unwrap_or(content);
        let content = Endings::Lf.convert(content.strip_suffix(b"\r").unwrap_or(content));
        let lines: Vec<&[u8]> = content.split(|&byte| byte == b'\n').collect();
        let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
        let first = lines.iter().position(|line| !is_blank(line)).unwrap_or(0);
        let last = lines.iter().rposition(|line| !is_blank(line)).unwrap_or(0);
        let lines = &lines[first..=last];
        let own = &lines[0][..indent(lines[0])];
        let target = self.indentation();
        let body: Vec<u8> = lines.join(&b"\n"[..]);
        let until = CpuLimit::new(MAX_TIME);
        let kept = parse(self.language, &body, &|| until.is_over()).ok();
        let mut start = lines[0].len() + 1;
        // Python ends a block by indentation alone; a bracket ends an expression. The list that a
        // variable gets is such an expression itself.
        let first = &lines[0][own.len()..];
        let words: [&[u8]; 4] = [b"def ", b"class ", b"async ", b"@"];
        let by_indentation =
            self.language.name == "python" && words.iter().any(|word| first.starts_with(word));
        let is_absolute =
            own == target || own.is_empty() && is_absolute(&lines[1..], target, by_indentation);
        let mut out = lines[0][own.len()..].to_vec();
        for line in &lines[1..] {
            out.push(b'\n');
            let keeps = kept.as_ref().is_some_and(|tree| tree.keeps_indentation(start));
            start += line.len() + 1;
            let directive = ["c", "cpp"].contains(&self.language.name) && line.starts_with(b"#");
            match line.strip_prefix(own) {
                _ if directive || line.trim_ascii().is_empty() => out.extend_from_slice(line),
                Some(rest) if !is_absolute && !keeps => {
                    out.extend_from_slice(target);
                    out.extend_from_slice(rest);
                }
                _ => out.extend_from_slice(line),
            }
        }
        let endings = if self.newline() == b"\r\n" { Endings::Crlf } else { Endings::Lf };
        endings.convert(&out)
    }

    /// Where the attributes and the definition of new text begin. Comments come first.
    fn leading(&self, content: &[u8]) -> Result<Leading, SymbolError> {
        let (mark, language) = (content.first().copied().unwrap_or_default(), self.language);
        let comments = language.line_comments.iter();
        let mut opens = comments.chain(language.block_comments.iter().map(|(open, _)| open));
        let may_have = mark == b'@'
            || content.starts_with(b"#[")
            || opens.any(|open| content.starts_with(open.as_bytes()));
        if !may_have {
            return Ok(Leading { attributes: 0, definition: 0 });
        }
        // A member parses only in a type.
        let wrapped = [("", ""), ("class X {\n", "\n}"), ("struct X {\n", "\n};")];
        let until = CpuLimit::new(MAX_TIME);
        let found = wrapped.into_iter().find_map(|(open, close)| {
            let text = [open.as_bytes(), content, close.as_bytes()].concat();
            let all = symbols(language, &text, &|| until.is_over()).ok()?;
            let first = all.into_iter().find(|one| one.start() >= open.len())?;
            let is_first = text[open.len()..first.start()].trim_ascii().is_empty();
            (is_first && !first.is_broken).then_some((open.len(), first))
        });
        let Some((from, first)) = found else { return Err(SymbolError::UnclearContent) };
        let attribute = first.above.iter().find(|above| !above.is_comment);
        let attributes = attribute.map_or(first.definition.start, |above| above.at.start);
        Ok(Leading { attributes: attributes - from, definition: first.definition.start - from })
    }
}

/// Whether a comment is for a tool, not for a reader.
fn is_directive(comment: &[u8]) -> bool {
    const SIGNS: [&str; 16] = [
        "//go:",
        "//export ",
        "//nolint",
        "// +build",
        "eslint-",
        "prettier-ignore",
        "@ts-",
        "biome-ignore",
        "NOLINT",
        "clang-format",
        "# type:",
        "# noqa",
        "pylint:",
        "coding:",
        "SPDX-",
        "Copyright",
    ];
    SIGNS.iter().any(|sign| memchr::memmem::find(comment, sign.as_bytes()).is_some())
}

/// Where the parts of new text begin.
struct Leading {
    attributes: usize,
    definition: usize,
}

fn indent(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The indentation of the line of `rest`, the end of `text`.
fn indent_before(text: &[u8], rest: &[u8]) -> usize {
    let before = &text[..text.len() - rest.len()];
    before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Whether all lines but the first have the indentation of the file already: they are deeper than
/// `target`, or the last one closes the block there, unless a block ends `by_indentation`.
fn is_absolute(rest: &[&[u8]], target: &[u8], by_indentation: bool) -> bool {
    let is_filled = |line: &&[u8]| !line.trim_ascii().is_empty();
    let lines = rest.iter().copied().filter(|line| !line.starts_with(b"#"));
    let lines: Vec<&[u8]> = lines.filter(is_filled).collect();
    let Some(last) = lines.last() else { return false };
    if target.is_empty() || !lines.iter().all(|line| line.starts_with(target)) {
        return false;
    }
    let is_deeper = |line: &&[u8]| indent(line) > target.len();
    let bracket = last.trim_ascii_start().first().is_some_and(|byte| b"})]".contains(byte));
    let closes = bracket && !by_indentation;
    lines.iter().all(is_deeper) && !closes || closes && !is_deeper(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splice::apply;

    fn changed(
        path: &str,
        text: &str,
        symbol: &str,
        change: SymbolChange,
    ) -> Result<String, SymbolError> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let edit = SymbolEdit { symbol: symbol.to_owned(), line: None, change };
        let splices = splices(&path, text.as_bytes(), &edit)?;
        Ok(String::from_utf8(apply(text.as_bytes(), &splices)).unwrap())
    }

    fn replaced(path: &str, text: &str, symbol: &str, content: &str) -> String {
        changed(path, text, symbol, SymbolChange::Replace(content.into())).unwrap()
    }

    fn before(path: &str, text: &str, symbol: &str, content: &str) -> String {
        changed(path, text, symbol, SymbolChange::InsertBefore(content.into())).unwrap()
    }

    fn after(path: &str, text: &str, symbol: &str, content: &str) -> String {
        changed(path, text, symbol, SymbolChange::InsertAfter(content.into())).unwrap()
    }

    fn renamed(path: &str, text: &str, symbol: &str, to: &str) -> Result<String, SymbolError> {
        changed(path, text, symbol, SymbolChange::Rename(to.to_owned()))
    }

    #[test]
    fn names_in_macros_and_references_are_renamed_or_unclear() {
        let rust = |rest: &str| format!("fn len() -> u8 {{ 1 }}\nfn g() {{ {rest} }}\n");
        let to = |rest: &str| renamed("a.rs", &rust(rest), "len", "count");
        assert_eq!(to("assert_eq!(len(), 1)").unwrap().matches("count").count(), 2);
        for unclear in
            ["assert_eq!(v.len(), 1)", "matches!(p, P { len: 3 })", "println!(\"{len}\")"]
        {
            assert_eq!(to(unclear), Err(SymbolError::UnclearUses(vec![2])), "{unclear}");
        }
        let java = "class A {\n  void f() {}\n  void g() { xs.forEach(Other::f); }\n}\n";
        let unclear = Err(SymbolError::UnclearUses(vec![3]));
        assert_eq!(renamed("A.java", java, "A.f", "h"), unclear);
        assert!(
            renamed("a.cpp", "void f();\nvoid f() {}\nvoid g() { ::f(); }\n", "f", "h").is_err()
        );
    }

    #[test]
    fn comments_for_tools_stay_above_a_new_comment() {
        let go = "package a\n\n// Old.\n//go:noinline\nfunc f() {}\n";
        let new = "// New.\nfunc f() int { return 1 }";
        assert_eq!(
            replaced("a.go", go, "f", new),
            "package a\n\n// New.\n//go:noinline\nfunc f() int { return 1 }\n"
        );
        let python = "# coding: latin-1\n# Old.\ndef f():\n    pass\n";
        assert_eq!(
            replaced("a.py", python, "f", "# New.\ndef f():\n    return 1"),
            "# coding: latin-1\n# New.\ndef f():\n    return 1\n"
        );
    }

    #[test]
    fn a_byte_order_mark_of_the_new_text_is_left_out() {
        let changed = replaced("a.rs", RUST, "sub", "\u{feff}fn sub() -> u8 { 1 }");
        assert!(changed.ends_with("}\n\nfn sub() -> u8 { 1 }\n"), "{changed}");
    }

    const RUST: &str = "/// Adds.\n#[inline]\nfn add(a: u8) -> u8 {\n    a\n}\n\nfn sub() {}\n";

    #[test]
    fn comments_and_attributes_stay_unless_the_new_text_brings_its_own() {
        let new = "fn add(a: u16) -> u16 {\n    a + 1\n}";
        let rest = "\n\nfn sub() {}\n";
        assert_eq!(
            replaced("a.rs", RUST, "add", new),
            format!("/// Adds.\n#[inline]\n{new}{rest}")
        );
        assert_eq!(
            replaced("a.rs", RUST, "add", &format!("\n/// Adds one.\n/// Never fails.\n{new}\n\n")),
            format!("/// Adds one.\n/// Never fails.\n#[inline]\n{new}{rest}")
        );
        assert_eq!(
            replaced("a.rs", RUST, "add", &format!("#[must_use]\n#[cold]\n{new}")),
            format!("/// Adds.\n#[must_use]\n#[cold]\n{new}{rest}")
        );
        assert_eq!(
            replaced("a.rs", RUST, "add", &format!("/* A. */\n#[cfg(\n    unix\n)]\n{new}")),
            format!("/* A. */\n#[cfg(\n    unix\n)]\n{new}{rest}")
        );
        assert_eq!(
            replaced("a.rs", RUST, "sub", "/// Nothing.\n#[cold]\nfn sub() {}"),
            RUST.replace("fn sub", "/// Nothing.\n#[cold]\nfn sub")
        );
        let mixed = "#[a]\n/// Doc.\n#[b]\nfn f() {}\n";
        assert_eq!(replaced("a.rs", mixed, "f", "fn f() { g() }"), mixed.replace("{}", "{ g() }"));
        assert_eq!(
            replaced("a.rs", mixed, "f", "/// New.\nfn f() { g() }"),
            "/// New.\n#[a]\n#[b]\nfn f() { g() }\n"
        );
    }

    #[test]
    fn a_comment_behind_a_definition_stays_unless_the_new_text_brings_its_own() {
        let text = "class C {\n  int a; // one\n  int b;\n}\n";
        assert_eq!(replaced("C.java", text, "a", "int a = 1;"), text.replace("a;", "a = 1;"));
        assert_eq!(replaced("C.java", text, "a", "int a; // two"), text.replace("one", "two"));
        // Code behind a comment stays.
        let text = "class C {\n  int a; /* one */ int b;\n}\n";
        let expected = text.replace("int a;", "int a = 1; /* two */");
        assert_eq!(replaced("C.java", text, "a", "int a = 1; /* two */"), expected);
        for shared in [text, "class C {\n  int a; /* one\n  two */\n  int b;\n}\n"] {
            let new = SymbolChange::InsertAfter(b"int c;".to_vec());
            let answer = changed("C.java", shared, "a", new);
            assert!(matches!(answer, Err(SymbolError::SharedLine(_))), "{shared}");
        }
        let text = "class C {\n  @A // one\n  @B\n  int a() { return 1; }\n}\n";
        let method = "@A // one\n@B\nint a() { return 1; }";
        assert_eq!(replaced("C.java", text, "a", method), text);
    }

    #[test]
    fn annotations_inside_a_definition_stay_too() {
        let java = "class C {\n    @Override\n    public int f() {\n        return 1;\n    }\n}\n";
        assert_eq!(
            replaced("C.java", java, "C.f", "public int f() {\n    return 2;\n}\n"),
            java.replace('1', "2")
        );
        let python = "class A:\n    @property\n    def x(self):\n        return 1\n";
        assert_eq!(
            replaced("a.py", python, "x", "def x(self):\n    return 2\n"),
            python.replace('1', "2")
        );
        assert_eq!(
            replaced("a.py", python, "A.x", "@cached\ndef x(self):\n    return 2\n"),
            python.replace('1', "2").replace("property", "cached")
        );
    }

    #[test]
    fn attributes_are_those_of_the_tree() {
        for (path, text, symbol, new) in [
            (
                "a.py",
                "@app.route(\"/a(\")\ndef f():\n    pass\n",
                "f",
                "@app.route(\"/b(\")\ndef f():\n    pass",
            ),
            ("a.rs", "#[doc = \"a ( b\"]\nfn f() {}\n", "f", "#[doc = \"c ( d\"]\nfn f() {}"),
            ("a.rs", "#[inline]\nfn f() {}\n", "f", "#[inline] fn f() {}"),
            ("a.ts", "class A {\n  @Input() name: string;\n}\n", "name", "@Output() name: string;"),
            (
                "A.java",
                "class A {\n  @Override\n  public int f() { return 1; }\n}\n",
                "f",
                "@Override public int f() { return 2; }",
            ),
        ] {
            let after = replaced(path, text, symbol, new);
            let count = after.matches(['@', '#']).count();
            assert_eq!(count, 1, "{after}");
        }
        let unclear = changed(
            "a.rs",
            "fn f() {}\n",
            "f",
            SymbolChange::Replace(b"// Apart.\n\nuse a;\n\nfn f() {}".to_vec()),
        );
        assert_eq!(unclear, Err(SymbolError::UnclearContent));
    }

    #[test]
    fn a_byte_order_mark_stays_first() {
        let text = "\u{feff}int f(void) { return 1; }\n";
        assert_eq!(
            before("a.c", text, "f", "int e;"),
            "\u{feff}int e;\n\nint f(void) { return 1; }\n"
        );
        let new = "int f(void) { return 2; }";
        assert_eq!(replaced("a.c", text, "f", new), text.replace('1', "2"));
    }

    #[test]
    fn directives_stay_at_the_first_column() {
        let text = "class A {\n    int f() {\n        return 1;\n    }\n};\n";
        let content = "int f() {\n#ifdef X\n    return 2;\n#endif\n    return 3;\n}";
        let want = "class A {\n    int f() {\n#ifdef X\n        return 2;\n#endif\n        \
                    return 3;\n    }\n};\n";
        assert_eq!(replaced("a.cpp", text, "f", content), want);
    }

    #[test]
    fn new_text_gets_the_indentation_of_the_definition() {
        let python = "class A:\n    def x(self):\n        return 1\n";
        for new in [
            "def x(self):\n    if 1:\n        return 2",
            "    def x(self):\n        if 1:\n            return 2\n",
            "def x(self):\n        if 1:\n            return 2\n",
        ] {
            assert_eq!(
                replaced("a.py", python, "x", new),
                "class A:\n    def x(self):\n        if 1:\n            return 2\n",
                "{new}"
            );
        }
        for new in [
            "def x(self):\n    return (\n        2\n    )",
            "def x(self):\n        return (\n            2\n        )",
        ] {
            assert_eq!(
                replaced("a.py", python, "x", new),
                "class A:\n    def x(self):\n        return (\n            2\n        )\n",
                "{new}"
            );
        }
        let variable = "class A:\n    x = [\n        1,\n    ]\n";
        let new = "x = [\n        2,\n    ]";
        assert_eq!(replaced("a.py", variable, "A.x", new), variable.replace('1', "2"));
        let script = "class A {\n\tm() {\n\t\treturn 1;\n\t}\n}\n";
        for new in ["m() {\n\treturn 2;\n}", "m() {\n\t\treturn 2;\n\t}"] {
            assert_eq!(replaced("a.js", script, "A.m", new), script.replace('1', "2"), "{new}");
        }
        let spaced = "class A:\n    def x(self):\n    \n        return 1\n";
        assert_eq!(replaced("a.py", spaced, "x", "def x(self):\n    \n    return 1\n"), spaced);
        let docs = "\"\"\"Doc.\n\n        More.\n        \"\"\"";
        let value = "return \"\"\"a\n b\"\"\"\n";
        let new = format!("def x(self):\n    {}\n    {value}", docs.replace("        ", "    "));
        assert_eq!(
            replaced("a.py", python, "x", &new),
            format!("class A:\n    def x(self):\n        {docs}\n        {value}")
        );
    }

    #[test]
    fn line_ends_are_those_of_the_file() {
        let text = "int f(void)\r\n{\r\n\treturn 1;\r\n}\r\n";
        assert_eq!(
            replaced("a.c", text, "f", "int f(void)\n{\n\treturn 2;\n}\n"),
            text.replace('1', "2")
        );
        assert_eq!(replaced("a.c", text, "f", text.strip_suffix('\n').unwrap()), text);
        assert_eq!(
            after("a.c", text, "f", "int g(void);\n"),
            format!("{text}\r\nint g(void);\r\n")
        );
        // In a mixed file they are those of the definition.
        let mixed = format!("{text}\nint h(void)\n{{\n\treturn 3;\n}}\n");
        assert_eq!(
            replaced("a.c", &mixed, "f", "int f(void)\n{\n\tint a = 2;\n\treturn a;\n}\n"),
            mixed.replace("\treturn 1;", "\tint a = 2;\r\n\treturn a;")
        );
        assert_eq!(
            after("a.c", &mixed, "f", "int g(void);\n"),
            mixed.replace("\nint h", "\r\nint g(void);\r\n\nint h")
        );
    }

    #[test]
    fn insertions_keep_the_distance_between_definitions() {
        let python = "import a\n\n\ndef f():\n    pass\n\n\ndef h():\n    pass\n";
        let new = "def g():\n    pass\n";
        let expected = python.replace("def h", &format!("{new}\n\ndef h"));
        assert_eq!(after("a.py", python, "f", new), expected);
        assert_eq!(before("a.py", python, "h", new), expected);
        assert_eq!(after("a.py", python, "h", new), format!("{python}\n\n{new}"));
        let first = "class A {\n    int x;\n\n    // Doc.\n    int f() { return x; }\n}\n";
        assert_eq!(
            before("A.java", first, "x", "int w;"),
            first.replace("    int x;", "    int w;\n\n    int x;")
        );
        assert_eq!(
            before("A.java", first, "f", "// One.\nint e() {\n    return 1;\n}"),
            first.replace(
                "    // Doc",
                "    // One.\n    int e() {\n        return 1;\n    }\n\n    // Doc"
            )
        );
        let fields = "type T = string;\nconst a = 1; // one\nconst b = 2;\n";
        assert_eq!(
            after("a.ts", fields, "a", "const c = 3;"),
            fields.replace("const b", "const c = 3;\nconst b")
        );
        assert_eq!(after("a.rs", "fn a() {}", "a", "fn b() {}"), "fn a() {}\n\nfn b() {}");
    }

    #[test]
    fn a_name_of_several_definitions_needs_a_line_or_those_around_it() {
        let text = "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n";
        let change = SymbolChange::Replace(b"def f(self): return 1".to_vec());
        let Err(SymbolError::Ambiguous(found)) = changed("a.py", text, "f", change.clone()) else {
            panic!()
        };
        let names: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.lines)).collect();
        assert_eq!(names, [("A.f", (2, 2)), ("B.f", (4, 4))]);
        let expected = text.replacen("pass\nclass B", "return 1\nclass B", 1);
        assert_eq!(changed("a.py", text, "A.f", change.clone()), Ok(expected.clone()));
        let path = RepoPath::parse(b"a.py").unwrap();
        let edit = SymbolEdit { symbol: "f".into(), line: Some(2), change };
        let at = splices(&path, text.as_bytes(), &edit).unwrap();
        assert_eq!(apply(text.as_bytes(), &at), expected.as_bytes());
    }

    #[test]
    fn what_cannot_be_found_or_trusted_is_refused() {
        let change = || SymbolChange::Replace(b"x".to_vec());
        let rust = "fn parse_line() {}\nfn other() {}\n";
        assert_eq!(
            changed("a.rs", rust, "parse_lines", change()),
            Err(SymbolError::NotFound(vec!["parse_line".into()]))
        );
        assert_eq!(changed("a.txt", rust, "other", change()), Err(SymbolError::NoSymbols));
        assert_eq!(changed("a.json", "{}", "other", change()), Err(SymbolError::NoSymbols));
        let broken = "fn a() {\n    let x = ;\n}\n";
        assert!(matches!(changed("a.rs", broken, "a", change()), Err(SymbolError::Broken(_))));
        let empty = SymbolChange::Replace(b" \n".to_vec());
        assert_eq!(changed("a.rs", rust, "other", empty), Err(SymbolError::NoContent));
        for (path, text) in [("a.go", "package p\n\nvar a, b = 1, 2\n"), ("a.py", "a = b = 1\n")] {
            let answer = changed(path, text, "a", change());
            assert!(matches!(answer, Err(SymbolError::NotFound(_))), "{path}");
        }
        let shared = "let a = 1; let b = 2;\n";
        let new = || SymbolChange::InsertAfter(b"let c = 3;".to_vec());
        assert!(matches!(changed("a.js", shared, "a", new()), Err(SymbolError::SharedLine(_))));
        let new = SymbolChange::InsertBefore(b"let c = 3;".to_vec());
        assert!(matches!(changed("a.js", shared, "b", new), Err(SymbolError::SharedLine(_))));
    }

    #[test]
    fn a_rename_changes_every_use_that_is_certain() {
        let python = "def f(a):\n    return f(a - 1) + x.f + g(f=1)  # f\n";
        assert_eq!(
            renamed("a.py", python, "f", "fact").unwrap(),
            "def fact(a):\n    return fact(a - 1) + x.f + g(f=1)  # f\n"
        );
        let class = "class A:\n    def f(self):\n        return self.f() + A.f(self)\n";
        assert_eq!(
            renamed("a.py", class, "A.f", "g").unwrap(),
            class.replace(".f", ".g").replace("def f", "def g")
        );
        let java = "class C {\n  C() {}\n  static C of() { return new C(); }\n}\n";
        assert_eq!(renamed("C.java", java, "C", "D").unwrap(), java.replace('C', "D"));
        let rust = "struct A { x: u8 }\nimpl A { fn new() -> Self { A { x: 1 } } }\nfn f(a: &A) { A::new(); }\n";
        assert_eq!(
            renamed("a.rs", rust, "struct A", "B"),
            Err(SymbolError::NotFound(vec!["A".into()]))
        );
        assert_eq!(renamed("a.rs", rust, "A.new", "make").unwrap(), rust.replace("new", "make"));
        assert_eq!(renamed("a.rs", rust, "A", "B").unwrap(), rust.replace('A', "B"));
    }

    fn two_classes(body: &str) -> String {
        let class = |name: &str| format!("class {name} {{\n  void f() {{ {body} }}\n}}\n");
        [class("A"), class("B")].concat()
    }

    #[test]
    fn a_rename_that_is_not_certain_is_refused() {
        let shadowed = "def f():\n    pass\n\n\ndef g(f):\n    return f()\n";
        assert_eq!(renamed("a.py", shadowed, "f", "h"), Err(SymbolError::UnclearUses(vec![5])));
        assert_eq!(renamed("a.py", shadowed, "g", "f"), Err(SymbolError::NameTaken(vec![1, 5, 6])));
        let two = "class A:\n    def f(self):\n        self.f()\n\n\nclass B:\n    def f(self):\n        self.f()\n";
        assert_eq!(
            renamed("a.py", two, "A.f", "g").unwrap(),
            two.replacen("f(self)", "g(self)", 1).replacen("self.f()", "self.g()", 1)
        );
        let java = two_classes("this.f(); f();");
        let expected = java.replacen(" f()", " g()", 2).replacen("this.f", "this.g", 1);
        assert_eq!(renamed("A.java", &java, "A.f", "g").unwrap(), expected);
        let inherited = "class A:\n    def f(self): pass\nclass B(A):\n    def g(self): self.f()\n";
        assert_eq!(renamed("a.py", inherited, "A.f", "h"), Err(SymbolError::UnclearUses(vec![4])));
        let other = "class A:\n    def f(self):\n        return other.f()\n";
        assert_eq!(renamed("a.py", other, "A.f", "h"), Err(SymbolError::UnclearUses(vec![3])));
        let short = "const f = 1;\nexport default { f };\n";
        assert_eq!(renamed("a.js", short, "f", "h"), Err(SymbolError::UnclearUses(vec![2])));
        for (path, text) in [
            ("a.rs", "fn f() {\n    super::f()\n}\n"),
            ("a.py", "try:\n    from m import f\nexcept ImportError:\n    def f(): pass\n"),
            ("a.go", "package p\n\nconst f = 1\n\nvar m = T{f: 1}\n"),
            ("a.c", "int f(void) { return 1; }\n#define USE f()\n"),
            ("a.py", "class A:\n    f = 4\n    g = [0] * f\n"),
            ("A.java", "class A {\n  void f(int a) {}\n  void f(long a) {}\n}\n"),
        ] {
            let edit = SymbolEdit {
                symbol: "f".into(),
                line: (path == "A.java").then_some(2),
                change: SymbolChange::Rename("h".into()),
            };
            let parsed = RepoPath::parse(path.as_bytes()).unwrap();
            let answer = splices(&parsed, text.as_bytes(), &edit);
            assert!(matches!(answer, Err(SymbolError::UnclearUses(_))), "{text}: {answer:?}");
        }
        let table = renamed("a.py", "f = 1\nt = {f: 1}\n", "f", "h").unwrap();
        assert_eq!(table, "h = 1\nt = {h: 1}\n");
        let package = renamed("a.go", "package f\n\nfunc f() {}\n", "f", "h").unwrap();
        assert_eq!(package, "package f\n\nfunc h() {}\n");
        for name in ["", "1a", "a-b", "a b"] {
            assert_eq!(renamed("a.js", short, "f", name), Err(SymbolError::NoName), "{name}");
        }
    }
}
