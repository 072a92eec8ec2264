//! JavaScript and TypeScript, read by the parser of oxc.

use edt_types::RepoPath;
use oxc_allocator::{Allocator, Vec as ArenaVec};
use oxc_ast::ast::TSSignature;
use oxc_ast_visit::{Visit, walk::walk_ts_signatures};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan as _, SourceType};

use crate::judgement::Rejection;

/// Reads JavaScript with JSX. Types are compiled away from such files, too.
pub(crate) fn javascript(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    let text = &without_directives(text);
    read(text, SourceType::unambiguous().with_jsx(true)).or_else(|rejection| {
        read(text, SourceType::tsx().with_unambiguous(true)).map_err(|_| rejection)
    })
}

pub(crate) fn typescript(text: &str, path: &RepoPath) -> Result<(), Rejection> {
    let ends = [&b".d.ts"[..], b".d.mts", b".d.cts"];
    let declares = ends.iter().any(|end| path.as_bytes().ends_with(end));
    let kind = if declares { SourceType::d_ts() } else { SourceType::ts() };
    read(text, kind.with_unambiguous(true))
}

pub(crate) fn tsx(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    read(text, SourceType::tsx().with_unambiguous(true))
}

fn read(text: &str, kind: SourceType) -> Result<(), Rejection> {
    let allocator = Allocator::default();
    // Scripts that a program wraps in a function, such as those of CommonJS, may return.
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, text, kind).with_options(options).parse();
    if let Some(first) = parsed.diagnostics.iter().next() {
        let at = first.labels.first().map_or(text.len(), |label| label.offset() as usize);
        return Err(Rejection { message: first.message.to_string(), at });
    }
    let mut members = Members { text, joined: None };
    if kind.is_typescript() {
        members.visit_program(&parsed.program);
    }
    let message = || "Expected a semicolon or a line end between members of a type".to_owned();
    members.joined.map_or(Ok(()), |at| Err(Rejection { message: message(), at }))
}

/// Finds members of types with nothing between them, which the parser accepts.
struct Members<'t> {
    text: &'t str,
    joined: Option<usize>,
}

impl<'a> Visit<'a> for Members<'_> {
    fn visit_ts_signatures(&mut self, members: &ArenaVec<'a, TSSignature<'a>>) {
        for pair in members.windows(2) {
            let (first, second) = (pair[0].span(), pair[1].span());
            let (end, next) = (first.end as usize, second.start as usize);
            let ended = self.text[..end].ends_with([';', ',']);
            if !ended && !self.text[end..next].contains([';', ',', '\n', '\r']) {
                self.joined = self.joined.or(Some(next));
            }
        }
        walk_ts_signatures(self, members);
    }
}

/// The text with the directives of QML at its top (`.pragma library`) as blanks.
fn without_directives(text: &str) -> String {
    let is_head = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with(".pragma ") || line.starts_with(".import ")
    };
    let head: usize = text.split_inclusive('\n').take_while(is_head).map(str::len).sum();
    let blank = |byte: char| if byte == '\n' { "\n" } else { " " };
    let blanks = text[..head].bytes().map(|byte| blank(char::from(byte)));
    blanks.chain(std::iter::once(&text[head..])).collect()
}
