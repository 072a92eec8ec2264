//! Whether a value can be a credential: it looks random, and is no placeholder.

/// Parts of placeholders and of weak passwords, in lower case, with digits and signs that stand for
/// letters replaced by them.
const WEAK: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "change",
    "dummy",
    "fake",
    "sample",
    "redacted",
    "your",
    "insert",
    "replace",
    "todo",
    "xxx",
    "test",
    "foo",
    "bar",
    "baz",
    "demo",
    "mock",
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "secure",
    "token",
    "apikey",
    "key",
    "login",
    "user",
    "admin",
    "root",
    "guest",
    "postgres",
    "mysql",
    "redis",
    "mongo",
    "rabbit",
    "default",
    "localhost",
    "hunter",
    "letmein",
    "qwerty",
    "lorem",
    "hello",
    "world",
    "none",
    "null",
    "undefined",
    "abcd",
    "deadbeef",
    "cafebabe",
    "value",
    "name",
    "string",
    "something",
    "anything",
    "random",
    "invalid",
    "correct",
    "horse",
    "battery",
    "staple",
];

/// The least entropy of a random value, in bits for each character. A value of eight different
/// characters in equal numbers has 3.
const MIN_ENTROPY: f64 = 3.0;

/// Whether a value with an issuer's prefix can be real.
pub(super) fn is_token(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let words: [&[u8]; 10] = [
        b"example",
        b"xxxx",
        b"placeholder",
        b"your",
        b"dummy",
        b"fake",
        b"sample",
        b"redacted",
        b"secret",
        b"token",
    ];
    entropy(value) > MIN_ENTROPY
        && !is_sequence(value)
        && !words.iter().any(|word| memchr::memmem::find(&lower, word).is_some())
}

/// Whether a value that has no prefix is random: letters and digits that alternate more than in
/// words, and no known word.
pub(super) fn is_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let class = |byte: u8| match byte {
        b'0'..=b'9' => Some(0),
        b'a'..=b'z' => Some(1),
        b'A'..=b'Z' => Some(2),
        _ => None,
    };
    let turns = value.windows(2).filter(|pair| match (class(pair[0]), class(pair[1])) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    });
    digits >= 2
        && letters >= 2
        && turns.count() * 4 >= value.len()
        && entropy(value) > MIN_ENTROPY
        && !is_sequence(value)
        && !is_weak(value)
}

/// Whether a value is random and has signs, as the secret key of a web application: letters, digits
/// and signs that alternate.
pub(super) fn is_random_with_signs(value: &[u8]) -> bool {
    // The set of a pattern, an address, a template.
    const OTHERS: [&[u8]; 10] =
        [b"A-Z", b"a-z", b"0-9", b"\\", b"://", b"${", b"{{", b"$(", b"%(", b"</"];
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let count = |is: fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
    let turns = value.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    (32..=200).contains(&value.len())
        && value.iter().all(u8::is_ascii_graphic)
        && count(u8::is_ascii_digit) >= 3
        && count(u8::is_ascii_alphabetic) >= 3
        && count(u8::is_ascii_punctuation) >= 4
        && turns * 5 >= value.len() * 2
        && entropy(value) > 4.0
        && !OTHERS.iter().any(|other| memchr::memmem::find(value, other).is_some())
        && !is_sequence(value)
        && !is_weak(value)
}

/// Whether a password is neither a placeholder nor a word: letters, digits, eight characters.
pub(super) fn is_strong_password(value: &[u8]) -> bool {
    (8..=128).contains(&value.len())
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && entropy(value) >= 2.5
        && !is_sequence(value)
        && !is_weak(value)
}

