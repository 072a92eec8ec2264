//! A patch that is printed in a format and read again is unchanged, whatever its lines look like.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test may panic, and its name is a sentence"
)]

use edt_edit::format::{FileAction, FilePatch, read};
use edt_edit::hunk::{FinalNewline, Hunk, HunkLine, Side};
use proptest::prelude::*;

/// Lines that look like parts of a patch, and some that do not. (A removed `-- ` above an added
/// `++ b/x` is the header of a file, whatever the counts say.)
const ODD: [&str; 22] = [
    "",
    " ",
    "\t",
    "a",
    "    b",
    "\tc  ",
    "-",
    "--",
    "-- ",
    "--- a/x",
    "++",
    "+ b/x",
    "+++ b/x",
    "@@",
    "@@ -1 +1 @@",
    "\\ No newline",
    "*** End Patch",
    "*** End of File",
    "diff --git a/x b/x",
    "```",
    "ä€",
    "\u{feff}d",
];

fn line() -> impl Strategy<Value = HunkLine> {
    let side = prop::sample::select(&[Side::Both, Side::Old, Side::New][..]);
    (side, prop::sample::select(&ODD[..]), any::<bool>()).prop_map(|(side, text, cr)| {
        let marked = side == Side::Both;
        HunkLine { side, text: text.as_bytes().to_vec(), cr, marked }
    })
}

/// A hunk that changes something.
fn hunk() -> impl Strategy<Value = Hunk> {
    let lines = prop::collection::vec(line(), 1..9);
    let changes = |lines: &Vec<HunkLine>| lines.iter().any(|line| line.side != Side::Both);
    (lines.prop_filter("it changes something", changes), 1_usize..500, any::<bool>()).prop_map(
        |(lines, at, at_end)| {
            let old = lines.iter().any(|line| line.side != Side::New);
            Hunk { at: old.then_some(at), at_end, ..Hunk::of(0, lines) }
        },
    )
}

fn marked(hunk: &Hunk) -> Vec<u8> {
    let of = |line: &HunkLine| {
        let mark = match line.side {
            Side::Both => b' ',
            Side::Old => b'-',
            Side::New => b'+',
        };
        let end: &[u8] = if line.cr { b"\r\n" } else { b"\n" };
        [&[mark], line.text.as_slice(), end].concat()
    };
    hunk.lines.iter().flat_map(of).collect()
}

fn counts(hunk: &Hunk) -> (usize, usize) {
    (hunk.old_side().len(), hunk.new_side().len())
}

/// Hunks without the fields that depend on their position in the patch.
fn bare(mut files: Vec<FilePatch>) -> Vec<FilePatch> {
    for file in &mut files {
        file.source = 0;
        if let FileAction::Update { hunks, .. } = &mut file.action {
            hunks.iter_mut().for_each(|hunk| hunk.source = 0);
        }
    }
    files
}

