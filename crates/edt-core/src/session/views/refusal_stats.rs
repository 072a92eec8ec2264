//! Statistics on refusals, from their record alone.

use std::collections::BTreeMap;

use super::stats::{Maker, StatsFilter};
use edt_git::Repo;
use edt_journal::refusals::{Followed, How, Recorded, RefusalLog};

/// Refused calls, and what followed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusalCounts {
    /// All of them.
    pub calls: u64,
    /// Those after which an edit of the same place landed.
    pub landed: u64,
    /// Those after which one landed with an override.
    pub overridden: u64,
    /// Those after which a call about the same place was refused, too.
    pub refused_again: u64,
    /// How often the memory found each class of difference.
    pub classes: BTreeMap<String, u64>,
}

impl RefusalCounts {
    /// Those that nothing followed.
    #[must_use]
    pub fn nothing(&self) -> u64 {
        self.calls - self.landed - self.overridden - self.refused_again
    }

    fn count(&mut self, followed: Option<&Followed>) {
        self.calls += 1;
        let Some(followed) = followed else { return };
        match followed.how {
            How::Landed => self.landed += 1,
            How::Overridden => self.overridden += 1,
            How::RefusedAgain => self.refused_again += 1,
            How::Unknown => {}
        }
        if let Some(class) = &followed.class {
            *self.classes.entry(class.clone()).or_default() += 1;
        }
    }
}

/// The refusals of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusalStats {
    /// All calls.
    pub all: RefusalCounts,
    /// By code. A call with several codes counts for each.
    pub codes: BTreeMap<String, RefusalCounts>,
}

impl RefusalStats {
    fn count(&mut self, one: &Recorded) {
        let followed = one.followed.as_ref();
        self.all.count(followed);
        let mut codes: Vec<&str> =
            one.refused.findings.iter().map(|finding| finding.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        for code in codes {
            self.codes.entry(code.to_owned()).or_default().count(followed);
        }
    }
}

/// The refusals that match a filter.
#[derive(Debug, Default)]
pub struct Refusals(Vec<Recorded>);

impl Refusals {
    /// Those in the record of `repo`.
    #[must_use]
    pub fn of(repo: &Repo, filter: &StatsFilter) -> Refusals {
        let mut all = RefusalLog::of(repo).all();
        all.retain(|one| {
            let agent = &one.refused.agent;
            (filter.session.is_none() || filter.session.as_deref() == session(one))
                && (filter.agent.is_none() || *agent == filter.agent)
                && filter.since.is_none_or(|since| one.refused.time >= since)
        });
        Refusals(all)
    }

    /// All of them, oldest first.
    #[must_use]
    pub fn into_vec(self) -> Vec<Recorded> {
        self.0
    }

    /// The counts of all of them.
    #[must_use]
    pub fn total(&self) -> RefusalStats {
        let mut total = RefusalStats::default();
        self.0.iter().for_each(|one| total.count(one));
        total
    }

    /// By what `key` says of their session and maker.
    #[must_use]
    pub fn by<K: Ord>(&self, key: impl Fn(Option<&str>, &Maker) -> K) -> BTreeMap<K, RefusalStats> {
        let mut groups: BTreeMap<K, RefusalStats> = BTreeMap::new();
        for one in &self.0 {
            let refused = &one.refused;
            let (agent, model) = (refused.agent.clone(), refused.model.clone());
            let maker = Maker { agent, model, turn: refused.turn };
            groups.entry(key(session(one), &maker)).or_default().count(one);
        }
        groups
    }
}

/// The session of a refusal: that of the edit that followed, if it began afterwards.
fn session(one: &Recorded) -> Option<&str> {
    let followed = one.followed.as_ref().and_then(|followed| followed.session.as_deref());
    one.refused.session.as_deref().or(followed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::txn::Request;

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\ntwo\n")]);
        let wrong = Request::new("x").edit("a.txt", "nothing like it", "other");
        scratch.apply(&wrong.clone().agent("robot")).unwrap_err();
        scratch.apply(&wrong).unwrap_err();
        scratch.apply(&Request::new("x").overwrite("a.txt", "one\n2\n")).unwrap();
        scratch
    }

    fn counts(filter: &StatsFilter) -> RefusalCounts {
        Refusals::of(&scratch().repo(), filter).total().all
    }

    #[test]
    fn what_followed_is_counted_by_code() {
        let total = Refusals::of(&scratch().repo(), &StatsFilter::default()).total();
        let (calls, landed, refused_again) = (2, 1, 1);
        let all = RefusalCounts { calls, landed, refused_again, ..RefusalCounts::default() };
        assert_eq!(total.all, all);
        assert_eq!(total.codes.values().map(|one| one.calls).sum::<u64>(), 2);
        assert_eq!(all.nothing(), 0);
    }

    #[test]
    fn a_filter_leaves_out_the_others() {
        let with = StatsFilter::default;
        assert_eq!(counts(&StatsFilter { agent: Some("robot".into()), ..with() }).calls, 1);
        assert_eq!(counts(&StatsFilter { agent: Some("other".into()), ..with() }).calls, 0);
        assert_eq!(counts(&StatsFilter { since: Some(i64::MAX), ..with() }).calls, 0);
        // The session began with the edit that followed the second one.
        assert_eq!(counts(&StatsFilter { session: Some("main-1".into()), ..with() }).calls, 1);
    }

    #[test]
    fn groups_have_a_key_of_their_own() {
        let all = Refusals::of(&scratch().repo(), &StatsFilter::default());
        let groups: Vec<_> = all
            .by(|_, maker| maker.agent.clone())
            .into_iter()
            .map(|(agent, stats)| (agent, stats.all.calls))
            .collect();
        assert_eq!(groups, [(None, 1), (Some("robot".to_owned()), 1)]);
    }
}