/// Whether the value is the hash of a file, as in `integrity`, or a UUID: neither is made as a
/// secret.
pub(super) fn is_hash_or_uuid(value: &[u8]) -> bool {
    let hashes: [&[u8]; 3] = [b"sha256-", b"sha384-", b"sha512-"];
    let is_uuid = || {
        let mut bytes = value.iter().enumerate();
        value.len() == 36
            && bytes.all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    hashes.iter().any(|hash| value.starts_with(hash)) || is_uuid()
}

/// Whether the value has two or more runs of at least four letters that are words: written in one
/// case, capitalized or in camel case, with at least three letters each.
pub(super) fn is_words(value: &[u8]) -> bool {
    let runs = value.split(|byte| !byte.is_ascii_alphabetic());
    let are_words = |run: &&[u8]| {
        let is_upper = |byte: &u8| byte.is_ascii_uppercase();
        let mut words = run.chunk_by(|one, other| is_upper(one) || !is_upper(other));
        let is_in_case = |word: &[u8]| word.iter().all(is_upper) || !word[1..].iter().any(is_upper);
        run.len() >= 4 && words.all(|word| word.len() >= 3 && is_in_case(word))
    };
    runs.filter(are_words).take(2).count() == 2
}

/// Whether a known word is in the value, as written or with digits for letters.
fn is_weak(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let letters: Vec<u8> = lower
        .iter()
        .map(|byte| match byte {
            b'0' => b'o',
            b'1' | b'!' => b'i',
            b'3' => b'e',
            b'4' | b'@' => b'a',
            b'5' | b'$' => b's',
            b'7' => b't',
            other => *other,
        })
        .collect();
    // A long random value often has a short word in it.
    let least = if value.len() >= 24 { 5 } else { 3 };
    WEAK.iter().filter(|word| word.len() >= least).any(|word| {
        [&lower, &letters].iter().any(|text| memchr::memmem::find(text, word.as_bytes()).is_some())
    })
}

/// Whether the characters mostly follow each other: `abcdefgh`, `12345678`, `a1b2c3d4`.
fn is_sequence(value: &[u8]) -> bool {
    let follows = |one: u8, other: u8| other.wrapping_sub(one) == 1 || one == other;
    let near = value.windows(2).filter(|pair| follows(pair[0], pair[1])).count();
    let apart = value.windows(3).filter(|three| follows(three[0], three[2])).count();
    near * 2 >= value.len() || apart * 2 >= value.len()
}

/// Shannon's entropy of the characters, in bits for each.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let parts = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    -parts.map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_are_random() {
        for value in
            ["9f86d081884c7d659a2feaa0c55ad015", "x8Kq2LmZ9vRt4NwPc7Yb", "hR7-tV2_kQ9xLw3Z"]
        {
            assert!(is_random(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn a_random_value_may_have_signs() {
        for value in
            ["x8#q2(m9^vrt4$wp=7yb&1zk@3hd_0g*5n!6jc%a", "q3-!7k_d&2@w9(x^5+m8#z1)t4%r6=p0*b$"]
        {
            assert!(is_random_with_signs(value.as_bytes()), "{value}");
        }
        for value in [
            "^[A-Za-z0-9_-]{20,24}\\.[A-Za-z0-9_-]{6,7}$",
            "https://a1.b2.example/c3?d4=e5&f6=g7#h8",
            "{a1}-{b2}-{c3}-{d4}-{e5}-{f6}-{g7}",
            "no-more-than-3-words.or-4;or-5,or-6",
        ] {
            assert!(!is_random_with_signs(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn words_placeholders_and_sequences_are_not() {
        for value in [
            "your-api-key-1234567",
            "abcdefghijklmnop1234567890",
            "a1b2c3d4e5f6g7h8i9j0",
            "us-east-1-prod-cluster-v2",
            "00000000000000000000",
            "kubernetes-dashboard-2",
            "ExampleValue12345678",
            "MyS3cr3tP4ssw0rd99",
        ] {
            assert!(!is_random(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn a_strong_password_is_no_word() {
        for value in ["kX9vQ2mLr8", "zt4-Lqpv7w"] {
            assert!(is_strong_password(value.as_bytes()), "{value}");
        }
        for value in ["password1", "P@ssw0rd12", "s3cr3t99", "12345678", "short1", "hunter2hunter2"]
        {
            assert!(!is_strong_password(value.as_bytes()), "{value}");
        }
    }
}
