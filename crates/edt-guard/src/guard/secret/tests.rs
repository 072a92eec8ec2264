use super::*;
use edt_types::RepoPath;

/// What the guard finds in a new file, as its first finding's kind.
fn found(path: &str, text: &str) -> Option<CredentialKind> {
    let path = RepoPath::parse(path.as_bytes()).unwrap();
    let limit = std::time::Duration::from_secs(1);
    let subject = Subject::new(&path, None, None, Some(text.as_bytes()), Vec::new(), limit);
    detect(&subject).0.into_iter().next().map(|one| one.kind)
}

/// A body that looks random, of `length` characters of an alphabet, made here so that no scanner of
/// this repository takes it for a credential.
fn random(alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        letters[usize::try_from(state % letters.len() as u64).unwrap()]
    };
    (0..length).map(|_| next()).collect()
}

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn base62(length: usize) -> String {
    random(BASE62, length)
}

fn private_key() -> String {
    let body = base62(64);
    format!("-----BEGIN {} KEY-----\n{body}\n{body}\n-----END", "RSA PRIVATE")
}

#[test]
fn a_token_of_every_issuer_is_found() {
    use edt_types::credential::{Alphabet, TOKEN_KINDS};
    for kind in TOKEN_KINDS.iter().filter(|kind| kind.prefix != "eyJ") {
        let alphabet = match kind.alphabet {
            Alphabet::Hex => HEX,
            Alphabet::Base32 => BASE32,
            _ => BASE62,
        };
        let token = format!("{}{}", kind.prefix, random(alphabet, kind.length.0));
        let expected = CredentialKind::Token { issuer: kind.issuer, prefix: kind.prefix };
        for text in [format!("x = \"{token}\"\n"), format!("use {token}.\n"), token.clone()] {
            assert_eq!(found("a.py", &text), Some(expected.clone()), "{text}");
        }
        let short = &token[..kind.prefix.len() + kind.length.0.min(20) - 1];
        assert_eq!(found("a.md", short), None, "{short}");
    }
}

#[test]
fn a_web_token_has_three_parts() {
    let part = |length| base62(length);
    let token = format!("eyJ{}.eyJ{}.{}", part(30), part(40), part(43));
    assert!(found("a.py", &format!("t = '{token}'")).is_some());
    assert_eq!(found("a.py", &format!("t = 'eyJ{}'", part(90))), None);
}

#[test]
fn a_private_key_needs_its_text() {
    assert_eq!(found("key.pem", &private_key()), Some(CredentialKind::PrivateKey));
    let escaped = private_key().replace('\n', "\\n");
    assert_eq!(
        found("a.json", &format!("{{\"k\": \"{escaped}\"}}")),
        Some(CredentialKind::PrivateKey)
    );
    assert_eq!(found("a.py", "if line == '-----BEGIN RSA PRIVATE KEY-----':\n    pass\n"), None);
    assert_eq!(found("a.pem", &private_key().replace("PRIVATE", "PUBLIC")), None);
}

#[test]
fn the_secret_of_an_access_key_is_found_next_to_it() {
    let id = format!("AKIA{}EXAMPLE", &random(BASE32, 9));
    let secret = base62(40);
    let text = format!("client(\n    '{id}',\n    '{secret}',\n)\n");
    assert_eq!(found("a.py", &text), Some(CredentialKind::AmazonSecret));
    assert_eq!(found("a.py", &format!("client('{secret}')\n")), None);
}

#[test]
fn a_password_in_an_address_is_found() {
    let password = "kX9vQ2mLr8zT";
    let text = format!("url = 'postgres://app:{password}@db.example.com/app'\n");
    let scheme = "postgres".to_owned();
    assert_eq!(found("a.py", &text), Some(CredentialKind::Address { scheme }));
}

