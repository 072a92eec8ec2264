//! Lines that begin a test, skip one, or assert something.

/// Whether a line begins a test in the language.
pub(super) fn begins_test(language: &str, line: &[u8]) -> bool {
    let begins: &[&str] = match language {
        "python" => &["def test", "async def test"],
        "go" => &["func Test", "func Fuzz"],
        "rust" => &["#[test]", "#[rstest", "#[test_case", "#[wasm_bindgen_test"],
        _ if is_ecma(language) => &["it(", "test(", "xit(", "fit(", "specify(", "Deno.test("],
        "java" => &["@Test", "@ParameterizedTest", "public void test"],
        "c" | "cpp" => &["TEST(", "TEST_F(", "TEST_P(", "TEST_CASE(", "TYPED_TEST(", "SCENARIO("],
        _ => return false,
    };
    let line = line.trim_ascii_start();
    // A crate has its own attribute: `#[tokio::test]`.
    let is_scoped = || {
        let name = line.strip_prefix(b"#[").unwrap_or_default();
        let end = name.iter().position(|byte| b"(]".contains(byte)).unwrap_or_default();
        name[..end].ends_with(b"::test")
    };
    if language == "rust" && is_scoped() || is_ecma(language) && is_member_test(line) {
        return true;
    }
    let word = line.strip_prefix(b"@Test").and_then(<[u8]>::first);
    let member = line.strip_prefix(b"it.").or_else(|| line.strip_prefix(b"test."));
    if is_ecma(language) && member.is_some_and(is_way_to_test) {
        return true;
    }
    !word.is_some_and(u8::is_ascii_alphanumeric)
        && begins.iter().any(|word| line.starts_with(word.as_bytes()))
}

fn is_ecma(language: &str) -> bool {
    matches!(language, "javascript" | "typescript" | "tsx")
}

/// Whether a member of `test` defines one: `only(`, and neither `check(` nor `count += 1`.
fn is_way_to_test(member: &[u8]) -> bool {
    const WAYS: [&str; 15] = [
        "only",
        "skip",
        "each",
        "for",
        "concurrent",
        "sequential",
        "serial",
        "failing",
        "fails",
        "fail",
        "fixme",
        "slow",
        "todo",
        "runIf",
        "skipIf",
    ];
    WAYS.iter().any(|way| {
        let rest = member.strip_prefix(way.as_bytes()).and_then(<[u8]>::first);
        rest.is_some_and(|byte| b"(.`<".contains(byte))
    })
}

/// Whether a line begins a test of a framework by its name: `QUnit.test("a"`, `await t.test("a"`.
fn is_member_test(line: &[u8]) -> bool {
    let call = line.strip_prefix(b"await ").unwrap_or(line);
    let name = call.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let title = call[name..].strip_prefix(b".test(").and_then(<[u8]>::first);
    name > 0 && title.is_some_and(|byte| QUOTES.contains(byte))
}

const QUOTES: [u8; 3] = *b"'\"`";

/// The first string of a line of code.
pub(super) fn title(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let comment = [&b"//"[..], b"/*", b"*", b"#"].iter().any(|mark| line.starts_with(mark));
    let open = line.iter().position(|byte| QUOTES.contains(byte)).filter(|_| !comment)?;
    let inside = &line[open + 1..];
    Some(&inside[..inside.iter().position(|byte| *byte == line[open])?])
}

/// Whether a line begins a test whose title is computed, as in a loop: `it("a " + b, …)`.
fn has_computed_title(language: &str, line: &[u8]) -> bool {
    if !is_ecma(language) || !begins_test(language, line) {
        return false;
    }
    let open = memchr::memchr(b'(', line).map_or(line.len(), |open| open + 1);
    let rest = &line[open..];
    let has = |sign: &[u8]| memchr::memmem::find(rest, sign).is_some();
    match (rest.first(), title(rest)) {
        (Some(b'`'), _) => has(b"${"),
        (Some(b'\'' | b'"'), Some(title)) => {
            rest[title.len() + 2..].trim_ascii_start().starts_with(b"+")
        }
        (first, _) => first.is_some_and(u8::is_ascii_alphabetic) && has(b","),
    }
}

/// How many tests the lines begin. A test of `JUnit` has an annotation, a name, or both.
pub(super) fn number_of_tests(language: &str, lines: &[&[u8]]) -> usize {
    let count = |is: &dyn Fn(&[u8]) -> bool| {
        lines.iter().filter(|line| begins_test(language, line) && is(line)).count()
    };
    let annotated = |line: &[u8]| line.trim_ascii_start().starts_with(b"@");
    if language == "java" {
        count(&annotated).max(count(&|line| !annotated(line)))
    } else {
        count(&|_| true)
    }
}

/// Whether a line lets a test run with several values.
pub(super) fn repeats_test(language: &str, line: &[u8]) -> bool {
    let signs: &[&str] = match language {
        "python" => &["parametrize", "parameterized", ".subTest("],
        "go" => &["t.Run(", "[]struct"],
        "rust" => &["#[case", "#[test_case", "#[values", "#[rstest"],
        "javascript" | "typescript" | "tsx" => &["it.each", "test.each", "describe.each"],
        "java" => &["@ParameterizedTest", "@MethodSource", "@CsvSource", "@ValueSource"],
        "c" | "cpp" => &["TEST_P(", "INSTANTIATE_TEST"],
        _ => &[],
    };
    signs.iter().any(|sign| memchr::memmem::find(line, sign.as_bytes()).is_some())
        || has_computed_title(language, line)
}

