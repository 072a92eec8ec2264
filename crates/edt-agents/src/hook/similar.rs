//! Spellings of branch names that readers, file systems or Git's own rules take for another branch.

/// The name that `branch` (without `refs/heads/`) is taken for: without prefixes that Git tries by
/// itself, in lower case, without invisible characters, and with Latin letters for those that only
/// look Latin.
#[must_use]
pub(super) fn folded(branch: &str) -> String {
    let visible = branch.chars().filter(|c| !edt_types::unseen::is_invisible(*c));
    let folded: String = visible.filter_map(latin).flat_map(char::to_lowercase).collect();
    let mut rest = folded.as_str();
    while let Some(shorter) = rest.strip_prefix("refs/").or_else(|| rest.strip_prefix("heads/")) {
        rest = shorter;
    }
    rest.to_owned()
}

/// The Latin letter that `c` is a wide form of, or looks like.
fn latin(c: char) -> Option<char> {
    match c {
        // The wide forms are in the order of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xff01 + 0x21),
        'а' | 'ɑ' | 'α' => Some('a'),
        'А' | 'Α' => Some('A'),
        'с' | 'ϲ' => Some('c'),
        'ԁ' => Some('d'),
        'е' => Some('e'),
        'һ' => Some('h'),
        'і' | 'ı' | 'ι' => Some('i'),
        'ӏ' => Some('l'),
        'м' | 'М' | 'Μ' => Some('m'),
        'ո' | 'п' => Some('n'),
        'о' | 'ο' | 'օ' => Some('o'),
        'р' | 'ρ' => Some('p'),
        'ѕ' => Some('s'),
        'т' | 'τ' => Some('t'),
        'ս' | 'υ' => Some('u'),
        'ѵ' | 'ν' => Some('v'),
        'х' | 'χ' => Some('x'),
        'у' | 'γ' => Some('y'),
        // Wide and narrow combining marks have no letter of their own.
        '\u{300}'..='\u{36f}' => None,
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_are_taken_for_the_branch() {
        for name in [
            "main",
            "Main",
            "MAIN",
            "heads/main",
            "refs/heads/main",
            "refs/heads/refs/heads/main",
            "ma\u{200b}in",
            "\u{ff4d}\u{ff41}\u{ff49}\u{ff4e}",
            "m\u{430}in",
            "mai\u{308}n",
        ] {
            assert_eq!(folded(name), "main", "{name:?}");
        }
    }

    #[test]
    fn other_names_stay_other_names() {
        for name in ["main2", "feature/main", "mein", "straße", "機能"] {
            assert_eq!(folded(name), name);
        }
    }
}
