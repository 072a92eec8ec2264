//! Paired differences as forest plots: one panel per metric, one row per pair.

use maud::{Markup, html};

use super::{PairedDifference, SuiteView, name, probability, signed};
use crate::report::metric::METRICS;

/// Metrics whose panels are open; the other panels are collapsed.
const FIRST: [&str; 4] = ["pass", "pass_first", "attempts", "silently_wrong"];
/// The horizontal range of the marks, in units of the view box.
const LEFT: f64 = 8.0;
const RIGHT: f64 = 292.0;

pub(super) fn all(of: &SuiteView<'_>) -> Markup {
    let panels = |open: bool| -> Vec<Markup> {
        let wanted = METRICS.iter().filter(|metric| FIRST.contains(&metric.name) == open);
        wanted
            .filter_map(|metric| {
                let pairs: Vec<&PairedDifference> =
                    of.pairs.iter().copied().filter(|pair| pair.metric == metric.name).collect();
                // A panel without any difference is omitted.
                pairs
                    .iter()
                    .any(|pair| pair.more + pair.less > 0)
                    .then(|| panel(of, metric.name, &pairs))
            })
            .collect()
    };
    let (open, folded) = (panels(true), panels(false));
    html! {
        @if !of.pairs.is_empty() {
            h3 { "Paired differences" }
            p.dim { "The same tasks, each with the mean of its sessions: the second group minus the first, mean and 95 % interval. An interval that "
                "crosses the dashed line is compatible with no difference." }
            @if open.is_empty() && folded.is_empty() { p { "Every difference is 0 in every pair." } }
            @for panel in open { (panel) }
            @if !folded.is_empty() {
                details { summary { "Differences in " (folded.len()) " more metrics" } @for panel in folded { (panel) } }
            }
        }
    }
}

fn panel(of: &SuiteView<'_>, metric: &str, pairs: &[&PairedDifference]) -> Markup {
    let line = of.report.metrics.iter().find(|line| line.name == metric);
    let (about, better) = line.map_or(("", "neither"), |line| (line.about, line.better));
    let widest = pairs
        .iter()
        .flat_map(|pair| [pair.low.abs(), pair.high.abs(), pair.difference.abs()])
        .fold(0.0, f64::max);
    let widest = if widest > 0.0 { widest } else { 1.0 };
    let x = |value: f64| f64::midpoint(LEFT, RIGHT) + value / widest * (RIGHT - LEFT) / 2.0;
    let better = match better {
        "higher" => "right is better",
        "lower" => "left is better",
        _ => "neither is better",
    };
    html! {
        div.scroll {
            table.forest {
                caption { code { (metric) } ": " (about) "; " (better) }
                thead {
                    tr {
                        th.text scope="col" { "groups" } th.mid scope="col" { "less · more" }
                        th scope="col" { "mean" } th scope="col" { "pairs" } th scope="col" { "test" }
                    }
                }
                tbody {
                    @for pair in pairs {
                        @let figures = format!("{} [{}, {}]", signed(pair.difference), signed(pair.low), signed(pair.high));
                        tr {
                            th scope="row" { (name(&pair.from[0], &pair.from[1])) " → " (name(&pair.to[0], &pair.to[1])) }
                            td style="min-width:16rem" {
                                svg viewBox="0 0 300 22" role="img" class=(verdict(pair, better)) {
                                    title { (figures) }
                                    path.zero d=(format!("M{:.1} 0V22", x(0.0))) {}
                                    path.l d=(format!("M{:.1} 11H{:.1}", x(pair.low), x(pair.high))) {}
                                    circle.m cx=(format!("{:.1}", x(pair.difference))) cy="11" r="5" {}
                                }
                            }
                            td { (figures) }
                            td { (pair.n) " pairs" small { (pair.more) " more, " (pair.less) " less" } }
                            td { (pair.test) small { (probability(pair.p)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Green for better, red for worse, no class if the interval crosses 0 or neither side is better.
fn verdict(pair: &PairedDifference, better: &str) -> &'static str {
    let right = match (pair.low > 0.0, pair.high < 0.0) {
        (true, _) => true,
        (_, true) => false,
        _ => return "",
    };
    match better {
        "right is better" => {
            if right {
                "good"
            } else {
                "bad"
            }
        }
        "left is better" => {
            if right {
                "bad"
            } else {
                "good"
            }
        }
        _ => "",
    }
}