/// Where a line skips a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// Before the test: an attribute or a decorator.
    Above,
    /// In the line that begins the test.
    Within,
    /// In the test's body.
    Below,
}

/// How a line skips a test, if it does.
pub(super) fn skips(language: &str, line: &[u8]) -> Option<Skip> {
    let line = line.trim_ascii();
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word.as_bytes()));
    match language {
        "python"
            if begins(&["@pytest.mark.skip", "@unittest.skip", "@pytest.mark.xfail", "@skip("]) =>
        {
            Some(Skip::Above)
        }
        "python" if begins(&["pytest.skip(", "self.skipTest("]) => Some(Skip::Below),
        "go" if begins(&["t.Skip(", "t.SkipNow(", "t.Skipf("]) => Some(Skip::Below),
        "rust" if begins(&["#[ignore"]) => Some(Skip::Above),
        "javascript" | "typescript" | "tsx" => {
            let words = [
                "it.skip(",
                "test.skip(",
                "describe.skip(",
                "xit(",
                "xtest(",
                "xdescribe(",
                "it.todo(",
                "test.todo(",
            ];
            begins(&words).then_some(Skip::Within)
        }
        "java" if begins(&["@Ignore", "@Disabled"]) => Some(Skip::Above),
        "c" | "cpp" if begins(&["GTEST_SKIP("]) => Some(Skip::Below),
        "c" | "cpp" if begins_test(language, line) => {
            memchr::memmem::find(line, b"DISABLED_").map(|_| Skip::Within)
        }
        _ => None,
    }
}

/// Whether a line asserts something.
pub(super) fn asserts(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let begins = [
        "assert",
        "self.assert",
        "expect(",
        "EXPECT_",
        "ASSERT_",
        "t.Error",
        "t.Fatal",
        "require.",
        "debug_assert",
        "should.",
        "CHECK(",
        "REQUIRE(",
        "Assert.",
        "with pytest.raises",
    ];
    begins.iter().any(|word| line.starts_with(word.as_bytes()))
}

/// Whether a line asserts what is always true.
pub(super) fn asserts_nothing(line: &[u8]) -> bool {
    let text: Vec<u8> = line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let text = text.trim_end_matches(';');
    let code = text.split('#').next().unwrap_or(text);
    let always = [
        "asserttrue",
        "assert1",
        "assertnotfalse",
        "assert!(true)",
        "self.asserttrue(true)",
        "asserttrue(true)",
        "expect(true).tobe(true)",
        "expect(true).tobetruthy()",
        "expect(1).tobe(1)",
        "expect_true(true)",
        "assert_true(true)",
        "assert.ok(true)",
        "assert(true)",
        "assert.true(t,true)",
        "require.true(t,true)",
        "assert(1)",
    ];
    always.contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_other_lines() {
        for (language, line) in [
            ("python", "    def test_a(self):\n"),
            ("go", "func TestA(t *testing.T) {\n"),
            ("rust", "    #[test]\n"),
            ("javascript", "  it('works', () => {\n"),
            ("javascript", "QUnit.test(\"works\", function(assert) {\n"),
            ("javascript", "  test.only('works', () => {\n"),
            ("typescript", "  it.each<A>([\n"),
            ("typescript", "  it.concurrent.each([\n"),
            ("typescript", "  await t.test('works', async (t) => {\n"),
            ("java", "  @Test\n"),
            ("java", "  @Test(expected = A.class)\n"),
            ("java", "  @Test public void a() {\n"),
            ("cpp", "TEST_F(A, B) {\n"),
        ] {
            assert!(begins_test(language, line.as_bytes()), "{line}");
        }
        for (language, line) in [
            ("python", "# def test_a(self):\n"),
            ("java", "  @TestOnly\n"),
            ("javascript", "  /a/.test('works');\n"),
            ("javascript", "  test.count += 1;\n"),
            ("javascript", "  test.check(a, b);\n"),
            ("javascript", "  test.onlyOnce('works');\n"),
            ("javascript", "if (pattern.test('works')) {\n"),
            ("go", "func TestHelper\n"),
            ("json", "test(\n"),
        ] {
            assert_eq!(begins_test(language, line.as_bytes()), language == "go", "{line}");
        }
    }

    #[test]
    fn assertions_of_nothing_are_told_from_others() {
        for line in
            ["assert True", "  assert!(true);", "expect(true).toBe(true);", "assertTrue(true);"]
        {
            assert!(asserts(line.as_bytes()) && asserts_nothing(line.as_bytes()), "{line}");
        }
        for line in ["assert a", "assert!(is_true);", "expect(a).toBe(true);"] {
            assert!(asserts(line.as_bytes()) && !asserts_nothing(line.as_bytes()), "{line}");
        }
    }
}
