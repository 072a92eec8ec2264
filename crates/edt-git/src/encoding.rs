//! `working-tree-encoding`: UTF-8 in the blob, another encoding on disk. Pure functions.
//!
//! Supports exactly the encodings for which edt's conversion is known to equal that of Git with the
//! C library's `iconv`: the Unicode encodings, ISO-8859-1 and ASCII. Others are refused by name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Encoding {
    unit: Unit,
    order: Order,
    mark: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// One byte per character, up to this value.
    Byte(u8),
    /// UTF-16.
    Two,
    /// UTF-32.
    Four,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// The byte-order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Required: it determines the byte order when reading. The named order is used when writing.
    Needed,
    /// Not allowed.
    Forbidden,
}

/// Why a text cannot be converted.
pub(super) type EncodingError = &'static str;

impl Encoding {
    /// The encoding with this name; `None` if it is not supported.
    pub(super) fn named(name: &str) -> Option<Encoding> {
        use Mark::{Forbidden, Needed};
        use Order::{Big, Little};
        let upper = name.to_ascii_uppercase();
        let name =
            upper.strip_prefix("UTF-").or_else(|| upper.strip_prefix("UTF")).unwrap_or(&upper);
        let (unit, order, mark) = match name {
            // As in the GNU C library: little-endian with a byte-order mark.
            "16" | "16LE-BOM" => (Unit::Two, Little, Needed),
            "16BE-BOM" => (Unit::Two, Big, Needed),
            "16LE" => (Unit::Two, Little, Forbidden),
            "16BE" => (Unit::Two, Big, Forbidden),
            "32" => (Unit::Four, Little, Needed),
            "32LE" => (Unit::Four, Little, Forbidden),
            "32BE" => (Unit::Four, Big, Forbidden),
            "ISO-8859-1" | "ISO8859-1" | "LATIN1" | "LATIN-1" => {
                (Unit::Byte(0xff), Little, Forbidden)
            }
            "US-ASCII" | "ASCII" => (Unit::Byte(0x7f), Little, Forbidden),
            _ => return None,
        };
        Some(Encoding { unit, order, mark })
    }

    /// Converts `bytes` to UTF-8 without a byte-order mark.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<Vec<u8>, EncodingError> {
        if let Unit::Byte(last) = self.unit {
            if bytes.iter().any(|&byte| byte > last) {
                return Err("it contains bytes that are not ASCII");
            }
            return Ok(bytes.iter().map(|&byte| char::from(byte)).collect::<String>().into_bytes());
        }
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let (order, bytes) = match (self.mark, self.order_of(bytes)) {
            (Mark::Needed, Some((order, rest))) => (order, rest),
            (Mark::Needed, None) => return Err("it does not begin with a byte-order mark"),
            (Mark::Forbidden, Some(_)) => {
                return Err("it begins with a byte-order mark, which its encoding forbids");
            }
            (Mark::Forbidden, None) => (self.order, bytes),
        };
        let width = if self.unit == Unit::Two { 2 } else { 4 };
        if bytes.len() % width != 0 {
            return Err("it ends in the middle of a character");
        }
        let invalid = "it contains an invalid character for its encoding";
        let number = |unit: &[u8]| {
            let fold = |all: u32, &byte: &u8| all << 8 | u32::from(byte);
            if order == Order::Big {
                unit.iter().fold(0, fold)
            } else {
                unit.iter().rev().fold(0, fold)
            }
        };
        let units = bytes.chunks_exact(width).map(number);
        let text: Option<String> = if self.unit == Unit::Two {
            char::decode_utf16(units.filter_map(|unit| u16::try_from(unit).ok()))
                .map(Result::ok)
                .collect()
        } else {
            units.map(char::from_u32).collect()
        };
        text.map(String::into_bytes).ok_or(invalid)
    }

    /// Converts the UTF-8 `text` to the bytes on disk.
    pub(super) fn encode(self, text: &[u8]) -> Result<Vec<u8>, EncodingError> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not valid UTF-8")?;
        let mut out = Vec::with_capacity(text.len() * 2 + 4);
        if text.is_empty() {
            return Ok(out);
        }
        if self.mark == Mark::Needed {
            self.put('\u{feff}', &mut out);
        }
        for character in text.chars() {
            match self.unit {
                Unit::Byte(last) => match u8::try_from(u32::from(character)) {
                    Ok(byte) if byte <= last => out.push(byte),
                    _ => return Err("it contains a character that its encoding does not have"),
                },
                _ => self.put(character, &mut out),
            }
        }
        Ok(out)
    }

    fn put(self, character: char, out: &mut Vec<u8>) {
        let big = self.order == Order::Big;
        if self.unit == Unit::Four {
            let number = u32::from(character);
            out.extend(if big { number.to_be_bytes() } else { number.to_le_bytes() });
            return;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            out.extend(if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
        }
    }

    /// The byte order according to a mark at the start, and the rest after the mark.
    fn order_of(self, bytes: &[u8]) -> Option<(Order, &[u8])> {
        let marks: [(&[u8], Order); 2] = match self.unit {
            Unit::Four => [(b"\xff\xfe\0\0", Order::Little), (b"\0\0\xfe\xff", Order::Big)],
            _ => [(b"\xff\xfe", Order::Little), (b"\xfe\xff", Order::Big)],
        };
        marks.iter().find_map(|(mark, order)| Some((*order, bytes.strip_prefix(*mark)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_text_decodes_to_the_same_text() {
        let text = "a\u{e9}\u{20ac}\u{1f600}\n".as_bytes();
        for name in [
            "UTF-16",
            "utf-16le",
            "UTF16BE",
            "UTF-16LE-BOM",
            "UTF-16BE-BOM",
            "UTF-32",
            "UTF-32LE",
            "utf-32be",
        ] {
            let encoding = Encoding::named(name).unwrap();
            assert_eq!(encoding.decode(&encoding.encode(text).unwrap()).unwrap(), text, "{name}");
            assert!(encoding.decode(b"\xff\xfea").is_err(), "{name}");
        }
        assert!(
            Encoding::named("UTF-16LE").unwrap().decode(b"\0\xd8a\0").is_err(),
            "half of a pair"
        );
        let latin = Encoding::named("latin1").unwrap();
        assert_eq!(latin.encode("\u{e9}\n".as_bytes()), Ok(b"\xe9\n".to_vec()));
        assert!(
            latin.encode(text).is_err()
                && Encoding::named("ascii").unwrap().decode(b"\xe9").is_err()
        );
        assert_eq!(Encoding::named("SHIFT-JIS"), None);
    }
}
