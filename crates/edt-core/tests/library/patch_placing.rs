//! Where the hunks of a diff go, in small texts with many equal lines: to the right place or to none.

use edt_core::txn::patch::rehearse;
use edt_core::txn::patch_text::PatchText;
use edt_edit::place::Matching;
use edt_types::RepoPath;
use proptest::prelude::*;
use similar::TextDiff;

/// Lines of which texts are made: the fewer, the more equal lines.
const ALPHABETS: [&[&str]; 4] = [
    &["a", "b", "c"],
    &["alpha", "beta", "gamma", "delta", ""],
    &["    return x;", "}", "", "if (x) {", "    y = 1;", "    z = 2;"],
    &["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
];

/// A text and what becomes of it.
fn change() -> impl Strategy<Value = (String, String)> {
    let line = |alphabet: &'static [&'static str]| prop::sample::select(alphabet);
    let texts = prop::sample::select(&ALPHABETS[..]).prop_flat_map(move |alphabet| {
        let steps =
            prop::collection::vec((0_usize..3, any::<prop::sample::Index>(), line(alphabet)), 1..4);
        (prop::collection::vec(line(alphabet), 1..14), steps, 0_usize..8)
    });
    texts.prop_map(|(old, steps, open)| {
        let mut new = old.clone();
        for (what, at, line) in steps {
            match what {
                0 if !new.is_empty() => drop(new.remove(at.index(new.len()))),
                1 if !new.is_empty() => {
                    let at = at.index(new.len());
                    new[at] = line;
                }
                _ => new.insert(at.index(new.len() + 1), line),
            }
        }
        let text = |lines: &[&str]| {
            let end = if open == 0 || lines.is_empty() { "" } else { "\n" };
            lines.join("\n") + end
        };
        (text(&old), text(&new))
    })
}

fn diff(old: &str, new: &str, context: usize) -> String {
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(context)
        .header("a/a.txt", "b/a.txt")
        .to_string()
}

/// The diff with every head changed.
fn with_heads(diff: &str, head: impl Fn(&str) -> String) -> String {
    diff.lines()
        .map(|line| if line.starts_with("@@") { head(line) } else { line.to_owned() } + "\n")
        .collect()
}

/// `text` with the patch applied; `None` if edt refuses.
fn patched(diff: &str, text: &str) -> Option<String> {
    let patch = PatchText::new(diff.as_bytes().to_vec(), None, None, Matching::Strict).unwrap();
    let (after, _) = rehearse(&patch, &RepoPath::parse(b"a.txt").unwrap(), text.as_bytes()).ok()?;
    Some(String::from_utf8(after.unwrap_or_default()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_with_the_right_line_numbers_gives_the_new_text_or_is_refused((old, new) in change(), context in 0_usize..4) {
        prop_assume!(old != new && !old.is_empty());
        let diff = diff(&old, &new, context);
        if let Some(after) = patched(&diff, &old) {
            prop_assert_eq!(after, new, "{}", diff);
        }
    }

    #[test]
    fn a_diff_without_line_numbers_gives_the_new_text_or_is_refused((old, new) in change(), context in 0_usize..4) {
        prop_assume!(old != new && !old.is_empty());
        let diff = with_heads(&diff(&old, &new, context), |_| "@@ ... @@".to_owned());
        if let Some(after) = patched(&diff, &old) {
            prop_assert_eq!(after, new, "{}", diff);
        }
    }

    #[test]
    fn a_diff_that_adds_lines_is_not_applied_twice((old, new) in change(), context in 2_usize..4) {
        prop_assume!(old != new && !old.is_empty());
        let diff = diff(&old, &new, context);
        let adds = diff.split("\n@@ ").skip(1).all(|hunk| hunk.lines().any(|line| line.starts_with('+')));
        prop_assume!(adds && !new.is_empty());
        prop_assert_eq!(patched(&diff, &new), None, "{}", diff);
    }

    #[test]
    fn bytes_outside_the_changed_lines_stay(
        lines in prop::collection::vec((prop::sample::select(&["\ta", "b", "  c ", "", "d\te", "ü"][..]), any::<bool>()), 1..20),
        bom: bool, open: bool, at: prop::sample::Index, crlf: bool,
    ) {
        let at = at.index(lines.len());
        let last = lines.len() - 1;
        let file = |texts: Vec<&str>| -> String {
            let end = |i: usize| match lines[i].1 {
                _ if open && i == last => "",
                true => "\r\n",
                false => "\n",
            };
            (if bom { "\u{feff}" } else { "" }).to_owned() + &texts.iter().enumerate().map(|(i, text)| format!("{text}{}", end(i))).collect::<String>()
        };
        let texts: Vec<&str> = lines.iter().map(|(text, _)| *text).collect();
        prop_assume!(!(open && texts[last].is_empty()));
        let mut changed = texts.clone();
        changed[at] = "\tchanged  ";
        let (from, to) = (at.saturating_sub(3), (at + 4).min(lines.len()));
        let mut patch = format!("--- a/a.txt\n+++ b/a.txt\n@@ -{},{} +{},{} @@\n", from + 1, to - from, from + 1, to - from);
        for (i, text) in texts.iter().enumerate().take(to).skip(from) {
            patch += &if i == at { format!("-{text}\n+{}\n", changed[at]) } else { format!(" {text}\n") };
        }
        let patch = if crlf { patch.replace('\n', "\r\n") } else { patch };
        let patch = PatchText::new(patch.into_bytes(), None, None, Matching::Strict).unwrap();
        let (after, _) = rehearse(&patch, &RepoPath::parse(b"a.txt").unwrap(), file(texts).as_bytes()).unwrap();
        prop_assert_eq!(String::from_utf8(after.unwrap()).unwrap(), file(changed));
    }
}

#[test]
fn a_right_line_number_wins_over_another_place() {
    // The new lines occur at line 6 by accident; the other place of the old lines is line 1.
    let old = "b\na\nc\nc\na\nb\nb\na\nc\na\n";
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -7,2 +7,3 @@\n b\n+b\n a\n";
    assert_eq!(patched(patch, old).as_deref(), Some("b\na\nc\nc\na\nb\nb\nb\na\nc\na\n"));
    assert_eq!(patched(&patch.replace("-7,2", "-3,2"), old), None);
}

#[test]
fn line_numbers_choose_no_place_if_one_of_them_is_wrong() {
    let old = "one\nx\ntwo\nthree\nx\nfour\nfive\n";
    let patch_at = |number: usize, five: usize| {
        format!(
            "--- a/a.txt\n+++ b/a.txt\n@@ -{number} +{number} @@\n-x\n+y\n@@ -{five} +{five} @@\n-five\n+six\n"
        )
    };
    assert_eq!(
        patched(&patch_at(5, 7), old).as_deref(),
        Some("one\nx\ntwo\nthree\ny\nfour\nsix\n")
    );
    assert_eq!(patched(&patch_at(5, 9), old), None);
    let insertion = "--- a/a.txt\n+++ b/a.txt\n@@ -2,0 +3 @@\n+new\n@@ -9 +10 @@\n-five\n+six\n";
    assert_eq!(patched(insertion, old), None);
    assert!(patched(&insertion.replace("-9 +10", "-7 +8"), old).is_some());
}
