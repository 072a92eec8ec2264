//! Characters that a screen does not show as what they are: invisible ones, and letters of other
//! scripts that look like Latin ones.

/// Whether a screen shows nothing in the place of `c`, or `c` changes how other characters are
/// shown. These are controls, the characters that Unicode calls default-ignorable, blanks, line and
/// paragraph separators, and the marks of annotations.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{13430}'..='\u{13440}' | '\u{16fe4}' | '\u{1d159}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether the invisible character `c` at byte `at` of `text` shapes its neighbours, as the writing
/// of their script needs it: in an emoji, between letters of Persian or of a Brahmic script, between
/// words of Thai and other scripts without spaces, in a variant of an ideograph, in old Hangul.
#[must_use]
pub fn shapes_neighbours(text: &str, at: usize, c: char) -> bool {
    let first = text[..at].chars().next_back();
    let after = text[at + c.len_utf8()..].chars().next();
    if matches!(c, '\u{200c}' | '\u{200d}') && is_beside_joining(first, after) {
        return true;
    }
    let Some(before) = first else { return false };
    match c {
        '\u{fe0e}' | '\u{fe0f}' => {
            is_pictograph(before)
                || (matches!(before, '#' | '*' | '0'..='9') && after == Some('\u{20e3}'))
        }
        '\u{200d}' if is_pictograph(before) || matches!(before, '\u{fe0f}') => {
            after.is_some_and(is_pictograph)
        }
        '\u{200d}' => joins_letters(before),
        '\u{200b}' => has_no_spaces(before) && after.is_some_and(has_no_spaces),
        '\u{fe00}'..='\u{fe02}' => {
            is_ideograph(before) || matches!(before, '\u{2200}'..='\u{22ff}')
        }
        '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
        '\u{180b}'..='\u{180f}' => matches!(before, '\u{1800}'..='\u{18af}'),
        '\u{115f}' | '\u{1160}' => is_jamo(before) || after.is_some_and(is_jamo),
        '\u{e0020}'..='\u{e007f}' => is_in_flag(text, at),
        _ => false,
    }
}

/// Whether `c` is a letter of a script that is written from right to left.
#[must_use]
pub const fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{5d0}'..='\u{5f2}' | '\u{620}'..='\u{6d3}' | '\u{6fa}'..='\u{8c7}'
        | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}'
        | '\u{1e800}'..='\u{1efff}')
}

/// The bytes at which a word with Latin letters has a Cyrillic or Greek letter that looks like a
/// Latin one. A run of letters that shows its script by another letter is not meant to deceive.
#[must_use]
pub fn disguised_letters(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || is_invisible(c) && c != '\t';
    let mut at = 0;
    for word in text.split_inclusive(|c| !in_word(c)) {
        if !word.is_ascii() && word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            disguised_in(word, at, &mut found);
        }
        at += word.len();
    }
    found
}

fn disguised_in(word: &str, start: usize, found: &mut Vec<usize>) {
    let mut run = Vec::new();
    let mut plain = true;
    for (at, c) in word.char_indices().chain([(word.len(), ' ')]) {
        if is_cyrillic_or_greek(c) {
            plain = plain && looks_latin(c);
            run.push(start + at);
        } else {
            let run = std::mem::take(&mut run);
            if std::mem::replace(&mut plain, true) {
                found.extend(run);
            }
        }
    }
}

const fn is_cyrillic_or_greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{1f00}'..='\u{1fff}'
        | '\u{2de0}'..='\u{2dff}' | '\u{a640}'..='\u{a69f}')
}

