//! How the indentation of a patch relates to that of a file: one rule for all of its lines, or
//! none.

use std::collections::HashMap;

use edt_types::text;

/// A rule that maps the indentation of a patch to that of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indent {
    Same,
    /// Every line of the file has `file` where the patch has `patch`.
    Shift {
        patch: Vec<u8>,
        file: Vec<u8>,
    },
    /// The patch has this many spaces where the file has a tab.
    Tabs(usize),
    /// The patch has a tab where the file has this many spaces.
    Spaces(usize),
    /// Spaces per level in the patch and in the file.
    Scale(usize, usize),
}

impl Indent {
    /// The rule that holds for every pair of a patch line and a file line, for converting the `new`
    /// lines of the patch. Blank lines are ignored. `None` if no rule holds, or if several rules
    /// hold that would convert the new lines differently.
    #[must_use]
    pub fn for_lines<'t>(
        pairs: &[(&[u8], &[u8])],
        new: impl Iterator<Item = &'t [u8]>,
    ) -> Option<Indent> {
        let mut indents: Vec<(&[u8], &[u8])> = pairs
            .iter()
            .filter(|(patch, _)| !patch.trim_ascii().is_empty())
            .map(|(patch, file)| (indent_of(patch), indent_of(file)))
            .collect();
        indents.sort_unstable();
        indents.dedup();
        let holds = |rule: &Indent| {
            indents.iter().all(|(patch, file)| rule.of(patch).as_deref() == Some(file))
        };
        if holds(&Indent::Same) {
            return Some(Indent::Same);
        }
        let shift = indents.iter().min_by_key(|(patch, _)| patch.len()).map(|(patch, file)| {
            let common =
                patch.iter().rev().zip(file.iter().rev()).take_while(|(a, b)| a == b).count();
            let (patch, file) = (&patch[..patch.len() - common], &file[..file.len() - common]);
            Indent::Shift { patch: patch.to_vec(), file: file.to_vec() }
        });
        // Replacing spaces with tabs is not a shift: the next level would differ again.
        let plain = |rule: &Indent| matches!(rule, Indent::Shift { patch, file } if patch.is_empty() || file.is_empty());
        let widths = [2, 3, 4, 8];
        let units =
            widths.into_iter().flat_map(|width| [Indent::Tabs(width), Indent::Spaces(width)]);
        let scales = widths.into_iter().flat_map(|a| widths.map(|b| Indent::Scale(a, b)));
        let rules: Vec<Indent> =
            units.chain(shift.filter(plain)).chain(scales).filter(holds).collect();
        let new: Vec<&[u8]> = new.collect();
        if rules.iter().any(|rule| rule.is_uncertain(&indents, &new)) {
            return None;
        }
        let written =
            |rule: &Indent| new.iter().map(|line| rule.convert(line)).collect::<Option<Vec<_>>>();
        let first = rules.first().and_then(written)?;
        rules
            .iter()
            .all(|rule| written(rule).is_none_or(|other| other == first))
            .then(|| rules[0].clone())
    }

    /// `line` with the indentation of the file; `None` if the rule does not cover its indentation.
    #[must_use]
    pub fn convert(&self, line: &[u8]) -> Option<Vec<u8>> {
        if line.trim_ascii().is_empty() {
            // A blank line has no indentation: its white space stays as it was sent.
            return Some(line.to_vec());
        }
        let indent = indent_of(line);
        let mut out = self.of(indent)?;
        out.extend_from_slice(&line[indent.len()..]);
        Some(out)
    }

    /// Whether some new lines may be written as in the file already, although `self` would change
    /// one.
    fn is_uncertain(&self, indents: &[(&[u8], &[u8])], new: &[&[u8]]) -> bool {
        let Indent::Tabs(width) = self else { return false };
        let is_mixed = indents.iter().any(|(patch, file)| patch == file && !patch.is_empty());
        let filled = new.iter().filter(|line| !line.trim_ascii().is_empty());
        let differs = |line: &&[u8]| {
            let indent = indent_of(line);
            let is_old = indents.iter().any(|(patch, _)| *patch == indent);
            !is_old && (indent.contains(&b'\t') || !indent.len().is_multiple_of(*width))
        };
        let changes = |line: &&[u8]| self.convert(line).is_none_or(|converted| converted != *line);
        filled.clone().any(changes) && (is_mixed || filled.clone().any(differs))
    }

    fn of(&self, indent: &[u8]) -> Option<Vec<u8>> {
        match self {
            Indent::Same => Some(indent.to_vec()),
            Indent::Shift { patch, file } => {
                let rest = indent.strip_prefix(patch.as_slice())?;
                // The file does not mix tabs and spaces in this way.
                let mixed = file.last().is_some_and(|last| rest.iter().any(|b| b != last));
                (!mixed).then(|| [file.as_slice(), rest].concat())
            }
            Indent::Scale(patch, file) => {
                let fits = indent.iter().all(|&b| b == b' ') && indent.len().is_multiple_of(*patch);
                fits.then(|| vec![b' '; indent.len() / patch * file])
            }
            Indent::Tabs(width) => {
                let tabs = indent.iter().take_while(|&&b| b == b'\t').count();
                let spaces = indent.len() - tabs;
                indent[tabs..].iter().all(|&b| b == b' ').then(|| {
                    [vec![b'\t'; tabs + spaces / width], vec![b' '; spaces % width]].concat()
                })
            }
            Indent::Spaces(width) => {
                let out =
                    indent.iter().flat_map(|&b| vec![b' '; if b == b'\t' { *width } else { 1 }]);
                Some(out.collect())
            }
        }
    }
}

