//! Renames a definition and its uses in the file, if they are certain.

use std::ops::Range;

use edt_io::clock::CpuLimit;
use edt_lang::Language;
use edt_lang::symbols::Symbol;
use edt_lang::uses::{NameUse, Use, uses_of};

use super::splice::Splice;
use super::symbol_error::{MAX_TIME, SymbolError, line_of};

/// The splices that give `symbol` the name `to`. `all` are the definitions of the file.
///
/// # Errors
/// [`SymbolError`]: `NoName`, `NameTaken`, `UnclearUses`, `Unparsed`.
pub(super) fn splices(
    language: &'static Language,
    text: &[u8],
    (symbol, all): (&Symbol, &[Symbol]),
    to: &str,
) -> Result<Vec<Splice>, SymbolError> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if !to.chars().all(is_part) || to.chars().next().is_none_or(char::is_numeric) {
        return Err(SymbolError::NoName);
    }
    let name = symbol.last_name();
    let lines = |uses: &[NameUse]| {
        let mut lines: Vec<usize> = uses.iter().map(|one| line_of(text, one.at.start)).collect();
        lines.dedup();
        lines
    };
    let until = CpuLimit::new(MAX_TIME);
    let uses = |name: &str| {
        uses_of(language, text, name, &|| until.is_over())
            .map_err(|why| SymbolError::Unparsed(why.to_string()))
    };
    let is_other = |one: &NameUse| matches!(one.how, Use::Member(_)) && !symbol.is_member;
    let taken: Vec<NameUse> = uses(to)?.into_iter().filter(|one| !is_other(one)).collect();
    if !taken.is_empty() {
        return Err(SymbolError::NameTaken(lines(&taken)));
    }
    // Constructors have the name of their class.
    let constructor = format!("{}.{name}", symbol.name);
    let (same, others): (Vec<&Symbol>, Vec<&Symbol>) = all
        .iter()
        .filter(|one| one.last_name() == name)
        .partition(|one| one.name == symbol.name || one.name == constructor);
    let overloads = same.iter().filter(|one| one.name == symbol.name).count();
    if overloads > 1 {
        let uses = uses(name)?;
        return Err(SymbolError::UnclearUses(lines(&uses)));
    }
    let meaning = Meaning { language, symbol, all, same: &same, others: &others };
    let (mut renamed, mut unclear) = (Vec::new(), Vec::new());
    for one in uses(name)? {
        match meaning.of(&one) {
            Some(true) => renamed.push(one),
            Some(false) => {}
            None => unclear.push(one),
        }
    }
    // A format string of Rust may name a variable: `"{name:?}"`.
    if language.name == "rust" {
        let opened = ["{", name].concat();
        let ends = |at: &usize| matches!(text.get(at + opened.len()), Some(b'}' | b':'));
        let named = memchr::memmem::find_iter(text, opened.as_bytes()).filter(ends);
        unclear
            .extend(named.map(|at| NameUse { at: at + 1..at + opened.len(), how: Use::Shorthand }));
    }
    if !unclear.is_empty() {
        return Err(SymbolError::UnclearUses(lines(&unclear)));
    }
    let splice = |one: NameUse| Splice { at: one.at, with: to.as_bytes().to_vec() };
    Ok(renamed.into_iter().map(splice).collect())
}

/// Decides whether a use of a name means a definition.
struct Meaning<'a> {
    language: &'static Language,
    symbol: &'a Symbol,
    all: &'a [Symbol],
    /// The definitions of the name that are the one to rename.
    same: &'a [&'a Symbol],
    /// The others of that name.
    others: &'a [&'a Symbol],
}

impl Meaning<'_> {
    /// `None` if it is not certain.
    fn of(&self, one: &NameUse) -> Option<bool> {
        let is_at = |symbols: &[&Symbol]| symbols.iter().any(|symbol| symbol.own_name == one.at);
        if is_at(self.same) {
            return Some(true);
        }
        let of_file = |symbol: &&Symbol| !symbol.is_member;
        if is_at(self.others) && (self.symbol.is_member || !self.others.iter().any(of_file)) {
            return Some(false);
        }
        // Members need no object inside their type.
        let bare_members = ["java", "cpp"].contains(&self.language.name);
        let is_member = self.symbol.is_member;
        match &one.how {
            Use::Plain if is_member => {
                match self.language.name {
                    _ if bare_members => self.in_own_type(&one.at),
                    // The body of a class uses its members without an object.
                    "python" => None,
                    _ => Some(false),
                }
            }
            Use::Plain => Some(true),
            Use::Member(object) if object.is_empty() => Some(false),
            Use::Member(object) => {
                let last = object.rsplit(['.', ':']).next().unwrap_or_default();
                let around = self.symbol.name.rsplit('.').nth(1);
                if around == Some(last) {
                    Some(true)
                } else if !is_member
                    && ["self", "super", "crate"].contains(&last)
                    && self.language.name == "rust"
                {
                    None
                } else if !is_member {
                    Some(false)
                } else if ["self", "this", "cls", "Self"].contains(&last) {
                    self.in_own_type(&one.at)
                } else {
                    None
                }
            }
            Use::Definition | Use::Shorthand => None,
        }
    }

    /// Whether the use is in the type of the member. In another type with such a member it means
    /// that one.
    fn in_own_type(&self, at: &Range<usize>) -> Option<bool> {
        let type_of = |symbol: &Symbol| symbol.name.rsplit_once('.').map(|(of, _)| of.to_owned());
        let is_around = |one: &&Symbol| one.is_member && one.definition.contains(&at.start);
        let around = self.all.iter().filter(is_around).min_by_key(|one| one.definition.len());
        let around = around.and_then(type_of)?;
        if Some(&around) == type_of(self.symbol).as_ref() {
            return Some(true);
        }
        let has_own = self.others.iter().any(|one| type_of(one).as_ref() == Some(&around));
        has_own.then_some(false)
    }
}
