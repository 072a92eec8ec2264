//! Tables: figures, refusals, harm, classes, tasks, and the comparison of recorded sessions.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::{SuiteView, colour, name_of, plain, shown, value};
use crate::report::metric::{METRICS, Metric};
use crate::report::{TaskCell, TraceComparison};

/// One row per metric, one column per group.
pub(super) fn summary(of: &SuiteView<'_>) -> Markup {
    let measured = METRICS.iter().filter(|metric| {
        is_cost(metric) || of.groups.iter().any(|group| group.metrics.contains_key(metric.name))
    });
    html! {
        h3 { "Figures" }
        div.scroll {
            table {
                caption { "Each figure with its 95 % interval and, below, the size of the sample." }
                thead { tr { th.text scope="col" { "metric" } (heads(of)) } }
                tbody {
                    @for metric in measured {
                        tr {
                            th scope="row" title=(metric.about) { (metric.title) }
                            @for group in &of.groups {
                                td {
                                    @if let Some(estimate) = group.metrics.get(metric.name) {
                                        @let figure = value(estimate).unwrap_or_else(|| ("–".to_owned(), String::new()));
                                        (figure.0)
                                        small { (figure.1) }
                                        small {
                                            @if let Some(hits) = estimate.hits { (hits) " of " } @else { "n = " }
                                            (estimate.n)
                                        }
                                    } @else if is_cost(metric) { span.dim { "not reported" } } @else { "–" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The cost has a row even if no agent reports it.
fn is_cost(metric: &Metric) -> bool {
    metric.name == "cost_usd"
}

/// The heads of columns with numbers, which end at the right.
fn heads(of: &SuiteView<'_>) -> Markup {
    html! { @for (at, group) in of.groups.iter().enumerate() { th scope="col" class=(colour(at).0) { (name_of(group)) } } }
}

/// The heads of columns with text, which begin at the left.
fn text_heads(of: &SuiteView<'_>) -> Markup {
    html! { @for (at, group) in of.groups.iter().enumerate() { th scope="col" class=(format!("text {}", colour(at).0)) { (name_of(group)) } } }
}

/// Failed attempts by class of error, refusals by code, and how attempts ended.
pub(super) fn refusals(of: &SuiteView<'_>) -> Markup {
    let named = |counts: &BTreeMap<&'static str, u64>| {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<BTreeMap<_, _>>()
    };
    html! {
        (counts(of, "Failed attempts by class of error", "class", &|group| named(&group.errors)))
        (counts(of, "Refusals by code", "code", &|group| group.refusals.clone()))
        (counts(of, "How attempts ended", "end", &|group| {
            let ended = named(&group.ended);
            // If every attempt ended well, the table is omitted.
            if ended.keys().all(|name| name == "done") { BTreeMap::new() } else { ended }
        }))
    }
}

fn counts(
    of: &SuiteView<'_>,
    title: &str,
    head: &str,
    take: &dyn Fn(&super::ReportGroup) -> BTreeMap<String, u64>,
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
                                        @if count > 0 {
                                            span class=(format!("bar {}", colour(at).0)) style=(format!("width:{}px", count * 60 / most)) {}
                                        }
                                        (count)
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
pub(super) fn harm(of: &SuiteView<'_>) -> Markup {
    let metric = |group: &super::ReportGroup, name: &str| group.metrics.get(name).copied();
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

pub(super) fn classes(of: &SuiteView<'_>) -> Markup {
    let names: BTreeSet<&String> =
        of.groups.iter().flat_map(|group| group.by_class.keys()).collect();
    html! {
        @if names.len() > 1 {
            h3 { "By class of mistakes" }
            div.scroll {
                table {
                    caption { "Passed, and attempts until a task passed." }
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

/// One row per task, one cell per session.
pub(super) fn tasks(of: &SuiteView<'_>) -> Markup {
    let names: BTreeSet<&String> =
        of.groups.iter().flat_map(|group| group.by_task.keys()).collect();
    html! {
        h3 { "Task by task" }
        p.dim {
            "The attempt that passed, one cell per session: "
            @for at in 1..=of.suite.attempts { (cell(TaskCell { session: 0, passed_at: Some(at) })) } " "
            (cell(TaskCell { session: 0, passed_at: None })) " none."
        }
        div.scroll {
            table {
                thead { tr { th.text scope="col" { "task" } (text_heads(of)) } }
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

fn cell(cell: TaskCell) -> Markup {
    let class = format!("cell p{}", cell.passed_at.map_or(0, |at| at.min(5)));
    let title = (cell.session > 0).then(|| format!("session {}", cell.session));
    html! { span class=(class) title=[title] { @match cell.passed_at { Some(at) => (at), None => "✗" } } }
}

/// Each call of a recorded session and the calls that replace it.
pub(super) fn remains(remains: &TraceComparison) -> Markup {
    let [was, guarded, edt] = remains
        .bytes_lost
        .map(|bytes| bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{bytes} bytes")));
    html! {
        h3 { "Recorded session " (plain(&remains.was)) ", call by call" }
        p.lede {
            (remains.calls_were) " calls as recorded, " (remains.calls_are) " with edt. Lost at the end: " (was) " as recorded, " (guarded)
            " through " code { "edt run" } ", " strong { (edt) } " with edt."
        }
        div.scroll {
            table {
                thead { tr { th.text scope="col" { "kind of call" } th scope="col" { "as recorded" } th scope="col" { "with edt" } } }
                tbody {
                    @for (kind, left) in &remains.kinds {
                        tr { th scope="row" { (plain(kind)) } td { (left.were) } td { (left.are) } }
                    }
                }
            }
        }
        details {
            summary { "All calls" }
            div.scroll {
                table {
                    thead { tr { @for head in ["call", "kind", "command", "as recorded", "through edt run", "with edt"] { th.text scope="col" { (head) } } } }
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
