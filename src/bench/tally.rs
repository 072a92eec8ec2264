//! Counting, while an attempt goes on. Pure.

use super::record::Attempt;
use crate::io::folder::Files;

/// The most refusals of guards that are tried without guards, of one attempt.
const MOST_SUSPECTS: usize = 5;

/// What is known of an attempt so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) attempt: Attempt,
    /// The files of each edit that landed and was not taken back.
    pub(super) landed: Vec<Vec<String>>,
    /// Requests that guards alone refused, with the files as they were.
    pub(super) suspects: Vec<(Files, serde_json::Value)>,
    /// Calls since the first refusal after which nothing landed.
    since: Option<u32>,
}

impl Tally {
    /// The agent called something.
    pub(super) fn call(&mut self, name: &str) {
        *self.attempt.calls.entry(name.to_owned()).or_default() += 1;
        if let Some(calls) = &mut self.since {
            *calls += 1;
        }
    }

    /// It was refused, with these codes.
    pub(super) fn refused<'c>(&mut self, codes: impl Iterator<Item = &'c str>) {
        for code in codes {
            *self.attempt.refusals.entry(code.to_owned()).or_default() += 1;
        }
    }

    /// An edit was refused: from now on the way out of it is counted.
    pub(super) fn stuck(&mut self) {
        self.since.get_or_insert(0);
    }

    /// Guards alone refused an edit of files that were as `files`.
    pub(super) fn suspect(
        &mut self,
        files: impl FnOnce() -> Option<Files>,
        request: &serde_json::Value,
    ) {
        self.attempt.guarded += 1;
        if self.suspects.len() < MOST_SUSPECTS
            && let Some(files) = files()
        {
            self.suspects.push((files, request.clone()));
        }
    }

    /// An edit of these files landed.
    pub(super) fn landed(&mut self, paths: Vec<String>) {
        self.attempt.landed += 1;
        self.landed.push(paths);
        self.attempt.recoveries.extend(self.since.take());
    }

    /// The last edit was taken back.
    pub(super) fn undone(&mut self) {
        self.landed.pop();
    }

    /// The attempt is over and was judged: its figures. `wrong` says whether a file has other bytes than expected. A refusal after which
    /// nothing landed is still counted from in the next attempt.
    pub(super) fn judged(&mut self, pass: bool, wrong: impl Fn(&String) -> bool) -> Attempt {
        let since = self.since;
        let Tally { mut attempt, landed, .. } =
            std::mem::replace(self, Tally { since, ..Tally::default() });
        attempt.pass = pass;
        attempt.stuck = since.is_some();
        // A refusal that stands was no silence.
        if !pass && !attempt.stuck {
            let later = |at: usize, path: &String| {
                landed[at + 1..].iter().any(|paths| paths.contains(path))
            };
            let left = |at: &usize| landed[*at].iter().any(|path| wrong(path) && !later(*at, path));
            attempt.silent =
                u32::try_from((0..landed.len()).filter(left).count()).unwrap_or(u32::MAX);
        }
        attempt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_of_a_refusal_is_counted_up_to_the_edit_that_lands() {
        let mut tally = Tally::default();
        tally.call("apply");
        tally.refused(["SYNTAX_ERROR"].into_iter());
        tally.stuck();
        tally.call("read");
        tally.call("apply");
        tally.stuck();
        tally.call("apply");
        tally.landed(vec!["a".to_owned()]);
        tally.call("apply");
        tally.stuck();
        let Attempt { recoveries, stuck, silent, landed, .. } = tally.judged(false, |_| true);
        assert_eq!(
            (recoveries, stuck, silent, landed),
            (vec![3], true, 0, 1),
            "what ended with a refusal was not silent"
        );
        tally.call("apply");
        tally.landed(vec!["a".to_owned()]);
        let next = tally.judged(true, |_| false);
        assert_eq!(
            (next.recoveries, next.stuck, next.silent),
            (vec![1], false, 0),
            "over the end of an attempt"
        );
    }

    #[test]
    fn silently_wrong_is_the_last_edit_of_a_wrong_file_that_was_not_taken_back() {
        let mut tally = Tally::default();
        tally.landed(vec!["b".to_owned()]);
        tally.landed(vec!["b".to_owned()]);
        assert_eq!(tally.judged(false, |path| path == "b").silent, 1);
        tally.landed(vec!["a".to_owned()]);
        tally.landed(vec!["b".to_owned()]);
        tally.undone();
        assert_eq!(tally.judged(false, |path| path == "b").silent, 0);
    }
}
