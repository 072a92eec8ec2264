//! What is told in tables: figures, refusals, harm, classes, the map of tasks, what remains of a recorded session.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::{Of, colour, name_of, plain, shown, value};
use crate::bench::report::metric::METRICS;
use crate::bench::report::{Cell, Remains};

/// The figures of every strategy and arm, a row a metric.
pub(super) fn summary(of: &Of<'_>) -> Markup {
    let measured = METRICS
        .iter()
        .filter(|metric| of.groups.iter().any(|group| group.metrics.contains_key(metric.name)));
    html! {
        h3 { "Figures" }
        div.scroll {
            table {
                caption { "With 95 % intervals; the count below is what was counted." }
                thead { tr { th.text scope="col" { "metric" } (heads(of)) } }
                tbody {
                    @for metric in measured {
                        tr {
                            th scope="row" title=(metric.about) { (metric.title) }
                            @for group in &of.groups {
                                td {
                                    @if let Some(estimate) = group.metrics.get(metric.name) {
                                        @let told = value(estimate).unwrap_or_else(|| ("–".to_owned(), String::new()));
                                        (told.0) " " span.dim { (told.1) }
                                        small { @if let Some(hits) = estimate.hits { (hits) " of " } (estimate.n) }
                                    } @else { "–" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn heads(of: &Of<'_>) -> Markup {
    html! { @for (at, group) in of.groups.iter().enumerate() { th scope="col" class=(colour(at).0) { (name_of(group)) } } }
}

/// Refusals by their codes, and how the agent's part ended.
pub(super) fn refusals(of: &Of<'_>) -> Markup {
    html! {
        (counts(of, "Refusals by code", "code", &|group| group.refusals.clone()))
        (counts(of, "How attempts ended", "end", &|group| {
            let ended: BTreeMap<String, u64> = group.ended.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
            // Where all is well there is nothing to tell.
            if ended.keys().all(|name| name == "done") { BTreeMap::new() } else { ended }
        }))
    }
}

fn counts(
    of: &Of<'_>,
    title: &str,
    head: &str,
    take: &dyn Fn(&super::Group) -> BTreeMap<String, u64>,
) -> Markup {
    let all: Vec<BTreeMap<String, u64>> = of.groups.iter().map(|group| take(group)).collect();
    let most = all.iter().flat_map(BTreeMap::values).copied().max().unwrap_or(0).max(1);
    let sum = |name: &String| all.iter().filter_map(|counts| counts.get(name)).sum::<u64>();
    let mut names: Vec<&String> =
        all.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>().into_iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse(sum(name)));
    html! {
        @if !names.is_empty() {
            h3 { (title) }
            div.scroll {
                table {
                    thead { tr { th.text scope="col" { (head) } (heads(of)) } }
                    tbody {
                        @for name in names {
                            tr {
                                th scope="row" { code { (plain(name)) } }
                                @for (at, counts) in all.iter().enumerate() {
                                    @let count = counts.get(name).copied().unwrap_or(0);
                                    td {
                                        (count)
                                        @if count > 0 {
                                            span class=(format!("bar {}", colour(at).0)) style=(format!("width:{}px", count * 80 / most)) {}
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Guard harm and silently wrong edits, in sentences.
pub(super) fn harm(of: &Of<'_>) -> Markup {
    let metric = |group: &super::Group, name: &str| group.metrics.get(name).copied();
    html! {
        h3 { "Harm" }
        ul {
            @for group in &of.groups {
                li {
                    strong { (name_of(group)) } ": "
                    @match metric(group, "silently_wrong") {
                        Some(one) => { (one.hits.unwrap_or(0)) " of " (one.n) " edits that landed were silently wrong (" (shown(&one)) "); " }
                        None => { "no edit landed; " }
                    }
                    @match metric(group, "guard_harm") {
                        Some(one) => {
                            (one.hits.unwrap_or(0)) " of " (one.n) " edits that guards alone refused would have made their task pass (" (shown(&one)) ")."
                        }
                        None => { "guards alone refused no edit." }
                    }
                }
            }
        }
    }
}

/// Class by class of mistakes.
pub(super) fn classes(of: &Of<'_>) -> Markup {
    let names: BTreeSet<&String> =
        of.groups.iter().flat_map(|group| group.by_class.keys()).collect();
    html! {
        @if names.len() > 1 {
            h3 { "By class of mistakes" }
            div.scroll {
                table {
                    caption { "Passed; attempts until then." }
                    thead { tr { th.text scope="col" { "class" } (heads(of)) } }
                    tbody {
                        @for class in names {
                            tr {
                                th scope="row" { (plain(class)) }
                                @for group in &of.groups {
                                    td { @if let Some(one) = group.by_class.get(class) { (shown(&one.pass)) small { (shown(&one.attempts)) } } @else { "–" } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The map: a row a task, a cell a session.
pub(super) fn tasks(of: &Of<'_>) -> Markup {
    let names: BTreeSet<&String> =
        of.groups.iter().flat_map(|group| group.by_task.keys()).collect();
    html! {
        h3 { "Task by task" }
        p.dim {
            "The attempt that passed, session by session: "
            @for at in 1..=of.suite.attempts { (cell(Cell { session: 0, passed_at: Some(at) })) } " "
            (cell(Cell { session: 0, passed_at: None })) " none."
        }
        div.scroll {
            table {
                thead { tr { th.text scope="col" { "task" } (heads(of)) } }
                tbody {
                    @for task in names {
                        tr {
                            th scope="row" { (plain(task)) }
                            @for group in &of.groups {
                                td.text { @for one in group.by_task.get(task).into_iter().flatten() { (cell(*one)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(cell: Cell) -> Markup {
    let class = format!("cell p{}", cell.passed_at.map_or(0, |at| at.min(5)));
    let title = (cell.session > 0).then(|| format!("session {}", cell.session));
    html! { span class=(class) title=[title] { @match cell.passed_at { Some(at) => (at), None => "✗" } } }
}

/// What remains of each call of a recorded session.
pub(super) fn remains(remains: &Remains) -> Markup {
    let [was, guarded, edt] = remains
        .bytes_lost
        .map(|bytes| bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{bytes} bytes")));
    html! {
        h3 { "What remains of " (plain(&remains.was)) }
        p.lede {
            (remains.calls_were) " calls as it was, " (remains.calls_are) " with edt. Lost at the end: " (was) " as it was, " (guarded)
            " through " code { "edt run" } ", " strong { (edt) } " with edt."
        }
        div.scroll {
            table {
                thead { tr { th.text scope="col" { "kind of call" } th scope="col" { "as it was" } th scope="col" { "with edt" } } }
                tbody {
                    @for (kind, left) in &remains.kinds {
                        tr { th scope="row" { (plain(kind)) } td { (left.were) } td { (left.are) } }
                    }
                }
            }
        }
        details {
            summary { "Call by call" }
            div.scroll {
                table {
                    thead { tr { @for head in ["call", "kind", "what it was", "as it was", "through edt run", "with edt"] { th.text scope="col" { (head) } } } }
                    tbody {
                        @for row in &remains.rows {
                            tr {
                                th scope="row" { (row.call) }
                                td.text { (plain(&row.kind)) }
                                td.text { code { (plain(&row.called)) } }
                                td.text { (plain(&row.was)) }
                                td.text { (plain(row.guarded.as_deref().unwrap_or("–"))) }
                                td.text { @if row.not_needed { "not needed" } @else { (plain(&row.with_edt.join("; "))) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
