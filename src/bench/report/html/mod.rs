//! The report as one page that needs nothing else: no script, no font, no picture from elsewhere. Pure.
//!
//! Names and answers in a report come from outside. `maud` escapes whatever is put into the page, and [`plain`] takes away what would
//! turn the direction of the text or cannot be seen.

mod chart;
mod forest;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Estimate, Group, Pair, Report, SuiteLine};
use crate::base::text::harmless;

const STYLE: &str = include_str!("style.css");
/// What the page may do: show itself. Nothing is loaded, nothing runs.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The whole page.
#[must_use]
pub fn page(report: &Report) -> String {
    let names: Vec<&str> = report.suites.iter().map(|suite| suite.name.as_str()).collect();
    let title = plain(&format!("edt bench: {}", names.join(", ")));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    @if report.done < report.of {
                        p.note { "A part of the run: " (report.done) " of " (report.of) " units are done." }
                    }
                    @for suite in &report.suites { (headline(report, suite)) }
                }
                main { @for suite in &report.suites { (section(report, suite)) } }
                (method(report))
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

/// A suite and the groups of it.
struct Of<'r> {
    report: &'r Report,
    suite: &'r SuiteLine,
    groups: Vec<&'r Group>,
    pairs: Vec<&'r Pair>,
}

fn of<'r>(report: &'r Report, suite: &'r SuiteLine) -> Of<'r> {
    let groups = report.groups.iter().filter(|group| group.suite == suite.name).collect();
    let pairs = report.pairs.iter().filter(|pair| pair.suite == suite.name).collect();
    Of { report, suite, groups, pairs }
}

/// The numbers that matter, in a sentence: the first group, and every other beside it.
fn headline(report: &Report, suite: &SuiteLine) -> Markup {
    let of = of(report, suite);
    let Some(first) = of.groups.first() else {
        return html! { p.lede { strong { (plain(&suite.name)) } ": nothing is done yet." } };
    };
    html! {
        p.lede {
            strong { (plain(&suite.name)) } ": "
            @for (at, group) in of.groups.iter().enumerate() {
                @if at > 0 { "; " }
                @if of.groups.len() > 1 { em { (name_of(group)) } " " }
                (sentence(group))
                @if at > 0 { @if let Some(pair) = against(&of, first, group) { (difference(pair)) } }
            }
            "."
        }
    }
}

fn sentence(group: &Group) -> String {
    let metric = |name: &str| group.metrics.get(name).copied();
    let pass = metric("pass").unwrap_or(Estimate::rate(0, 0));
    let attempts =
        metric("attempts").map_or_else(String::new, |one| format!(", in {} attempts", shown(&one)));
    let silent = metric("silently_wrong").and_then(|one| one.hits).filter(|hits| *hits > 0);
    let silent = silent.map_or_else(String::new, |hits| format!(", {hits} edits silently wrong"));
    format!(
        "passed {} of {} tasks ({}){attempts}{silent}",
        pass.hits.unwrap_or(0),
        pass.n,
        shown(&pass)
    )
}

/// The pair of attempts of two groups.
fn against<'r>(of: &Of<'r>, first: &Group, group: &Group) -> Option<&'r Pair> {
    let same =
        |names: &[String; 2], group: &Group| names[0] == group.strategy && names[1] == group.guards;
    of.pairs
        .iter()
        .copied()
        .find(|pair| pair.metric == "attempts" && same(&pair.from, first) && same(&pair.to, group))
}

fn difference(pair: &Pair) -> String {
    let Pair { difference, low, high, p, n, .. } = pair;
    if difference.abs() < f64::EPSILON && low.to_bits() == high.to_bits() {
        return format!(" – no difference in attempts on the same {n} tasks");
    }
    format!(
        " – {} attempts on the same {n} tasks [{}, {}], p = {}",
        signed(*difference),
        signed(*low),
        signed(*high),
        probability(*p)
    )
}

