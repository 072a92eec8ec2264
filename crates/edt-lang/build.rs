//! `grammars/languages.toml` becomes the `static` table that `src/table.rs` includes, so that a
//! language costs nothing at run time and needs no Rust of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

/// The table, relative to the package.
const TABLE: &str = "grammars/languages.toml";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={TABLE}");
    if let Err(why) = write_languages() {
        println!("cargo::error={}", why.replace('\n', " | "));
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    language: Vec<Language>,
}

/// One `[[language]]`. What the keys mean stands in `languages.toml` itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    name: String,
    feature: String,
    #[serde(rename = "crate")]
    krate: String,
    constant: String,
    #[serde(default)]
    highlights: Vec<String>,
    /// The folder of the queries, where it is not the name's: two grammars may share one.
    folder: Option<String>,
    extensions: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    interpreters: Vec<String>,
    #[serde(default)]
    line_comments: Vec<String>,
    #[serde(default)]
    block_comments: Vec<(String, String)>,
    #[serde(default)]
    preprocessor: bool,
    #[serde(default)]
    markup: bool,
    #[serde(default)]
    exact: bool,
    idioms: Option<String>,
    checker: Option<String>,
    #[serde(default)]
    parsers: Vec<String>,
    #[serde(default)]
    older: Vec<String>,
    comments: Vec<String>,
    strings: Vec<String>,
    scopes: Vec<String>,
    defining: Vec<String>,
    containers: Vec<String>,
    #[serde(default)]
    symbols: Vec<(String, String)>,
    #[serde(default)]
    wrappers: Vec<String>,
    #[serde(default)]
    attributes: Vec<String>,
    #[serde(default)]
    aligned: Vec<String>,
    #[serde(default)]
    never_empty: Vec<String>,
    #[serde(default)]
    reserved: Vec<String>,
    #[serde(default)]
    reserved_in: Vec<String>,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    shared_extensions: Vec<String>,
    #[serde(default)]
    signs: Vec<String>,
}

fn write_languages() -> Result<(), String> {
    let text = std::fs::read_to_string(TABLE).map_err(|err| format!("{TABLE}: {err}"))?;
    let table: Table = toml::from_str(&text).map_err(|err| format!("{TABLE}: {err}"))?;
    unique(&table.language)?;
    let mut code = String::from("[\n");
    for language in &table.language {
        entry(&mut code, language, &highlights(language, &table.language)?)?;
    }
    code.push_str("]\n");
    let out = std::env::var("OUT_DIR").map_err(|err| format!("OUT_DIR: {err}"))?;
    std::fs::write(Path::new(&out).join("languages.rs"), code)
        .map_err(|err| format!("languages.rs: {err}"))
}

/// A path must lead to one language.
fn unique(languages: &[Language]) -> Result<(), String> {
    let mut taken = BTreeMap::new();
    for language in languages {
        let keys = [
            ("name", std::slice::from_ref(&language.name)),
            ("extension", &language.extensions),
            ("file", &language.files),
            ("pattern", &language.patterns),
            ("interpreter", &language.interpreters),
        ];
        for (what, value) in keys
            .into_iter()
            .flat_map(|(what, values)| values.iter().map(move |value| (what, value)))
        {
            if what == "extension" && (value.contains('.') || *value != value.to_lowercase()) {
                return Err(format!(
                    "{TABLE}: {}: write the extension {value:?} in lower case, without a dot",
                    language.name
                ));
            }
            if let Some(other) = taken.insert((what, value), &language.name) {
                return Err(format!(
                    "{TABLE}: the {what} {value:?} belongs to {other} and to {}",
                    language.name
                ));
            }
        }
    }
    Ok(())
}

/// The constants of the queries for colours whose crates are in the build. None without the feature
/// `highlight`.
fn highlights(language: &Language, all: &[Language]) -> Result<String, String> {
    let is_on = |feature: &str| {
        let name = feature.to_uppercase().replace('-', "_");
        std::env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
    };
    if !is_on("highlight") {
        return Ok(String::new());
    }
    let mut found = Vec::new();
    for path in &language.highlights {
        let krate = path.split("::").next().unwrap_or_default();
        let feature = all.iter().find(|other| other.krate == krate).map(|other| &other.feature);
        let feature = feature.ok_or_else(|| {
            format!("{TABLE}: {}: no language has the crate of {path:?}", language.name)
        })?;
        found.extend(is_on(feature).then_some(path.as_str()));
    }
    Ok(found.join(", "))
}

fn entry(code: &mut String, language: &Language, highlights: &str) -> Result<(), String> {
    let Language { name, feature, krate, constant, preprocessor, markup, exact, .. } = language;
    let folder = language.folder.as_ref().unwrap_or(name);
    for query in ["definitions", "blocks"] {
        let path = format!("grammars/{folder}/{query}.scm");
        if !Path::new(&path).is_file() {
            return Err(format!("{TABLE}: {name}: {path} is missing"));
        }
        println!("cargo::rerun-if-changed={path}");
    }
    for word in [krate, constant] {
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("{TABLE}: {name}: {word:?} is no name of a crate or a constant"));
        }
    }
    let function = |path: Option<String>| {
        path.map_or_else(|| "None".to_owned(), |path| format!("Some(crate::{path})"))
    };
    let checker = language.checker.as_ref().map(|module| format!("checkers::{module}::faults"));
    let idioms = language.idioms.as_ref().map(|name| format!("idioms::{name}"));
    let (checker, idioms) = (function(checker), function(idioms));
    let parsers: Vec<String> =
        language.parsers.iter().map(|name| format!("crate::parsers::{name}")).collect();
    let parsers = parsers.join(", ");
    let query = |query: &str| {
        format!(
            "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/grammars/\", {folder:?}, \"/{query}.scm\"))"
        )
    };
    write!(
        code,
        "#[cfg(feature = {feature:?})]\nLanguage {{\n\
         name: {name:?}, directory: {folder:?}, extensions: &{:?}, files: &{:?}, patterns: &{:?}, interpreters: &{:?},\n\
         line_comments: &{:?}, block_comments: &{:?}, preprocessor: {preprocessor}, markup: {markup},\n\
         comments: &{:?}, strings: &{:?}, scopes: &{:?}, defining: &{:?}, containers: &{:?}, aligned: &{:?}, never_empty: &{:?},\n\
         symbols: &{:?}, wrappers: &{:?}, attributes: &{:?},\n\
         older: &{:?}, reserved: &{:?}, reserved_in: &{:?}, errors: &{:?}, shared_extensions: &{:?}, signs: &{:?},\n\
         definitions: {}, blocks: {}, exact: {exact}, checker: {checker}, idioms: {idioms}, parsers: &[{parsers}],\n\
         compiled: || {{ static QUERIES: Compiled = [const {{ std::sync::OnceLock::new() }}; 3]; &QUERIES }},\n\
         highlights: &[{highlights}],\n\
         grammar: || {krate}::{constant}.into(),\n}},\n",
        language.extensions,
        language.files,
        language.patterns,
        language.interpreters,
        language.line_comments,
        language.block_comments,
        language.comments,
        language.strings,
        language.scopes,
        language.defining,
        language.containers,
        language.aligned,
        language.never_empty,
        language.symbols,
        language.wrappers,
        language.attributes,
        language.older,
        language.reserved,
        language.reserved_in,
        language.errors,
        language.shared_extensions,
        language.signs,
        query("definitions"),
        query("blocks"),
    )
    .map_err(|err| err.to_string())
}
