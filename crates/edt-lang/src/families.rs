//! The languages without a grammar: how their files are recognised, and what their strings and
//! comments look like. `pairs.rs` reads their texts.

use edt_types::RepoPath;

/// What is known of a language without a grammar.
#[derive(Debug)]
pub struct Family {
    /// File extensions in lower case, without the dot.
    pub extensions: &'static [&'static str],
    /// Complete file names, such as `Dockerfile`.
    pub files: &'static [&'static str],
    /// What begins a comment that ends with its line.
    pub line_comments: &'static [&'static str],
    /// What begins and ends a block comment.
    pub block_comments: &'static [(&'static str, &'static str)],
    /// Its strings and characters, those with a longer beginning first.
    pub strings: &'static [Quote],
    /// Whether a block comment may be in another one.
    pub nested: bool,
    /// What begins the name of a here document, such as `<<`.
    pub here: Option<&'static str>,
    /// What begins a literal with delimiters of its own, before a letter: `%w[a b]`.
    pub sigil: Option<u8>,
    /// Whether `/a(/` may be a pattern.
    pub patterns: bool,
    /// What of it is read.
    pub reads: Reads,
    /// Whether the word `end` ends its blocks.
    pub ends: bool,
    /// What the reader does not know: a change of a line with one of these is not judged.
    pub signs: &'static [&'static str],
}

/// What is read of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Brackets, quotes and comments.
    Pairs,
    /// Scripts, styles, and the braces around them.
    Parts,
    /// Nothing: too much of it are patterns, here documents or markup.
    Nothing,
}

/// A form of strings.
#[derive(Debug, Clone, Copy)]
pub struct Quote {
    /// How it begins.
    pub open: &'static str,
    /// How it ends.
    pub close: &'static str,
    /// How its end may be in it.
    pub escape: Escape,
    /// Where it ends at the latest.
    pub reach: Reach,
    /// What begins code in it, such as `${`; it has a bracket, whose partner ends the code.
    pub code: Option<&'static str>,
}

/// How a string may have its own end in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// It may not.
    No,
    /// Behind a backslash.
    Backslash,
    /// Twice.
    Double,
}

/// Where a string ends at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// At once: it is an escaped quote.
    Nothing,
    /// Behind one character; else the quote means something else.
    Character,
    /// In its line.
    Line,
    /// With the text.
    Text,
}

const fn quote(open: &'static str, close: &'static str, reach: Reach) -> Quote {
    Quote { open, close, escape: Escape::Backslash, reach, code: None }
}

const fn raw(open: &'static str, close: &'static str, reach: Reach) -> Quote {
    Quote { escape: Escape::No, ..quote(open, close, reach) }
}

const fn doubling(open: &'static str, close: &'static str) -> Quote {
    Quote { escape: Escape::Double, ..quote(open, close, Reach::Text) }
}

const fn with_code(quote: Quote, code: &'static str) -> Quote {
    Quote { code: Some(code), ..quote }
}

const DOUBLE: Quote = quote("\"", "\"", Reach::Line);
const SINGLE: Quote = quote("'", "'", Reach::Line);
const CHARACTER: Quote = quote("'", "'", Reach::Character);
const TRIPLE: Quote = quote("\"\"\"", "\"\"\"", Reach::Text);
const RAW_TRIPLE: Quote = raw("\"\"\"", "\"\"\"", Reach::Text);
const BACKTICKS: Quote = raw("`", "`", Reach::Line);
const DOLLAR: Quote = with_code(DOUBLE, "${");
const SINGLE_DOLLAR: Quote = with_code(SINGLE, "${");
/// Strings of Ruby and Elixir go on in the next line.
const HASH: Quote = with_code(quote("\"", "\"", Reach::Text), "#{");
const LONG_SINGLE: Quote = quote("'", "'", Reach::Text);

/// Comments and strings as in C.
const C: Family = Family {
    extensions: &[],
    files: &[],
    line_comments: &["//"],
    block_comments: &[("/*", "*/")],
    strings: &[DOUBLE, SINGLE],
    nested: false,
    here: None,
    sigil: None,
    patterns: false,
    reads: Reads::Pairs,
    ends: false,
    signs: &[],
};
/// Comments as in a shell.
const HASHES: Family = Family { line_comments: &["#"], block_comments: &[], ..C };
/// Comments as in SQL.
const DASHES: Family = Family { line_comments: &["--"], block_comments: &[], ..C };