fn section(report: &Report, suite: &SuiteLine) -> Markup {
    let of = of(report, suite);
    html! {
        section {
            h2 { (plain(&suite.name)) }
            p.dim {
                (suite.tasks) " tasks" @if suite.teaching > 0 { ", " (suite.teaching) " more that only teach" }
                ", " (suite.sessions) " sessions, at most " (suite.attempts) " attempts. Agent: " code { (plain(&suite.agent)) }
            }
            @if !of.groups.is_empty() {
                (tables::summary(&of))
                (chart::curves(&of))
                (forest::all(&of))
                (tables::refusals(&of))
                (tables::harm(&of))
                (tables::classes(&of))
                (tables::tasks(&of))
            }
            @for remains in report.remains.iter().filter(|remains| remains.suite == suite.name) {
                (tables::remains(remains))
            }
        }
    }
}

fn method(report: &Report) -> Markup {
    let seconds = |ms: u64| format!("{:.1}", std::time::Duration::from_millis(ms).as_secs_f64());
    html! {
        footer {
            h2 { "Method" }
            p {
                "Each task is worked on in a scratch repository with the files before and one commit: lessons, attempt, judgement, the next "
                "attempt. Each session counts a task once more. Rates have Wilson’s 95 % interval, means a percentile bootstrap’s with 2000 "
                "draws. Differences are of the same task in the same session; their interval is a bootstrap’s, their p that of an exact "
                "two-sided test (McNemar’s for what is 0 or 1, else the sign test), each by itself: p is not corrected for the number of "
                "differences. Edits of one task count as if they were independent, which makes intervals of rates over edits too narrow."
            }
            @if let Some(since) = &report.since {
                p { "Tasks from " (since) " on were judged; older ones only taught." }
            }
            dl {
                @for metric in &report.metrics { dt { code { (metric.name) } } dd.dim { (metric.about) } }
            }
            h3 { "The same again" }
            pre { @for suite in &report.suites { (plain(&suite.command)) "\n" } }
            p.dim {
                "Run in the folder that has the suite; where fewer tasks than all were judged, name each of the map above with "
                code { "--task" } ". edt " (report.version) ", seed " (report.seed) "."
                @for suite in &report.suites { " " (plain(&suite.name)) ": SHA-256 " code { (suite.digest) } "." }
                @if let Some(times) = &report.times {
                    " " (seconds(times.units_ms)) " s in all units, " (seconds(times.longest_ms)) " s in the longest."
                }
            }
        }
    }
}

fn name_of(group: &Group) -> String {
    name(&group.strategy, &group.guards)
}

fn name(strategy: &str, guards: &str) -> String {
    plain(&if guards == "on" {
        strategy.to_owned()
    } else {
        format!("{strategy}, guards {guards}")
    })
}

/// A figure with its interval.
fn shown(estimate: &Estimate) -> String {
    match value(estimate) {
        Some((value, interval)) => format!("{value} {interval}"),
        None => "–".to_owned(),
    }
}

/// A figure, and its interval.
fn value(estimate: &Estimate) -> Option<(String, String)> {
    let (value, low, high) = (estimate.value?, estimate.low?, estimate.high?);
    if estimate.hits.is_some() {
        let percent = |one: f64| format!("{:.0}", one * 100.0);
        return Some((
            format!("{} %", percent(value)),
            format!("[{}, {}]", percent(low), percent(high)),
        ));
    }
    Some((number(value), format!("[{}, {}]", number(low), number(high))))
}

fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size > 0.0 && size < 0.1 => 4,
        size if size < 10.0 => 2,
        _ => 0,
    };
    format!("{value:.digits$}")
}

/// A number with its sign: a minus that is one.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number(value.abs()))
}

fn probability(p: f64) -> String {
    if p < 0.001 { format!("{p:.1e}") } else { format!("{p:.3}") }
}

/// Text from outside as a page may show it: what steers or hides becomes `\u{…}`.
fn plain(text: &str) -> String {
    text.split('\n').map(|line| harmless(line).0).collect::<Vec<_>>().join("\n")
}

/// The class of the colour of the `at`-th group, and how its line is dashed: prints in grey can be told apart, too.
fn colour(at: usize) -> (String, &'static str) {
    const DASHES: [&str; 4] = ["none", "7 4", "2 3", "9 3 2 3"];
    (format!("c{}", at % 8), DASHES[at % DASHES.len()])
}

#[cfg(test)]
mod tests;