#[test]
fn a_random_value_of_a_secret_name_is_found() {
    let (value, hex) = (base62(24), random(HEX, 32));
    for (path, text) in [
        ("a.py", format!("API_KEY = \"{value}\"")),
        ("a.py", format!("client(api_key='{hex}')")),
        ("a.rs", format!("const API_KEY: &str = \"{value}\";")),
        ("a.ts", format!("const config = {{ clientSecret: '{value}' }};")),
        ("a.json", format!("{{\"auth-token\": \"{value}\"}}")),
        ("a.go", format!("secretKey := \"{value}\"")),
        ("a.rb", format!(":api_key => '{value}'")),
        ("a.yml", format!("  api_key: {value}")),
        (".env", format!("export STRIPE_SECRET_KEY={value}")),
        ("app.properties", format!("db.password = {value}")),
        ("a.py", format!("# don't\nx = f(\"it's\"); token = '{value}'")),
    ] {
        assert!(matches!(found(path, &text), Some(CredentialKind::Assigned { .. })), "{text}");
    }
}

#[test]
fn a_secret_key_may_have_signs() {
    let key = random("abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)", 50);
    for text in [
        format!("SECRET_KEY = '{key}'"),
        format!("SECRET_KEY = 'django-insecure-{key}'"),
        format!("{{\"session_secret\": \"{key}\"}}"),
    ] {
        assert!(matches!(found("a.py", &text), Some(CredentialKind::Assigned { .. })), "{text}");
    }
    assert_eq!(found("a.py", &format!("ALPHABET = '{key}'")), None);
}

#[test]
fn a_sentence_is_no_assignment() {
    let password = "kX9v-mLr8zT!";
    let said = format!("The initial password: {password}\n");
    assert_eq!(found("a.md", &said), None);
    assert!(found("app.properties", &said.replace("The initial ", "db.")).is_some());
}

#[test]
fn placeholders_names_and_code_are_no_credentials() {
    let value = base62(24);
    for (path, text) in [
        ("a.py", "API_KEY = \"your-api-key-goes-here\"".to_owned()),
        ("a.py", "API_KEY = \"xxxxxxxxxxxxxxxxxxxxxxxx\"".to_owned()),
        ("a.py", "api_key = \"abcdefghijklmnop12345678\"".to_owned()),
        ("a.py", "password = \"changeme\"".to_owned()),
        ("a.py", "password = os.environ[\"DB_PASSWORD_2024_PROD\"]".to_owned()),
        ("a.py", "password = \"correct horse battery staple\"".to_owned()),
        ("a.py", format!("if token == \"{value}\": pass")),
        ("a.py", format!("checksum = \"{value}\"")),
        ("a.py", format!("next_token = \"{value}\"")),
        ("a.py", format!("password = {value}")),
        (".env", "API_KEY=${API_KEY}".to_owned()),
        (".env", "API_KEY=<token>".to_owned()),
        ("a.yml", "token: ${{ secrets.GITHUB_TOKEN }}".to_owned()),
        ("a.sh", "git clone https://user:$TOKEN@example.com/x".to_owned()),
        ("a.sh", "git clone https://user:password@example.com/x".to_owned()),
        ("a.py", "redis://:password123@localhost:6379".to_owned()),
        ("a.py", "'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'".to_owned()),
        ("a.py", "'AKIAIOSFODNN7EXAMPLE'".to_owned()),
        ("a.py", "'ghp_abcdefghijklmnopqrstuvwxyz0123456789'".to_owned()),
        ("a.c", "case TOKEN_KEY: return TOKEN_SECRET_KEY_2_X9;".to_owned()),
        ("a.lock", format!("checksum: {value}")),
    ] {
        assert_eq!(found(path, &text), None, "{text}");
    }
}

#[test]
fn hashes_identifiers_and_words_are_no_credentials() {
    let (hex, base64) = (random(HEX, 128), random(BASE62, 86));
    for (path, text) in [
        ("a.py", "label_password = \"Enter8-digit-Code\"".to_owned()),
        ("a.json", "{\"old_password\": \"Contrasena-anterior1\"}".to_owned()),
        ("a.html", "<input password=\"Ctrl00_txtPwz9x\">".to_owned()),
        ("a.ts", format!("const token = \"sha512-{hex}\"")),
        ("a.ts", format!("const token = \"sha512-{base64}==\"")),
        ("a.ts", format!("const token = \"sha384-{}\"", &base64[..64])),
        ("a.yml", format!("token: sha256-{}=", &base64[..43])),
        ("a.py", "csrf_secret_token = \"7d1f0c9e-52ab-4e8d-9c3b-1fa26be04d75\"".to_owned()),
    ] {
        assert_eq!(found(path, &text), None, "{text}");
    }
}

