//! Images before and after a change.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::sheet::Sheet;
use super::text::shown;
use crate::hunks::ReviewFile;

/// The largest image that the server sends, in bytes.
pub(crate) const MAX_SERVED: usize = 8 << 20;
/// The largest image in a page that is a file.
const MAX_INLINE: usize = 64 << 10;

/// The formats that a page shows: the ends of their names, their media types, and their first bytes.
const FORMATS: [(&[&str], &str, &[u8]); 4] = [
    (&["png"], "image/png", b"\x89PNG\r\n\x1a\n"),
    (&["jpg", "jpeg"], "image/jpeg", b"\xff\xd8\xff"),
    (&["gif"], "image/gif", b"GIF8"),
    (&["webp"], "image/webp", b"RIFF"),
];

/// The media type of the image `bytes` at `path`; `None` if name and content do not agree on one.
pub(crate) fn media_type(path: &str, bytes: &[u8]) -> Option<&'static str> {
    let (_, kind, start) = format(path)?;
    bytes.starts_with(start).then_some(kind)
}

fn format(path: &str) -> Option<(&'static [&'static str], &'static str, &'static [u8])> {
    let (_, end) = path.rsplit_once('.')?;
    FORMATS.into_iter().find(|(ends, ..)| ends.iter().any(|one| end.eq_ignore_ascii_case(one)))
}

/// Both sides of the file at the place `at` of the article `id`. Nothing if it is no image.
pub(super) fn sides(file: &ReviewFile, (id, at): (&str, usize), sheet: &mut Sheet<'_>) -> Markup {
    if format(&file.path).is_none() {
        return html! {};
    }
    let sides = [("before", &file.hash_before), ("after", &file.hash_after)];
    html! {
        div.images {
            @for (side, hash) in sides {
                @if let Some(address) = hash.as_deref().and_then(|hash| address(file, hash, (id, at, side), sheet)) {
                    figure {
                        figcaption { (side) }
                        img src=(address) loading="lazy" alt={ (shown(&file.path)) ", " (side) };
                    }
                }
            }
        }
    }
}

/// Where the image is: at the server, or in the page itself.
fn address(
    file: &ReviewFile,
    hash: &str,
    (id, at, side): (&str, usize, &str),
    sheet: &mut Sheet<'_>,
) -> Option<String> {
    if sheet.values.is_some() {
        return Some(format!("/blob?at={id}&file={at}&side={side}"));
    }
    let bytes = sheet.palette?.contents.blob(hash, MAX_INLINE)?;
    let kind = media_type(&file.path, &bytes)?;
    let address = format!("data:{kind};base64,{}", base64(&bytes));
    sheet.room = sheet.room.checked_sub(address.len())?;
    Some(address)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= three.len() {
                let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
                let _ = write!(text, "{}", char::from(digit));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_base64() {
        let all = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(all, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn an_image_has_the_content_of_its_name() {
        assert_eq!(media_type("a/b.PNG", b"\x89PNG\r\n\x1a\n.."), Some("image/png"));
        for (path, bytes) in [
            ("a.png", b"<script>".as_slice()),
            ("a.svg", b"<svg>"),
            ("a.gif", b"\x89PNG\r\n\x1a\n"),
            ("png", b"\x89PNG\r\n\x1a\n"),
        ] {
            assert_eq!(media_type(path, bytes), None, "{path}");
        }
    }
}
