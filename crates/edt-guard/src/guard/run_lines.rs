//! What a line that occurs twice in a row is: a call, a command, an element of a page.

/// Whether a line of a page is an element that a page has once: it has an `id`, loads a script or a
/// style by its name, links to a place, or is a choice with a value. Or it is a comment.
pub(super) fn is_single(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let has = |sign: &[u8]| memchr::memmem::find(line, sign).is_some();
    let template = [&b"{{"[..], b"{%", b"<%", b"<?"].iter().any(|sign| has(sign));
    let value = |name: &[u8]| memchr::memmem::find(line, name).map(|at| &line[at + name.len()..]);
    let links = value(b" href=\"").is_some_and(|to| {
        let to = &to[..memchr::memchr(b'"', to).unwrap_or(0)];
        to.len() > 4 && to.iter().any(|byte| b"./#".contains(byte))
    });
    let loads = line.starts_with(b"<script ") && has(b" src=\"");
    if line.starts_with(b"<!--") {
        let letters = line.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        return line.ends_with(b"-->") && letters >= 8;
    }
    let option = value(b"<option value=\"").is_some_and(|value| !value.starts_with(b"\""));
    line.starts_with(b"<") && !template && (loads || links || option || has(b" id=\""))
}

/// Whether repeating a statement has no further effect. A call, an increment or a bare expression
/// may have one. In a shell, `--` begins an option.
pub(super) fn is_idempotent(line: &[u8], shell: bool) -> bool {
    let line = line.trim_ascii();
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    let changes = [
        &b"++"[..],
        b"--",
        b"+=",
        b"-=",
        b"*=",
        b"/=",
        b"|=",
        b"&=",
        b"^=",
        b"<<",
        b">>",
        b"<-",
        b"yield",
        b"await",
        b"next",
    ];
    if changes.iter().any(|word| has(word) && !(shell && *word == b"--")) {
        return false;
    }
    // `x = x.parent` has another effect each time. Repeated includes are a matter of the language's
    // own queries.
    let moves = memchr::memmem::find(line, b" = ")
        .is_some_and(|at| memchr::memmem::find(&line[at + 3..], line[..at].trim_ascii()).is_some());
    if moves || line.starts_with(b"#include") {
        return false;
    }
    // A call may return another value the second time.
    let assigned = memchr::memmem::find(line, b"= ").map_or(&b""[..], |at| &line[at..]);
    let imports = assigned.starts_with(b"= require(");
    if assigned.contains(&b'(') && !imports && !is_unlikely_to_repeat(line) {
        return false;
    }
    !line.starts_with(b"new ") && !is_call(line)
}

/// Whether a line is a call or a bare expression. A call begins with a path and an opening bracket.
/// A bare expression has neither a space nor an assignment.
pub(super) fn is_call(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"go ").unwrap_or(line);
    let path = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:>!*&-@$?\"'".contains(byte);
    let end = line.iter().position(|byte| !path(byte)).unwrap_or(line.len());
    end == line.len() || matches!(line[end], b'(' | b'[' | b';' | b',' | b'{' | b'}')
}

/// Whether a line of a shell is one command: it begins with a word that neither assigns nor begins or
/// ends a compound command.
pub(super) fn is_command(line: &[u8]) -> bool {
    const COMPOUND: [&[u8]; 12] = [
        b"case", b"do", b"done", b"elif", b"else", b"esac", b"fi", b"for", b"if", b"then",
        b"until", b"while",
    ];
    let word = line.trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(byte);
    !word.is_empty() && word.iter().all(named) && !COMPOUND.contains(&word)
}

/// Whether a command of a shell is named after what it asserts: `assertEquals`, `should_exist`.
pub(super) fn asserts(line: &[u8]) -> bool {
    let name = line.trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    [&b"assert"[..], b"expect", b"should", b"verify", b"equal"]
        .iter()
        .any(|word| memchr::memmem::find(&name, word).is_some())
}

/// Whether a command of a shell's test reports a result, which a plan counts: `ok_skip "no a"`,
/// `echo "ok - a"`.
pub(super) fn reports(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let text = line.strip_prefix(b"echo ").or_else(|| line.strip_prefix(b"printf "));
    let text = text.map_or(line, |text| {
        let text = text.trim_ascii_start();
        text.strip_prefix(b"\"").or_else(|| text.strip_prefix(b"'")).unwrap_or(text)
    });
    let name = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let mut words = name.split(|byte| matches!(byte, b'_' | b'-'));
    words.any(|word| matches!(word, b"ok" | b"skip" | b"skipped" | b"pass" | b"fail"))
}

/// Whether a command of a shell has another effect each time: it moves, reads, waits, or prints
/// empty lines.
pub(super) fn advances(line: &[u8]) -> bool {
    const COMMANDS: [&[u8]; 7] = [b"cd", b"popd", b"pushd", b"read", b"shift", b"sleep", b"tput"];
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| COMMANDS.contains(&word))
        || words.any(|word| word == b"..")
        || line.trim_ascii().strip_prefix(b"printf ").is_some_and(|text| {
            text.split(|byte| *byte == b'\\').all(|part| {
                let part = part.strip_prefix(b"n").unwrap_or(part);
                !part.iter().any(u8::is_ascii_alphanumeric)
            })
        })
}

/// Whether a line assigns to a member, which may call a setter.
pub(super) fn sets_a_member(line: &[u8]) -> bool {
    memchr::memmem::find(line, b" = ").is_some_and(|at| line[..at].contains(&b'.'))
}

/// Whether a long call is usually written once: it neither checks a state, as tests do repeatedly,
/// nor advances an iterator.
pub(super) fn is_unlikely_to_repeat(line: &[u8]) -> bool {
    const REPEATABLE: [&str; 17] = [
        "assert", "require", "expect", "check", "equal", "test", "verify", "ok(", "next", "read",
        "++", "--", "+=", "yield", "await", "push", "<-",
    ];
    let line = String::from_utf8_lossy(line).to_lowercase();
    !REPEATABLE.iter().any(|word| line.contains(word))
}