/// Whether one rule maps the indentation of the lines of `old` to that of `file`, where a line
/// occurs once in it.
pub(super) fn agrees(file: &[u8], old: &[u8]) -> bool {
    let mut lines: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
    for line in text::lines(file).filter(|line| !line.trim_ascii().is_empty()) {
        lines.entry(line.trim_ascii()).or_default().push(line);
    }
    let pair = |line| match lines.get(<[u8]>::trim_ascii(line)).map(Vec::as_slice) {
        Some([only]) => Some((line, *only)),
        _ => None,
    };
    let pairs: Vec<(&[u8], &[u8])> = text::lines(old).filter_map(pair).collect();
    Indent::for_lines(&pairs, std::iter::empty()).is_some()
}

#[must_use]
pub fn indent_of(line: &[u8]) -> &[u8] {
    &line[..line.len() - line.trim_ascii_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)], new: &[&str]) -> Option<Indent> {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a.as_bytes(), b.as_bytes())).collect();
        Indent::for_lines(&pairs, new.iter().map(|line| line.as_bytes()))
    }

    fn between(pairs: &[(&str, &str)]) -> Option<Indent> {
        with(pairs, &[])
    }

    #[test]
    fn a_level_that_no_line_shows_is_not_guessed() {
        // Two spaces less, or half as many: the results for the deeper line would differ.
        assert_eq!(with(&[("    a", "  a")], &["        b"]), None);
        assert!(with(&[("    a", "  a")], &["    b"]).is_some());
        assert_eq!(
            with(&[("    a", "  a"), ("        b", "    b")], &["            c"]),
            Some(Indent::Scale(4, 2))
        );
        assert_eq!(with(&[("a", "\ta")], &["    b"]), None);
    }

    #[test]
    fn one_rule_holds_for_every_line_or_there_is_none() {
        assert_eq!(between(&[("a", "a"), ("  b", "  b")]), Some(Indent::Same));
        let shift = Indent::Shift { patch: Vec::new(), file: b"    ".to_vec() };
        assert_eq!(between(&[("a", "    a"), ("  b", "      b"), ("", "")]), Some(shift.clone()));
        assert_eq!(shift.convert(b"  c"), Some(b"      c".to_vec()));
        assert_eq!(between(&[("a", "    a"), ("b", "  b")]), None);
    }

    #[test]
    fn new_lines_in_the_style_of_the_file_are_not_converted() {
        let tab = ("    a", "\ta");
        assert_eq!(with(&[tab], &["    b"]), Some(Indent::Tabs(4)));
        // Without a line that would change, it does not matter.
        assert_eq!(with(&[tab], &["\tb"]), Some(Indent::Tabs(4)));
        assert_eq!(with(&[tab], &["\tb", "    c"]), None);
        assert_eq!(with(&[tab], &["  b", "    c"]), None);
        assert_eq!(with(&[("        a", "\ta"), ("    b", "    b")], &["        c"]), None);
    }

    #[test]
    fn the_white_space_of_a_blank_line_stays() {
        let shift = Indent::Shift { patch: Vec::new(), file: b"    ".to_vec() };
        assert_eq!(shift.convert(b"  "), Some(b"  ".to_vec()));
    }

    #[test]
    fn tabs_and_spaces_are_recognised_by_their_width() {
        assert_eq!(between(&[("    a", "\ta"), ("        b", "\t\tb")]), Some(Indent::Tabs(4)));
        assert_eq!(between(&[("\ta", "  a"), ("\t\tb", "    b")]), Some(Indent::Spaces(2)));
        assert_eq!(Indent::Tabs(4).convert(b"      c"), Some(b"\t  c".to_vec()));
    }
}