/// Every family. A file of none of them is not looked at as code.
pub static FAMILIES: &[Family] = &[
    Family {
        extensions: &["kt", "kts"],
        strings: &[with_code(RAW_TRIPLE, "${"), DOLLAR, CHARACTER, BACKTICKS],
        nested: true,
        ..C
    },
    Family {
        extensions: &["swift"],
        strings: &[
            raw("#\"\"\"", "\"\"\"#", Reach::Text),
            raw("#\"", "\"#", Reach::Line),
            with_code(TRIPLE, "\\("),
            with_code(DOUBLE, "\\("),
        ],
        nested: true,
        signs: &["##\"", "#/", "(/", "= /"],
        ..C
    },
    Family {
        extensions: &["php", "phtml"],
        line_comments: &["//", "#"],
        // What is between two parts of PHP is a comment for the reader.
        block_comments: &[("/*", "*/"), ("?>", "<?")],
        strings: &[
            quote("'", "'", Reach::Text),
            with_code(quote("\"", "\"", Reach::Text), "{$"),
            quote("`", "`", Reach::Text),
        ],
        here: Some("<<<"),
        ..C
    },
    Family {
        extensions: &["cs", "csx"],
        line_comments: &["//", "#"],
        strings: &[
            raw("$\"\"\"", "\"\"\"", Reach::Text),
            RAW_TRIPLE,
            with_code(doubling("$@\"", "\""), "{"),
            with_code(doubling("@$\"", "\""), "{"),
            doubling("@\"", "\""),
            with_code(quote("$\"", "\"", Reach::Line), "{"),
            DOUBLE,
            CHARACTER,
        ],
        signs: &["#if", "#el", "#endif", "$$\""],
        ..C
    },
    Family {
        extensions: &["scala", "sc", "sbt"],
        strings: &[with_code(RAW_TRIPLE, "${"), DOLLAR, CHARACTER, BACKTICKS],
        nested: true,
        signs: &["</"],
        ..C
    },
    Family {
        extensions: &["dart"],
        strings: &[
            raw("r'''", "'''", Reach::Text),
            raw("r\"\"\"", "\"\"\"", Reach::Text),
            raw("r'", "'", Reach::Line),
            raw("r\"", "\"", Reach::Line),
            with_code(quote("'''", "'''", Reach::Text), "${"),
            with_code(TRIPLE, "${"),
            SINGLE_DOLLAR,
            DOLLAR,
        ],
        nested: true,
        ..C
    },
    Family {
        extensions: &["groovy", "gradle"],
        files: &["Jenkinsfile"],
        strings: &[quote("'''", "'''", Reach::Text), with_code(TRIPLE, "${"), SINGLE, DOLLAR],
        patterns: true,
        signs: &["$/"],
        ..C
    },
    Family {
        extensions: &["zig", "zon"],
        // A line of a string with several begins with two backslashes.
        line_comments: &["//", "\\\\"],
        block_comments: &[],
        strings: &[DOUBLE, CHARACTER],
        ..C
    },
    Family { extensions: &["sol", "proto"], ..C },
    Family { extensions: &["scss", "less"], signs: &["url("], ..C },
    Family {
        extensions: &["tf", "hcl", "tfvars"],
        line_comments: &["#", "//"],
        strings: &[DOLLAR],
        here: Some("<<"),
        signs: &["%{"],
        ..C
    },
    Family {
        extensions: &["fs", "fsx", "fsi"],
        block_comments: &[("(*", "*)")],
        strings: &[
            RAW_TRIPLE,
            doubling("@\"", "\""),
            with_code(quote("$\"", "\"", Reach::Line), "{"),
            quote("\"", "\"", Reach::Text),
            CHARACTER,
        ],
        nested: true,
        signs: &["(*)"],
        ..C
    },
    Family {
        extensions: &["rb", "rake", "gemspec", "ru", "cr"],
        files: &["Rakefile", "Gemfile", "Podfile", "Vagrantfile", "Brewfile", "Fastfile"],
        block_comments: &[("\n=begin", "\n=end")],
        strings: &[HASH, LONG_SINGLE, with_code(quote("`", "`", Reach::Line), "#{")],
        here: Some("<<"),
        sigil: Some(b'%'),
        patterns: true,
        ends: true,
        signs: &[" ?\"", " ?'", "$\"", "$'", "$`", " ?(", " ?)", " ?[", " ?]", " ?{", " ?}"],
        ..HASHES
    },
    Family { extensions: &["graphql", "gql", "graphqls"], strings: &[TRIPLE, DOUBLE], ..HASHES },
    Family {
        extensions: &["r"],
        strings: &[quote("\"", "\"", Reach::Text), quote("'", "'", Reach::Text), BACKTICKS],
        signs: &["r\"", "R\"", "r'", "R'"],
        ..HASHES
    },
    Family {
        extensions: &["jl"],
        block_comments: &[("#=", "=#")],
        strings: &[
            with_code(TRIPLE, "$("),
            with_code(quote("\"", "\"", Reach::Text), "$("),
            CHARACTER,
        ],
        nested: true,
        ends: true,
        signs: &["r\"", "raw\""],
        ..HASHES
    },
    Family {
        extensions: &["ex", "exs"],
        strings: &[with_code(TRIPLE, "#{"), HASH, LONG_SINGLE],
        sigil: Some(b'~'),
        ends: true,
        signs: &[" ?\"", " ?'", " ?(", " ?)", " ?[", " ?]", " ?{", " ?}"],
        ..HASHES
    },
    Family {
        extensions: &["nim", "nims"],
        block_comments: &[("#[", "]#")],
        strings: &[RAW_TRIPLE, DOUBLE, CHARACTER],
        nested: true,
        signs: &["r\""],
        ..HASHES
    },
    Family {
        extensions: &["cmake"],
        files: &["CMakeLists.txt"],
        block_comments: &[("#[[", "]]")],
        strings: &[quote("\\\"", "\"", Reach::Nothing), quote("\"", "\"", Reach::Text)],
        signs: &["[["],
        ..HASHES
    },
    Family {
        extensions: &["erl", "hrl"],
        line_comments: &["%"],
        strings: &[quote("\"", "\"", Reach::Text), SINGLE],
        signs: &["$"],
        ..HASHES
    },
    Family {
        extensions: &["sql"],
        block_comments: &[("/*", "*/")],
        strings: &[doubling("'", "'"), doubling("\"", "\"")],
        signs: &["\\'", "$"],
        ..DASHES
    },
    Family {
        extensions: &["lua"],
        ends: true,
        block_comments: &[("--[[", "]]"), ("--[=[", "]=]")],
        strings: &[raw("[[", "]]", Reach::Text), raw("[=[", "]=]", Reach::Text), DOUBLE, SINGLE],
        signs: &["[=="],
        ..DASHES
    },
    Family {
        extensions: &["hs"],
        block_comments: &[("{-", "-}")],
        strings: &[DOUBLE, CHARACTER],
        nested: true,
        signs: &["|]", "-->", "|--"],
        ..DASHES
    },
    Family {
        extensions: &["ml", "mli"],
        line_comments: &[],
        block_comments: &[("(*", "*)")],
        strings: &[quote("\"", "\"", Reach::Text), CHARACTER],
        nested: true,
        signs: &["{|", "|}"],
        ..DASHES
    },
    Family { extensions: &["pl", "pm", "t"], reads: Reads::Nothing, ..HASHES },
    Family {
        extensions: &["dockerfile"],
        files: &["Dockerfile", "Containerfile"],
        reads: Reads::Nothing,
        ..HASHES
    },
    Family { extensions: &["v"], reads: Reads::Nothing, ..C },
    Family {
        extensions: &["vue", "svelte", "astro"],
        line_comments: &[],
        block_comments: &[("<!--", "-->")],
        strings: &[],
        reads: Reads::Parts,
        ..C
    },
];

