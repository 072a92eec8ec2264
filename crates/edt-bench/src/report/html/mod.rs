//! The report as one self-contained HTML page without scripts, fonts and images. Pure.
//!
//! Names and answers in a report are foreign text. `maud` escapes it, and [`plain`] makes invisible
//! characters and changes of the text direction visible.

mod chart;
mod forest;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Estimate, PairedDifference, Report, ReportGroup, SuiteLine};
use edt_types::text::{counted, escape_controls};

const STYLE: &str = include_str!("style.css");
/// The content security policy: nothing is loaded, nothing runs.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

#[must_use]
pub fn page(report: &Report) -> String {
    let names: Vec<&str> = report.suites.iter().map(|suite| suite.name.as_str()).collect();
    let title = plain(&format!("edt-bench: {}", names.join(", ")));
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
                        p.note { "The run is not complete: " (report.done) " of " (report.of) " units are done." }
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

/// A suite with its groups and pairs.
struct SuiteView<'r> {
    report: &'r Report,
    suite: &'r SuiteLine,
    groups: Vec<&'r ReportGroup>,
    pairs: Vec<&'r PairedDifference>,
}

fn of<'r>(report: &'r Report, suite: &'r SuiteLine) -> SuiteView<'r> {
    let groups = report.groups.iter().filter(|group| group.suite == suite.name).collect();
    let pairs = report.pairs.iter().filter(|pair| pair.suite == suite.name).collect();
    SuiteView { report, suite, groups, pairs }
}

/// The main figures in a sentence: the first group, and each other group compared with it.
fn headline(report: &Report, suite: &SuiteLine) -> Markup {
    let of = of(report, suite);
    let Some(first) = of.groups.first() else {
        return html! { p.lede { strong { (plain(&suite.name)) } ": no unit is done yet." } };
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

fn sentence(group: &ReportGroup) -> String {
    let metric = |name: &str| group.metrics.get(name).copied();
    let pass = metric("pass").unwrap_or(Estimate::rate(0, 0));
    let attempts = metric("attempts")
        .map_or_else(String::new, |estimate| format!(", in {} attempts", shown(&estimate)));
    let silent =
        metric("silently_wrong").and_then(|estimate| estimate.hits).filter(|hits| *hits > 0);
    let silent = silent
        .map_or_else(String::new, |hits| format!(", {} silently wrong", counted(hits, "edit")));
    let plain = |name: &str| metric(name).and_then(|estimate| estimate.value).map(number);
    let score =
        plain("avg_final_score").map_or_else(String::new, |score| format!(", final score {score}"));
    let cost = plain("cost_usd").map_or_else(String::new, |cost| format!(", ${cost} a task"));
    format!(
        "passed {} of {} ({}){attempts}{score}{cost}{silent}",
        pass.hits.unwrap_or(0),
        counted(pass.n, "task"),
        shown(&pass)
    )
}

/// The paired difference in attempts between two groups.
fn against<'r>(
    of: &SuiteView<'r>,
    first: &ReportGroup,
    group: &ReportGroup,
) -> Option<&'r PairedDifference> {
    let same = |names: &[String; 2], group: &ReportGroup| {
        names[0] == group.strategy && names[1] == group.guards
    };
    of.pairs
        .iter()
        .copied()
        .find(|pair| pair.metric == "attempts" && same(&pair.from, first) && same(&pair.to, group))
}

fn difference(pair: &PairedDifference) -> String {
    let PairedDifference { difference, low, high, p, n, .. } = pair;
    if difference.abs() < f64::EPSILON && low.to_bits() == high.to_bits() {
        return format!(" – no difference in attempts on the same {n} tasks");
    }
    format!(
        " – {} attempts on the same {n} tasks [{}, {}], {}",
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
                (suite.tasks) " tasks" @if suite.teaching > 0 { ", " (suite.teaching) " more tasks only teach" }
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
                "Each task runs in a scratch repository with the files before and one commit: lessons, attempt, judgement, next attempt. "
                "Each session counts a task again. Rates have Wilson’s 95 % interval; means have the interval of a percentile bootstrap "
                "with 2000 samples. Differences compare the same tasks, each with the mean of its sessions. They have a bootstrap interval and the p-value "
                "of an exact two-sided test: McNemar’s for values of 0 and 1, else the sign test. p-values are not corrected for multiple "
                "comparisons. Fewer than six pairs have no test: their smallest p-value is above 0.05. Sessions and edits of one task count as "
                "independent in the intervals of figures, which makes these too narrow."
            }
            @if let Some(since) = &report.since {
                p { "Tasks of " (since) " and later were judged; older tasks only taught." }
            }
            dl {
                @for metric in &report.metrics { dt { code { (metric.name) } } dd.dim { (metric.about) } }
            }
            h3 { "Reproduce" }
            pre { @for suite in &report.suites { (plain(&suite.command)) "\n" } }
            p.dim {
                "Run this in the directory that has the suite. If not all tasks were judged, name each task of the table above with "
                code { "--task" } ". edt " (report.version) ", seed " (report.seed) "."
                @for suite in &report.suites { " " (plain(&suite.name)) ": SHA-256 " code { (suite.digest) } "." }
                @if let Some(times) = &report.times {
                    " " (seconds(times.units_ms)) " s in all units, " (seconds(times.longest_ms)) " s in the longest."
                }
            }
        }
    }
}

fn name_of(group: &ReportGroup) -> String {
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

/// A figure and its interval.
fn value(estimate: &Estimate) -> Option<(String, String)> {
    let (value, low, high) = (estimate.value?, estimate.low?, estimate.high?);
    if estimate.hits.is_some() {
        let percent = |estimate: f64| format!("{:.0}", estimate * 100.0);
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

/// A number with its sign; negative numbers have a true minus sign.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number(value.abs()))
}

fn probability(p: Option<f64>) -> String {
    match p {
        None => "too few pairs for a test".to_owned(),
        Some(p) if p < 0.001 => format!("p = {p:.1e}"),
        Some(p) => format!("p = {p:.3}"),
    }
}

/// Foreign text with control and invisible characters as `\u{…}`.
fn plain(text: &str) -> String {
    text.split('\n').map(|line| escape_controls(line).0).collect::<Vec<_>>().join("\n")
}

/// The CSS class and the dash pattern of the `at`-th group; dashes distinguish curves in grey
/// prints.
fn colour(at: usize) -> (String, &'static str) {
    const DASHES: [&str; 4] = ["none", "7 4", "2 3", "9 3 2 3"];
    (format!("c{}", at % 8), DASHES[at % DASHES.len()])
}

#[cfg(test)]
mod tests;
