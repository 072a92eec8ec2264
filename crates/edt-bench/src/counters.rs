//! Counts the events of an attempt. Pure.

use super::results::AttemptResult;
use edt_io::directory::FileTree;

/// How many refused edits of an attempt are applied again without guards.
const MAX_SUSPECTS: usize = 5;

#[derive(Debug, Default)]
pub(super) struct AttemptCounters {
    pub(super) attempt: AttemptResult,
    /// The files of each edit that landed and was not undone.
    pub(super) landed: Vec<Vec<String>>,
    /// Requests that only guards refused, each with the files at that moment.
    pub(super) suspects: Vec<(FileTree, serde_json::Value)>,
    /// Calls since the first refusal that no landed edit has followed; `None` if there is no such
    /// refusal.
    calls_since_refusal: Option<u32>,
}

impl AttemptCounters {
    pub(super) fn call(&mut self, name: &str) {
        *self.attempt.calls.entry(name.to_owned()).or_default() += 1;
        if let Some(calls) = &mut self.calls_since_refusal {
            *calls += 1;
        }
    }

    pub(super) fn refused<'c>(&mut self, codes: impl Iterator<Item = &'c str>) {
        for code in codes {
            *self.attempt.refusals.entry(code.to_owned()).or_default() += 1;
        }
    }

    /// An edit was refused: calls are counted from now until an edit lands.
    pub(super) fn edit_refused(&mut self) {
        self.calls_since_refusal.get_or_insert(0);
    }

    /// Only guards refused an edit of `files`.
    pub(super) fn guards_refused(
        &mut self,
        files: impl FnOnce() -> Option<FileTree>,
        request: &serde_json::Value,
    ) {
        self.attempt.guarded += 1;
        if self.suspects.len() < MAX_SUSPECTS
            && let Some(files) = files()
        {
            self.suspects.push((files, request.clone()));
        }
    }

    pub(super) fn landed(&mut self, paths: Vec<String>) {
        self.attempt.landed += 1;
        self.landed.push(paths);
        self.attempt.recoveries.extend(self.calls_since_refusal.take());
    }

    pub(super) fn undone(&mut self) {
        self.landed.pop();
    }

    /// The counters of the finished attempt. `wrong` says whether a file differs from the expected
    /// bytes. A refusal that no landed edit has followed keeps its count for the next attempt.
    pub(super) fn finish(&mut self, pass: bool, wrong: impl Fn(&String) -> bool) -> AttemptResult {
        let calls_since_refusal = self.calls_since_refusal;
        let AttemptCounters { mut attempt, landed, .. } = std::mem::replace(
            self,
            AttemptCounters { calls_since_refusal, ..AttemptCounters::default() },
        );
        attempt.pass = pass;
        attempt.stuck = calls_since_refusal.is_some();
        // After a final refusal the agent knows that the edit did not land.
        if !pass && !attempt.stuck {
            let later = |at: usize, path: &String| {
                landed[at + 1..].iter().any(|paths| paths.contains(path))
            };
            let is_silently_wrong =
                |at: &usize| landed[*at].iter().any(|path| wrong(path) && !later(*at, path));
            attempt.silent = u32::try_from((0..landed.len()).filter(is_silently_wrong).count())
                .unwrap_or(u32::MAX);
        }
        attempt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_counts_the_calls_from_a_refusal_to_the_next_landed_edit() {
        let mut counters = AttemptCounters::default();
        counters.call("apply");
        counters.refused(["SYNTAX_ERROR"].into_iter());
        counters.edit_refused();
        counters.call("read");
        counters.call("apply");
        counters.edit_refused();
        counters.call("apply");
        counters.landed(vec!["a".to_owned()]);
        counters.call("apply");
        counters.edit_refused();
        let AttemptResult { recoveries, stuck, silent, landed, .. } =
            counters.finish(false, |_| true);
        assert_eq!(
            (recoveries, stuck, silent, landed),
            (vec![3], true, 0, 1),
            "an attempt that ends with a refusal is not silently wrong"
        );
        counters.call("apply");
        counters.landed(vec!["a".to_owned()]);
        let next = counters.finish(true, |_| false);
        assert_eq!(
            (next.recoveries, next.stuck, next.silent),
            (vec![1], false, 0),
            "recovery continues in the next attempt"
        );
    }

    #[test]
    fn only_the_last_edit_of_a_wrong_file_is_silently_wrong_and_an_undone_edit_is_not() {
        let mut counters = AttemptCounters::default();
        counters.landed(vec!["b".to_owned()]);
        counters.landed(vec!["b".to_owned()]);
        assert_eq!(counters.finish(false, |path| path == "b").silent, 1);
        counters.landed(vec!["a".to_owned()]);
        counters.landed(vec!["b".to_owned()]);
        counters.undone();
        assert_eq!(counters.finish(false, |path| path == "b").silent, 0);
    }
}