/// Whether usual fonts draw the letter as a Latin one. Greek letters of formulas, such as alpha and
/// sigma, do not count.
const fn looks_latin(c: char) -> bool {
    matches!(
        c,
        // Greek
        'Α' | 'Β' | 'Ε' | 'Ζ' | 'Η' | 'Ι' | 'Κ' | 'Μ' | 'Ν' | 'Ο' | 'Ρ' | 'Τ' | 'Υ' | 'Χ' | 'ο'
        | 'ν' | 'ϲ' | 'ϳ' | 'Ϲ' | 'Ϳ'
        // Cyrillic
        | 'А' | 'В' | 'Е' | 'К' | 'М' | 'Н' | 'О' | 'Р' | 'С' | 'Т' | 'У' | 'Х' | 'Ѕ' | 'І' | 'Ї'
        | 'Ј' | 'Ё' | 'Ү' | 'Һ' | 'Ԁ' | 'Ԍ' | 'Ԛ' | 'Ԝ' | 'Ѵ' | 'Ӏ'
        | 'а' | 'е' | 'к' | 'о' | 'р' | 'с' | 'у' | 'х' | 'ѕ' | 'і' | 'ї' | 'ј' | 'ё' | 'ү' | 'һ'
        | 'ԁ' | 'ԛ' | 'ԝ' | 'ѵ' | 'ӏ'
    )
}

const fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}'
        | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether one of two neighbours is a letter whose script joins letters, and the other one is none of
/// another script. Writers leave such joiners at the ends of words, too.
fn is_beside_joining(before: Option<char>, after: Option<char>) -> bool {
    let joins = |c: Option<char>| c.is_some_and(joins_letters);
    let fits = |c: Option<char>| {
        joins(c) || c.is_none_or(|c| c.is_whitespace() || !c.is_alphanumeric() && !is_invisible(c))
    };
    (joins(before) || joins(after)) && fits(before) && fits(after)
}

/// Whether the script of the letter joins letters, or forms conjuncts of them.
const fn joins_letters(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}' | '\u{700}'..='\u{8ff}' | '\u{900}'..='\u{dff}'
        | '\u{f00}'..='\u{109f}' | '\u{1700}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}'
        | '\u{1807}' | '\u{1820}'..='\u{18af}' | '\u{1900}'..='\u{194f}'
        | '\u{1a00}'..='\u{1aad}' | '\u{1b00}'..='\u{1c4f}' | '\u{1cd0}'..='\u{1cff}'
        | '\u{a800}'..='\u{a82f}' | '\u{a840}'..='\u{a8ff}' | '\u{a930}'..='\u{a95f}'
        | '\u{a980}'..='\u{aa7f}' | '\u{aae0}'..='\u{aaff}' | '\u{abc0}'..='\u{abff}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
}

/// Whether the letter is Thai, Lao, Myanmar or Khmer, which have no spaces between words.
const fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ecd}'
        | '\u{edc}'..='\u{edf}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17d3}' | '\u{a9e0}'..='\u{a9fe}' | '\u{aa60}'..='\u{aa7f}')
}

const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

const fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}'
        | '\u{d7b0}'..='\u{d7ff}')
}

