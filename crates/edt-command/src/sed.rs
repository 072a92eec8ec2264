//! Scripts of `sed` and `awk`: whether they can run programs or write files.

/// Whether a `sed` script only prints, deletes and replaces.
pub(super) fn sed_is_plain(script: &str) -> bool {
    let mut rest: Vec<char> = script.chars().rev().collect();
    loop {
        while rest.last().is_some_and(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')) {
            rest.pop();
        }
        if rest.is_empty() {
            return true;
        }
        if !address(&mut rest) {
            return false;
        }
        while rest.last().is_some_and(|c| c.is_whitespace() || *c == '!') {
            rest.pop();
        }
        match rest.pop() {
            Some('{' | '}') => continue,
            Some(':' | 'b' | 't' | 'T') => {
                while rest.last().is_some_and(|c| c.is_whitespace() && *c != '\n') {
                    rest.pop();
                }
                // Implementations differ in where a label ends, so nothing may follow it.
                while rest.last().is_some_and(|c| !c.is_whitespace() && !matches!(c, ';' | '}')) {
                    rest.pop();
                }
            }
            Some(
                'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x'
                | 'l',
            ) => {}
            // The rest of the line is text, and so are the lines after a backslash at its end.
            Some('a' | 'i' | 'c') => {
                let (mut escaped, mut has_text) = (false, false);
                while let Some(c) = rest.pop().filter(|c| *c != '\n' || escaped) {
                    has_text |= !c.is_whitespace() && c != '\\';
                    escaped = c == '\\' && !escaped;
                }
                if !has_text {
                    return false;
                }
                continue;
            }
            // The rest of the line is a file that is read.
            Some('r' | 'R') => {
                while rest.pop().is_some_and(|c| c != '\n') {}
                continue;
            }
            Some('s') => {
                let Some(by) = rest.pop().filter(|by| *by != '\n' && *by != '\\') else {
                    return false;
                };
                if !(until(&mut rest, by) && until(&mut rest, by)) {
                    return false;
                }
                while rest.last().is_some_and(|c| c.is_ascii_digit() || "gpIiMm".contains(*c)) {
                    rest.pop();
                }
            }
            Some('y') => {
                let Some(by) = rest.pop() else { return false };
                if !(until(&mut rest, by) && until(&mut rest, by)) {
                    return false;
                }
            }
            _ => return false,
        }
        while rest.last().is_some_and(|c| matches!(c, ' ' | '\t')) {
            rest.pop();
        }
        if rest.last().is_some_and(|c| !matches!(c, ';' | '}' | '{' | '\n' | '#')) {
            return false;
        }
    }
}

/// Consumes an optional address.
fn address(rest: &mut Vec<char>) -> bool {
    loop {
        match rest.last() {
            Some('/') => {
                rest.pop();
                if !until(rest, '/') {
                    return false;
                }
                while rest.last().is_some_and(|c| "IM".contains(*c)) {
                    rest.pop();
                }
            }
            Some('\\') => {
                rest.pop();
                let Some(by) = rest.pop() else { return false };
                if !until(rest, by) {
                    return false;
                }
            }
            Some(c) if c.is_ascii_digit() || "$,~+".contains(*c) => {
                rest.pop();
            }
            _ => return true,
        }
    }
}

/// Consumes everything up to and including `by`.
fn until(rest: &mut Vec<char>, by: char) -> bool {
    while let Some(c) = rest.pop() {
        if c == '\\' {
            rest.pop();
        } else if c == by {
            return true;
        }
    }
    false
}

/// Whether an `awk` program runs nothing and writes only to standard output.
pub(super) fn awk_is_plain(program: &str) -> bool {
    let suspicious =
        ["system", "getline", "|&", "@", "close", "ENVIRON", "PROCINFO", "extension", "fflush"];
    let pipes = program.replace("||", "");
    !suspicious.iter().any(|one| program.contains(one)) && !pipes.contains('|') && !writes(program)
}

/// Whether it may contain `print > file`: a `>` after a `print`, outside parentheses and strings.
fn writes(program: &str) -> bool {
    let Some(at) = program.find("print") else { return false };
    // A quote may be part of a regular expression or comment. Strings are then not recognized.
    let texts = !program.contains(['/', '#']);
    let (mut depth, mut text, mut escaped) = (0, false, false);
    for (place, c) in program.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if text => escaped = true,
            '"' if texts => text = !text,
            _ if text => {}
            '(' => depth += 1,
            ')' => depth -= 1,
            '>' if place > at && (depth < 1 || !texts) => return true,
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sed_script_that_runs_or_writes_is_not_plain() {
        for plain in [
            "1,5p",
            "r /etc/passwd",
            "1a\\  text",
            "\\,x,d",
            "$d",
            "/a/d",
            "s/a/b/g",
            "s|a|b|;s,c,d,gI",
            "/x/,/y/p",
            "1q",
            "10,20{p;d}",
            "/a\\/b/!d",
            "s/a\\/b/e/",
            "5i hello",
            "/x/a b e\np",
            ":a;N;$!ba;s/x/y/",
            "",
        ] {
            assert!(sed_is_plain(plain), "{plain}");
        }
        for suspicious in [
            "e",
            "1e ls",
            "s/a/b/e",
            "s/a/b/w x",
            "w x",
            "s/a/b/ge",
            "s/a/",
            "1,5W x",
            "a text\\\ns/x/y\ne id\n/",
            "a\\",
            "5i x\ne id",
            "s/a/b/;e id",
            "p e",
            ":a e id",
            "ba e id",
            ":a w x",
        ] {
            assert!(!sed_is_plain(suspicious), "{suspicious}");
        }
    }

    #[test]
    fn an_awk_program_that_runs_or_writes_is_not_plain() {
        for plain in [
            "{print $1}",
            "$1 > 3 || /x/ {n++} END {print n}",
            "{if ($1 > 3) print $1}",
            "{print $1 \" > \" $2}",
            "NR>=5 && NR<=9",
        ] {
            assert!(awk_is_plain(plain), "{plain}");
        }
        for suspicious in [
            "BEGIN{system(\"id\")}",
            "{print > \"x\"}",
            "{print | \"sh\"}",
            "{\"id\" | getline}",
            "@load \"x\"",
            "BEGIN{print \"};\" > \"x\"}",
            "{printf \"%s;\", $0 > \"x\"}",
            "BEGIN{print /;/ >> \"x\"}",
            "BEGIN{print 1,\n2 > \"x\"}",
        ] {
            assert!(!awk_is_plain(suspicious), "{suspicious}");
        }
    }
}
