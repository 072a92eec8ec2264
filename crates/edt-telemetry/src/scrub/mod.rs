//! Redaction before anything is stored: secrets, control characters, and excess length.
//!
//! First private keys are removed, then values identified by names, then tokens that look like
//! secrets. A name is secret if a complete word of it is (`DB_PASSWORD`, `setPassword`,
//! `X-Api-Key`). If a literal follows, it is removed, with all further literals of the statement.
//! If a bare value follows, it is removed unless it looks like code. In a URL everything before the
//! `@` is removed. False positives are acceptable: they only make a span less specific. The time
//! is linear in the length of the text.

mod entropy;
mod marks;
mod names;
mod values;

use edt_types::unseen::is_invisible;
use marks::{CUT, SECRET, head};

/// `text` without secrets and control characters, truncated to about `max_bytes`.
#[must_use]
pub fn scrub(text: &str, max_bytes: usize) -> String {
    // Text far beyond the limit is not examined.
    let near = head(text, max_bytes.saturating_mul(4).max(4096));
    let plain: String = near.chars().filter(|c| !is_hidden(*c)).collect();
    let clean = entropy::without_tokens(&values::without_values(&without_keys(&plain)));
    if clean.len() <= max_bytes && near.len() == text.len() {
        return clean;
    }
    format!("{}{CUT}", head(&clean, max_bytes))
}

/// The arguments of a program without secrets, of at most about `max_bytes` bytes together.
#[must_use]
pub fn scrub_args(args: &[String], max_bytes: usize) -> Vec<String> {
    let names = |arg: &String| {
        arg.starts_with('-') && !arg.contains(['=', ' ']) && names::is_secret_name(arg)
    };
    let before = std::iter::once(None).chain(args.iter().map(Some));
    let plain = args.iter().zip(before).map(|(arg, before)| match before {
        Some(before) if names(before) && !arg.starts_with('-') => SECRET.to_owned(),
        _ => arg.replace('\t', " "),
    });
    scrub(&plain.collect::<Vec<String>>().join("\t"), max_bytes)
        .split('\t')
        .map(str::to_owned)
        .collect()
}

/// Whether `c` is invisible, or changes how other characters are displayed.
fn is_hidden(c: char) -> bool {
    is_invisible(c) && !matches!(c, '\n' | '\t')
}

/// Removes private keys, with PEM armor or as plain lines of base64.
fn without_keys(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("-----BEGIN ") {
        out.push_str(&without_bodies(&rest[..at]));
        out.push_str(SECRET);
        let end = rest[at..].find("-----END ").map_or(rest.len(), |end| {
            let after = at + end + "-----END ".len();
            rest[after..].find("-----").map_or(rest.len(), |dashes| after + dashes + 5)
        });
        rest = &rest[end..];
    }
    out + &without_bodies(rest)
}

