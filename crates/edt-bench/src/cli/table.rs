//! The report as a table for a terminal.

use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint, safe};
use crate::report::metric::METRICS;
use crate::report::{
    Estimate, PairedDifference, Report, ReportGroup, SessionFigures, TraceComparison,
};
use edt_types::text::counted;

pub(super) fn report(report: &Report) -> String {
    let mut out = String::new();
    if report.done < report.of {
        let line = format!("incomplete: {} of {} units are done", report.done, report.of);
        out += &format!("{}\n", paint(NOTE, &line));
    }
    for suite in &report.suites {
        let facts = format!(
            "{}, sessions {}, attempts {}, seed {}",
            counted(suite.tasks, "task"),
            suite.sessions,
            suite.attempts,
            report.seed
        );
        out += &format!(
            "{} {}\n  {}\n",
            paint(NAME, &suite.name),
            paint(DIM, &facts),
            paint(DIM, &safe(&suite.agent))
        );
        let groups: Vec<&ReportGroup> =
            report.groups.iter().filter(|group| group.suite == suite.name).collect();
        out += &figures(&groups);
        out += &curves(&groups);
        let pairs: Vec<&PairedDifference> =
            report.pairs.iter().filter(|pair| pair.suite == suite.name).collect();
        out += &differences(&pairs);
        let remains = report.remains.iter().filter(|remains| remains.suite == suite.name);
        out += &remains.map(remaining).collect::<String>();
    }
    if let Some(times) = &report.times {
        let seconds = |ms: u64| std::time::Duration::from_millis(ms).as_secs_f64();
        let (all, longest) = (seconds(times.units_ms), seconds(times.longest_ms));
        out += &format!(
            "{}\n",
            paint(DIM, &format!("{all:.1} s in all units, {longest:.1} s in the longest"))
        );
    }
    out
}

fn name(strategy: &str, guards: &str) -> String {
    if guards == "on" { strategy.to_owned() } else { format!("{strategy}, guards {guards}") }
}

/// A figure with its interval.
fn shown(estimate: &Estimate) -> String {
    let (Some(value), Some(low), Some(high)) = (estimate.value, estimate.low, estimate.high) else {
        return "-".to_owned();
    };
    if estimate.hits.is_some() {
        return format!("{:.0} % [{:.0}, {:.0}]", value * 100.0, low * 100.0, high * 100.0);
    }
    let digits = if value.abs() < 10.0 { 2 } else { 0 };
    format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
}

/// One row per metric, one column per group.
fn figures(groups: &[&ReportGroup]) -> String {
    let mut rows = vec![
        std::iter::once(String::new())
            .chain(groups.iter().map(|one| name(&one.strategy, &one.guards)))
            .collect(),
    ];
    for metric in METRICS {
        let of = |group: &&ReportGroup| group.metrics.get(metric.name).copied();
        if groups.iter().any(|group| of(group).is_some()) {
            let cells = groups
                .iter()
                .map(|group| of(group).map_or_else(|| "-".to_owned(), |one| shown(&one)));
            rows.push(std::iter::once(metric.title.to_owned()).chain(cells).collect());
        }
    }
    aligned(&rows)
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let line = format!("  {}", cells.join("  ").trim_end());
        out += &if at == 0 { paint(DIM, &line) } else { line };
        out.push('\n');
    }
    out
}