#[test]
fn what_only_resembles_a_hash_or_an_identifier_is_found() {
    for value in [
        format!("sha512x{}", base62(24)),
        "7d1f0c9e-52ab-4e8d-9c3b-1fa26be04d75a".to_owned(),
        "7d1f0c9e52ab4e8d9c3b1fa26be04d75".to_owned(),
    ] {
        assert!(found("a.py", &format!("token = \"{value}\"")).is_some(), "{value}");
    }
}

#[test]
fn random_passwords_are_rarely_taken_for_words() {
    let all = random(&format!("{BASE62}-_!%@"), 12 * 1000);
    let passwords = (0..1000).map(|at| &all[at * 12..(at + 1) * 12]);
    let missed = { passwords }
        .filter(|value| strength::is_strong_password(value.as_bytes()))
        .filter(|value| found("a.py", &format!("password = \"{value}\"")).is_none());
    assert!(missed.count() < 10);
}

#[test]
fn only_added_lines_count() {
    let line = format!("API_KEY = \"{}\"\n", base62(24));
    let path = RepoPath::parse(b"a.py").unwrap();
    let (before, after) = (format!("{line}x = 1\n"), format!("{line}x = 2\n"));
    let limit = std::time::Duration::from_secs(1);
    let texts = (Some(before.as_bytes()), Some(after.as_bytes()));
    let subject = Subject::new(&path, None, texts.0, texts.1, Vec::new(), limit);
    assert_eq!(detect(&subject), (Vec::new(), None));
}

#[test]
fn the_message_never_has_the_credential() {
    let path = RepoPath::parse(b"a.py").unwrap();
    let limit = std::time::Duration::from_secs(1);
    let secrets =
        [base62(24), format!("ghp_{}", base62(36)), "kX9vQ2mLr8zT".to_owned(), private_key()];
    let [value, token, password, key] = &secrets;
    for text in [
        format!("api_key = '{value}'\n"),
        format!("x = '{token}'\n"),
        format!("x = 'amqp://me:{password}@example.com'\n"),
        key.clone(),
    ] {
        let subject = Subject::new(&path, None, None, Some(text.as_bytes()), Vec::new(), limit);
        let finding = explain(&subject, &detect(&subject).0).unwrap();
        let said = format!("{finding:?}");
        let parts = secrets.iter().flat_map(|secret| secret.lines()).filter(|part| part.len() < 70);
        for part in parts.filter(|part| !part.starts_with("-----")) {
            assert!(!said.contains(&part[part.len() - 8..]), "{said}");
        }
        assert_eq!((finding.code, finding.allow), (Code::Secret, Some("secret")));
    }
}

#[test]
fn a_very_long_text_is_searched_up_to_a_limit_and_says_so() {
    let line = format!("{}\n", "x ".repeat(500));
    let text = line.repeat(MAX_BYTES / line.len() + 2);
    let path = RepoPath::parse(b"a.txt").unwrap();
    let limit = std::time::Duration::from_secs(1);
    let subject = Subject::new(&path, None, None, Some(text.as_bytes()), Vec::new(), limit);
    assert_eq!(detect(&subject).1, Some(MAX_BYTES / line.len()));
}

#[test]
fn the_time_is_linear_in_the_length() {
    for unit in ["eyJ.", "://a:", "api_key=\"", "AKIA", "-----BEGIN ", "a1B2", "'x=", "ghp_"] {
        let timed = |times: usize| {
            let text = unit.repeat(times);
            let began = edt_io::clock::now();
            let _ = found("a.txt", &text);
            began.elapsed().as_secs_f64()
        };
        let (short, long) = (timed(2_000).max(0.002), timed(32_000));
        assert!(long < short * 200.0, "{unit:?}: {short} s, {long} s");
    }
}