/// Removes two or more consecutive long lines of base64, and a shorter one after them.
fn without_bodies(text: &str) -> String {
    let body = |line: &str| -> Option<usize> {
        let line = line.trim_matches(|c: char| c.is_whitespace() || "\"',;\\>#".contains(c));
        let line = line.strip_suffix("\\n").unwrap_or(line);
        let is_body = !line.is_empty()
            && line.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
        is_body.then_some(line.len())
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while at < lines.len() {
        let long =
            lines[at..].iter().take_while(|line| body(line).is_some_and(|len| len >= 60)).count();
        let run: String = lines[at..at + long].concat();
        let mixed = [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase];
        if long >= 2 && mixed.iter().all(|is| run.bytes().any(|b| is(&b))) {
            let rest = usize::from(lines.get(at + long).is_some_and(|line| body(line).is_some()));
            out.push_str(SECRET);
            out.push_str(if lines[at + long + rest - 1].ends_with('\n') { "\n" } else { "" });
            at += long + rest;
        } else {
            out.push_str(&run);
            out.push_str(lines.get(at + long).copied().unwrap_or_default());
            at += long + 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A private key without its PEM armor.
    const BODY: &str = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\n\
        C3Ia5HyPcNQCYp3Gr8Q9fCjK8v1aDzFHd1YQxkq3V3Ff1oH2lOYv7hD1uVbQw9tE\nAoGBAK==\nrest";

    #[test]
    fn secrets_are_removed() {
        for (text, gone) in [
            ("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
            ("key=ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abc"),
            ("curl -H 'Authorization: Bearer abc123def456'", "abc123def456"),
            ("curl -H \"Authorization: Basic dXNlcjpwYXNz\"", "dXNlcjpwYXNz"),
            ("export OPENAI_API_KEY=sk-proj-Abc123Def456Ghi", "sk-proj"),
            ("PASSWORD=hunter2", "hunter2"),
            ("password: \"correct horse\"", "correct"),
            ("{\"token\": \"abc\"}", "abc"),
            ("db_password='s3cr3t!'", "s3cr3t!"),
            ("postgres://admin:s3cr3t@db/app", "s3cr3t"),
            ("https://user:pa55word@example.org/x", "pa55word"),
            ("slack = xoxb-1234-5678-abcdEFGH", "xoxb-1234"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "b3BlbnNz"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "eyJhbGci"),
            ("x = \"wJalrXUtnFEMI7K3MDENGbPxRfiCY9EXAMPLEKEY\"", "wJalrXUtnFEMI7K3"),
            ("x = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "9f86d081"),
            ("client_secret = 9f86d081884c7d659a2feaa0c55ad015", "9f86d081"),
            ("token: 9f86d081-884c-4d65-9a2f-eaa0c55ad015", "9f86d081"),
            ("stripe sk_live_4eC39HqLyjWDarj", "sk_live_4e"),
            ("Cookie: session=abc123", "abc123"),
            ("pwd=hunter2x", "hunter2x"),
            ("pass = \"hunter\"", "hunter"),
            ("export MYSQL_PWD=hunter", "hunter"),
            ("X-Api-Key: abcdefabcdef", "abcdef"),
            ("curl -H \"X-Api-Key: abcdefabcdef\" h", "abcdef"),
            ("encryption_key = \"abcdefghijklmnopqrstuvwxyzabcdefghijklmn\"", "abcdef"),
            ("encryptionKey: 'abcdefghijklmnopqrstuvwxyz'", "abcdef"),
            ("mysql -u root -phunter2x", "hunter"),
            ("curl -u admin:hunter2x https://h", "hunter"),
            ("curl --user=admin:hunter2x", "hunter"),
            ("app --password hunter", "hunter"),
            ("redis://:pw@h", "pw"),
            ("https://first.last:pw@h", "pw"),
            ("mongodb+srv://us.er:pw@h", "pw"),
            ("amqp://u:p/w@h/x", "p/w"),
            ("#define DB_PASSWORD \"hunter2x\"", "hunter"),
            ("const PASSWORD: &str = \"hunter2x\";", "hunter"),
            ("static std::string dbPassword{}; x.setPassword(\"hunter2x\")", "hunter"),
            ("const password = \"a\" + \"hunter2x\"", "hunter"),
            ("password = prefix + \"hunter2x\"", "hunter"),
            ("password: \"correct horse battery staple\"", "staple"),
            ("{\"password\": \"a\\\"b staple\", \"user\": 1}", "staple"),
            ("{\\\"password\\\": \\\"correct staple\\\"}", "staple"),
            ("password='ab(c)d1;e2'", "e2"),
            ("password=ab(c)d1", "d1"),
            ("hunter\"; password = \"staple\";", "staple"),
            ("\"password=\" + \"hunter2x\"", "hunter"),
            ("password: |\n  pw one\n  two\nuser: jane", "pw one"),
            ("password: >-\n  pw one\n  two", "two"),
            ("\"password\":\n \"pw1\"", "pw1"),
            ("const PASSWORD =\n    \"hunter2x\";", "hunter"),
            ("password = \"\"\"\nhunter\n\"\"\"", "hunter"),
            ("passphrase: correct horse battery staple", "staple"),
            ("<password>hunter</password>", "hunter"),
            ("db['password'] = 'hunter'", "hunter"),
            (BODY, "MIIEpAIBAAKCAQEA"),
        ] {
            let clean = scrub(text, 400);
            assert!(!clean.contains(gone) && clean.contains(SECRET), "{text:?} -> {clean:?}");
        }
    }

    #[test]
    fn code_is_unchanged() {
        for text in [
            "int calculate_the_sum_of_all_numbers(int a, int b) {\n\treturn a + b;\n}",
            "let token = next_token(&mut lexer);",
            "for (size_t i = 0; i < count; i++) total += values[i];",
            "use edt_core::session::history::Commit;",
            "let token = previous;\nfor token in tokens {}",
            "if (token==null)",
            "login(user, token=token)",
            "password=password",
            "max_tokens=1024",
            "tokenizer=AutoTokenizer",
            "use_credentials=true",
            "Secretary: \"Jane\"",
            "fn login<'a>(user: &'a str, password: &'a str, token: Token<'a>) -> bool {",
            "password: String,\n    token: Option<String>,",
            "case TOKEN_IF: parse_if(x1); break;",
            "unexpected token '}'",
            "println!(\"token: {}\", name(\"x y z\"));",
            "self.token = lexer.next();\npassword = req.body.password",
            "https://host:8080/path",
            "https://host/@someone",
            "docker run -u 1000:1000 image",
            "id 123e4567-e89b-12d3-a456-426614174000",
            "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "sha: \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\"",
            "https://example.org/o/r/blob/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/a.rs",
            "PASSWORD=$PASSWORD",
            "const MAXIMUM_NUMBER_OF_CONNECTIONS: usize = 1024;",
            "printf(\"%d items of %s\\n\", count, name);",
            "if secret { hide(); }",
            "https://example.org/docs/api/v2/reference.html",
            "assertEquals(expectedValueOfTheField, actual);",
            "\u{fc}ber Stra\u{df}e \u{2014} na\u{ef}ve",
        ] {
            assert_eq!(scrub(text, 400), text);
        }
    }

    #[test]
    fn invisible_characters_are_removed_and_long_text_is_cut_between_characters() {
        assert_eq!(scrub("a\u{1b}[31mb\u{202e}c\r\n\tx", 400), "a[31mbc\n\tx");
        assert_eq!(scrub("\u{fc}\u{fc}\u{fc}", 3), format!("\u{fc}{CUT}"));
        assert_eq!(scrub("short", 5), "short");
        let long = format!("{} password=hunter2", "word ".repeat(3000));
        let cut = scrub(&long, 100);
        assert!(cut.len() <= 100 + CUT.len() && cut.ends_with(CUT) && !cut.contains("hunter2"));
    }

    #[test]
    fn secrets_are_removed_before_truncation() {
        let text = format!("{}AKIAIOSFODNN7EXAMPLE", "x ".repeat(45));
        assert!(!scrub(&text, 100).contains("AKIA"));
    }

    #[test]
    fn text_around_a_secret_is_unchanged() {
        for (text, clean) in [
            (
                "{\"token\": \"abc\", \"user\": \"Jane\"}",
                "{\"token\": \"[secret]\", \"user\": \"Jane\"}",
            ),
            ("postgres://admin:s3cr3t@db/app?x=1", "postgres://[secret]@db/app?x=1"),
            ("password: |\n  one\n  two\nuser: jane", "password: |\n  [secret]\nuser: jane"),
            ("const PASSWORD: &str = \"hunter2x\";", "const PASSWORD: &str = \"[secret]\";"),
            (
                "x.setPassword(\"hunter2x\");\nx.name(\"Jane\")",
                "x.setPassword(\"[secret]\");\nx.name(\"Jane\")",
            ),
            (BODY, "[secret]\nrest"),
        ] {
            assert_eq!(scrub(text, 400), clean);
        }
    }

    #[test]
    fn arguments_are_scrubbed_together() {
        let clean = |args: &[&str]| {
            scrub_args(&args.iter().map(ToString::to_string).collect::<Vec<_>>(), 400)
        };
        assert_eq!(clean(&["edt", "run", "--", "echo", "--password", "hunter3z"])[5], SECRET);
        assert_eq!(
            clean(&["x", "--password", "correct horse", "y"]),
            ["x", "--password", SECRET, "y"]
        );
        assert_eq!(clean(&["mysql", "-phunter"]), ["mysql", "-p[secret]"]);
        assert_eq!(
            clean(&["apply", "a b.c", "--content", "x\ty"]),
            ["apply", "a b.c", "--content", "x y"]
        );
    }

    #[test]
    fn malformed_text_is_handled() {
        let parts = [
            "token", "-p", "mysql", "-u", ":", "=", " ", "\"", "'", "`", "\\", "\n", "(", ")",
            "://", "@", "|", "\u{fc}", "x1", "Bearer ", ",",
        ];
        let two: Vec<String> =
            parts.iter().flat_map(|a| parts.iter().map(move |b| format!("{a}{b}"))).collect();
        for (a, b) in two.iter().flat_map(|a| parts.iter().map(move |b| (a, b))) {
            let clean = scrub(&format!("token{a}{b}"), 400);
            assert!(
                clean.starts_with("token") || clean.starts_with(SECRET),
                "{a:?} {b:?} -> {clean:?}"
            );
        }
    }

    #[test]
    fn the_time_is_linear_in_the_length() {
        for unit in [
            "token=",
            "token:",
            "password \"",
            "://a@",
            "-u=",
            "\"token\":\"",
            "(token=[",
            "PASSWORD: |\n",
            "-----BEGIN ",
            "A1a",
        ] {
            let timed = |times: usize| {
                let text = unit.repeat(times);
                let began = edt_io::clock::now();
                let _ = scrub(&text, text.len());
                began.elapsed().as_secs_f64()
            };
            let (short, long) = (timed(2_000).max(0.002), timed(32_000));
            assert!(long < short * 200.0, "{unit:?}: {short} s, {long} s");
        }
    }
}