/// Figures by attempt and by session, classes of errors, and refusals.
fn curves(groups: &[&ReportGroup]) -> String {
    let percent = |one: &Estimate| {
        one.value.map_or_else(|| "-".to_owned(), |value| format!("{:.0} %", value * 100.0))
    };
    let number =
        |one: &Estimate| one.value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let table = |title: &str, cells: &dyn Fn(&ReportGroup) -> Vec<String>| {
        let columns = groups.iter().map(|group| cells(group).len()).max().unwrap_or(0);
        if columns < 2 {
            return String::new();
        }
        let head = (1..=columns).map(|column| column.to_string());
        let mut rows = vec![std::iter::once(title.to_owned()).chain(head).collect::<Vec<_>>()];
        rows.extend(groups.iter().map(|group| {
            std::iter::once(name(&group.strategy, &group.guards)).chain(cells(group)).collect()
        }));
        aligned(&rows)
    };
    let by_session = |title: &str, cell: &dyn Fn(&SessionFigures) -> String| {
        table(title, &|group| group.by_session.iter().map(cell).collect())
    };
    let mut out = String::new();
    out +=
        &table("passed within attempts", &|group| group.by_attempt.iter().map(percent).collect());
    out += &table("score after attempts", &|group| {
        group.score_by_attempt.iter().map(number).collect()
    });
    out += &by_session("passed by session", &|session| percent(&session.pass));
    out += &by_session("attempts by session", &|session| shown(&session.attempts));
    out += &by_session("final score by session", &|session| number(&session.avg_final_score));
    for group in groups {
        let errors = group.errors.iter().map(|(class, count)| (*class, *count)).collect();
        out += &counted_line("errors", group, errors);
        let refusals = group.refusals.iter().map(|(code, count)| (code.as_str(), *count)).collect();
        out += &counted_line("refused", group, refusals);
    }
    out
}

/// The eight most frequent, in a line; empty if there are none.
fn counted_line(title: &str, group: &ReportGroup, mut counts: Vec<(&str, u64)>) -> String {
    if counts.is_empty() {
        return String::new();
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let counts: Vec<String> =
        counts.iter().take(8).map(|(name, count)| format!("{name} {count}")).collect();
    let head = format!("{title}, {}:", name(&group.strategy, &group.guards));
    format!("  {} {}\n", paint(DIM, &head), counts.join(", "))
}

/// The differences of the main metrics; the JSON has all of them.
fn differences(pairs: &[&PairedDifference]) -> String {
    let (mut lines, mut same) = (String::new(), 0);
    for pair in
        pairs.iter().filter(|pair| ["pass", "attempts", "silently_wrong"].contains(&pair.metric))
    {
        let (from, to) = (name(&pair.from[0], &pair.from[1]), name(&pair.to[0], &pair.to[1]));
        let PairedDifference { metric, n, difference, low, high, more, less, p, test, .. } = pair;
        if more + less == 0 {
            same += 1;
            continue;
        }
        let figure = format!("{difference:+.2} [{low:+.2}, {high:+.2}]");
        let figure = if *low > 0.0 || *high < 0.0 { paint(GOOD, &figure) } else { figure };
        let split = format!("{n} pairs ({more} more, {less} less)");
        let p = p.map_or_else(|| "too few pairs".to_owned(), |p| format!("{test} p = {p:.2e}"));
        lines += &format!("  {from} → {to}: {} {figure}, {split}, {p}\n", metric.replace('_', " "));
    }
    if same > 0 {
        lines += &format!("  {same} more differences are 0 in every pair\n");
    }
    if lines.is_empty() {
        lines
    } else {
        format!("  {}\n{lines}", paint(DIM, "paired differences"))
    }
}

/// Each call of a recorded session and the calls that replace it.
fn remaining(remains: &TraceComparison) -> String {
    let mut rows = vec![
        ["call", "kind", "command", "as recorded", "through edt run", "with edt"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let cut = |text: &str, most: usize| match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    };
    for row in &remains.rows {
        let with_edt =
            if row.not_needed { "not needed".to_owned() } else { row.with_edt.join("; ") };
        rows.push(vec![
            row.call.to_string(),
            row.kind.clone(),
            cut(&safe(&row.called).replace('\n', "␊"), 44),
            cut(&row.was, 24),
            row.guarded.as_deref().map_or_else(String::new, |answer| cut(answer, 24)),
            cut(&safe(&with_edt), 48),
        ]);
    }
    let kinds: Vec<String> = remains
        .kinds
        .iter()
        .map(|(kind, left)| format!("{kind} {} → {}", left.were, left.are))
        .collect();
    let [was, guarded, edt] = remains
        .bytes_lost
        .map(|bytes| bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()));
    let bytes = format!("bytes lost: {was} as recorded, {guarded} through edt run, {edt} with edt");
    format!(
        "{}  {} {} → {}: {}\n  {}\n",
        aligned(&rows),
        paint(NAME, "calls"),
        remains.calls_were,
        remains.calls_are,
        kinds.join(", "),
        paint(if edt == "0" { GOOD } else { BAD }, &bytes)
    )
}
