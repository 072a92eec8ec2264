//! Names as the most liberal file system reads them.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// `path` as a file system reads it that ignores case, forms of Unicode and characters without a
/// width: names that some system takes for one are equal. Also without what Windows drops: spaces
/// and full stops at the end of a name, and what follows a colon. Bytes that are not UTF-8 stay.
pub(super) fn folded(path: &[u8]) -> Cow<'_, [u8]> {
    let is_dropped = |name: &[u8]| name.ends_with(b".") || name.ends_with(b" ");
    let is_plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase() && *byte != b':';
    if path.iter().all(is_plain) && !path.split(|byte| *byte == b'/').any(is_dropped) {
        return Cow::Borrowed(path);
    }
    let Ok(text) = std::str::from_utf8(path) else { return Cow::Owned(path.to_ascii_lowercase()) };
    let names: Vec<String> = text.split('/').map(name).collect();
    Cow::Owned(names.join("/").into_bytes())
}

fn name(name: &str) -> String {
    let visible: String = name.chars().filter(|c| !has_no_width(*c)).collect();
    // Twice: the first letter of `ß` in capitals is another one.
    let upper = visible.nfkc().flat_map(char::to_uppercase).collect::<String>();
    let lower = upper.chars().flat_map(char::to_lowercase).nfkc().collect::<String>();
    let until = lower.split(':').next().unwrap_or_default();
    // No system takes a wide solidus for the sign between names.
    let trimmed = until.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { name.to_owned() } else { trimmed.replace('/', "\\") }
}

/// Characters that HFS+ leaves out of comparisons, and others that are not seen.
fn has_no_width(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_system_takes_for_one_are_equal() {
        let text = |name: &str| String::from_utf8(folded(name.as_bytes()).into_owned()).unwrap();
        for (name, other) in [
            (".VSCode/Tasks.JSON", ".vscode/tasks.json"),
            (".\u{17f}sh/x", ".ssh/x"),
            (".\u{212a}iro", ".kiro"),
            (".v\u{200d}scode", ".vscode"),
            ("\u{ff0e}envrc", ".envrc"),
            ("\u{2024}envrc", ".envrc"),
            (".husky. /pre-commit ", ".husky/pre-commit"),
            (".envrc::$DATA", ".envrc"),
            ("STRASSE", "straße"),
            ("o\u{308}", "Ö"),
        ] {
            assert_eq!(text(name), text(other), "{name}");
        }
        assert_eq!((text("src/Main.rs"), text(".../x")), ("src/main.rs".into(), ".../x".into()));
        assert_eq!(folded(b".Env\xff").as_ref(), b".env\xff");
        assert!(matches!(folded(b"src/main.rs"), Cow::Borrowed(_)));
    }
}