/// The family of a file, by its complete name, then by its extension in any case.
#[must_use]
pub fn family_of(path: &RepoPath) -> Option<&'static Family> {
    let path = path.text();
    let name = path.rsplit('/').next()?;
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let named = FAMILIES.iter().find(|family| family.files.contains(&name));
    named.or_else(|| {
        let extension = extension.as_deref()?;
        FAMILIES.iter().find(|family| family.extensions.contains(&extension))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_recognised_by_name_then_by_extension() {
        let of = |path: &str| {
            family_of(&RepoPath::parse(path.as_bytes()).unwrap()).map(|family| family.extensions[0])
        };
        assert_eq!(of("a/B.KT"), Some("kt"));
        assert_eq!(of("CMakeLists.txt"), Some("cmake"));
        assert_eq!(of("a/Dockerfile"), Some("dockerfile"));
        assert_eq!((of("a.txt"), of("kt"), of("a.md")), (None, None, None));
    }

    #[test]
    fn no_extension_has_two_families_or_a_grammar() {
        let all: Vec<&str> =
            FAMILIES.iter().flat_map(|family| family.extensions).copied().collect();
        for (at, extension) in all.iter().enumerate() {
            assert!(!all[..at].contains(extension), "{extension}");
            let taken = |language: &crate::Language| language.extensions.contains(extension);
            assert!(!crate::LANGUAGES.iter().any(taken), "{extension}");
        }
    }

    #[test]
    fn a_longer_beginning_comes_first() {
        for family in FAMILIES {
            for (at, quote) in family.strings.iter().enumerate() {
                let hidden = |above: &&Quote| quote.open.starts_with(above.open);
                assert!(!family.strings[..at].iter().any(|above| hidden(&above)), "{quote:?}");
                let bracket = |code: &str| code.contains(['(', '{']);
                assert!(quote.code.is_none_or(bracket), "{quote:?}");
            }
        }
    }
}