fn update(hunks: Vec<Hunk>, to: Option<&str>) -> Vec<FilePatch> {
    let to = to.map(|to| to.as_bytes().to_vec());
    vec![FilePatch {
        path: b"src/a b.c".to_vec(),
        source: 0,
        action: FileAction::Update { hunks, to, executable: None },
    }]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_unified_diff_is_read_as_it_was_printed(hunks in prop::collection::vec(hunk(), 1..4)) {
        let mut text = b"diff --git a/src/a b.c b/src/a b.c\n--- a/src/a b.c\n+++ b/src/a b.c\n".to_vec();
        let mut expected = Vec::new();
        for hunk in hunks {
            let ((old, new), start) = (counts(&hunk), hunk.at.unwrap_or(0));
            text.extend(format!("@@ -{start},{old} +{start},{new} @@\n").bytes());
            text.extend(marked(&hunk));
            expected.push(Hunk { at: Some(hunk.at.unwrap_or(1)), at_end: false, ..hunk });
        }
        let (_, files) = read(&text, None).unwrap();
        prop_assert_eq!(bare(files), update(expected, None));
    }

    #[test]
    fn an_envelope_is_read_as_it_was_printed(hunks in prop::collection::vec((hunk(), 0_usize..3), 1..4), moved: bool) {
        let mut text = b"*** Begin Patch\n*** Update File: src/a b.c\n".to_vec();
        let to = moved.then_some("src/new.c");
        text.extend(to.map(|to| format!("*** Move to: {to}\n")).unwrap_or_default().bytes());
        let mut expected = Vec::new();
        for (hunk, anchors) in hunks {
            let anchors: Vec<Vec<u8>> = (0..anchors).map(|n| format!("fn f{n}() {{").into_bytes()).collect();
            text.extend_from_slice(if anchors.is_empty() { b"@@\n" } else { b"" });
            anchors.iter().for_each(|anchor| text.extend([b"@@ ", anchor.as_slice(), b"\n"].concat()));
            text.extend(marked(&hunk));
            text.extend_from_slice(if hunk.at_end { b"*** End of File\n" } else { b"" });
            expected.push(Hunk { at: None, anchors, ..hunk });
        }
        text.extend_from_slice(b"*** End Patch\n");
        let (_, files) = read(&text, None).unwrap();
        prop_assert_eq!(bare(files), update(expected, to));
    }

    #[test]
    fn a_block_is_read_as_it_was_printed(old in prop::collection::vec(prop::sample::select(&ODD[..]), 1..8), new in prop::collection::vec(prop::sample::select(&ODD[..]), 0..8), width in 5_usize..10) {
        prop_assume!(old.iter().any(|line| !line.trim().is_empty()) && old != new);
        let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (search, replace) = (text(&old), text(&new));
        let patch = format!("src/a.c\n{} SEARCH\n{search}{}\n{replace}{} REPLACE\n", "<".repeat(width), "=".repeat(width), ">".repeat(width));
        let (_, files) = read(patch.as_bytes(), None).unwrap();
        let [FilePatch { path, action: FileAction::Update { hunks, .. }, .. }] = files.as_slice() else { panic!("{files:?}") };
        let side = |lines: Vec<&HunkLine>| lines.iter().map(|line| String::from_utf8(line.text.clone()).unwrap() + "\n").collect::<String>();
        prop_assert_eq!(path.as_slice(), b"src/a.c");
        prop_assert_eq!((side(hunks[0].old_side()), side(hunks[0].new_side())), (search, replace));
    }

    #[test]
    fn a_fenced_file_is_read_as_it_was_printed(lines in prop::collection::vec(prop::sample::select(&ODD[..]), 0..8)) {
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let patch = format!("Here it is.\n\n`src/a.c`:\n````c\n{content}````\n");
        // Content that looks like another format is read as that, or refused; nothing is left out.
        if let Ok((_, files)) = read(patch.as_bytes(), None)
            && let [FilePatch { path, action: FileAction::Write { content: got }, .. }] = files.as_slice()
        {
            prop_assert_eq!((path.as_slice(), got.as_slice()), (&b"src/a.c"[..], content.as_bytes()));
        }
    }
}

#[test]
fn a_marker_of_the_final_newline_is_read() {
    let read_one = |body: &str| {
        let patch = format!("--- a/a\n+++ b/a\n@@ -1 +1 @@\n{body}");
        let (_, files) = read(patch.as_bytes(), None).unwrap();
        let FileAction::Update { hunks, .. } = &files[0].action else { panic!("{files:?}") };
        (hunks[0].newline, hunks[0].at_end)
    };
    let marker = "\\ No newline at end of file\n";
    assert_eq!(read_one("-a\n+b\n"), (FinalNewline::Unchanged, false));
    assert_eq!(read_one(&format!("-a\n{marker}+b\n")), (FinalNewline::Added, true));
    assert_eq!(read_one(&format!("-a\n+b\n{marker}")), (FinalNewline::Removed, true));
    assert_eq!(read_one(&format!("-a\n{marker}+b\n{marker}")), (FinalNewline::Unchanged, true));
}