/// The tags after a black flag that make it the flag of England, Scotland or Wales.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Whether the tag at byte `at` belongs to one of [`FLAGS`].
fn is_in_flag(text: &str, at: usize) -> bool {
    const FLAG: char = '\u{1f3f4}';
    // The last of six tags has the flag and five tags before it.
    let mut near = text[..at].char_indices().rev().take(6);
    let Some((flag, _)) = near.find(|&(_, c)| c == FLAG) else { return false };
    let start = flag + FLAG.len_utf8();
    let tag = |letter: u8| char::from_u32(0xe_0000 + u32::from(letter));
    FLAGS.iter().any(|name| {
        let tags: String = name.bytes().chain([0x7f]).filter_map(tag).collect();
        at - start < tags.len() && text[start..].starts_with(&tags)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The invisible characters of `text` that shape nothing.
    fn unexpected(text: &str) -> Vec<char> {
        let hidden = text.char_indices().filter(|&(_, c)| is_invisible(c));
        hidden.filter(|&(at, c)| !shapes_neighbours(text, at, c)).map(|(_, c)| c).collect()
    }

    #[test]
    fn default_ignorable_characters_are_invisible() {
        // Both ends of each range of the property, and what is next to them.
        let inside = [
            0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180f, 0x200b, 0x200f,
            0x202a, 0x202e, 0x2060, 0x206f, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfff8,
            0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0001, 0xe0020, 0xe007f, 0xe0100,
            0xe01ef, 0xe0fff, 0x0, 0x1b, 0x7f, 0x80, 0x9f, 0x2800, 0xfffc, 0x13430, 0x13440,
            0x16fe4, 0x1d159,
        ];
        let outside = [
            0x20, 0xa0, 0xac, 0xae, 0x34e, 0x350, 0x115e, 0x1161, 0x180a, 0x1810, 0x200a, 0x2010,
            0x202f, 0x205f, 0x2070, 0x3163, 0xfe10, 0xff9f, 0xfffd, 0x27ff, 0x2801, 0x1d172,
            0xe1000,
        ];
        let is = |code: &&u32| is_invisible(char::from_u32(**code).unwrap());
        assert_eq!(inside.iter().filter(is).count(), inside.len());
        assert_eq!(outside.iter().filter(is).count(), 0);
    }

    #[test]
    fn writing_that_needs_invisible_characters_is_expected() {
        for text in [
            "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3} 🏳\u{fe0f}\u{200d}🌈 👩🏽\u{200d}🚀 ©\u{fe0f}",
            "می\u{200c}خواهم",
            "ساخت \u{200c}وبسایت\u{200c}های",
            "می\u{200c} خواهم (\u{200c}می) می\u{200c}",
            "\u{200c}م",
            "क्\u{200d}ष ක්\u{200d}ය ന്\u{200d} ",
            "བོད\u{200d}ཡིག ꦲ꧀\u{200d}ꦏ",
            "ภาษา\u{200b}ไทย ພາສາ\u{200b}ລາວ ភាសា\u{200b}ខ្មែរ မြန်မာ\u{200b}ဘာသာ",
            "葛\u{e0100}城",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "\u{1112}\u{1160}",
        ] {
            assert_eq!(unexpected(text), [], "{text:?}");
        }
    }

    #[test]
    fn invisible_characters_without_an_effect_are_not_expected() {
        let tags = "🏴\u{e0067}\u{e0062}\u{e0041}\u{e007f}";
        assert_eq!(unexpected(tags).len(), 4);
        for (text, count) in [
            ("a\u{200d}b", 1),
            ("a\u{fe0f}", 1),
            ("❤\u{fe0f}\u{fe0f}", 1),
            ("م\u{200c}\u{200c}م", 2),
            ("a\u{200c}م", 1),
            ("م\u{200c}a", 1),
            ("ก\u{200b}a", 1),
            ("a\u{200b}ก", 1),
            ("ก\u{200b}\u{200b}ข", 2),
            ("é\u{200b}é", 1),
            ("👩\u{e0100}", 1),
            ("x\u{3164}\u{ad}\u{2060}", 3),
        ] {
            assert_eq!(unexpected(text).len(), count, "{text:?}");
        }
    }

    fn disguised(text: &str) -> String {
        disguised_letters(text).into_iter().filter_map(|at| text[at..].chars().next()).collect()
    }

    #[test]
    fn letters_that_look_latin_are_found_among_latin_ones() {
        assert_eq!(disguised("let p\u{430}yp\u{430}l = is\u{410}dmin;"), "ааА");
        assert_eq!(disguised("user_\u{441}\u{43e}\u{440}\u{443}"), "сору");
        assert_eq!(disguised("\u{39f}K"), "Ο");
        assert_eq!(disguised("a\u{200b}\u{430}"), "а");
    }

    #[test]
    fn words_that_show_their_script_are_not_disguised() {
        for text in ["Привет, API", "JSONом", "API_ключ", "σ_x αx Δt μs λ1", "сору", "naïve_ß"]
        {
            assert_eq!(disguised(text), "", "{text}");
        }
    }
}
