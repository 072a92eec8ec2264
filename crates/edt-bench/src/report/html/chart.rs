//! Line charts with confidence bands: passed by attempts, and by session.

use maud::{Markup, html};

use super::{SuiteView, colour, name_of, number, shown};
use crate::report::Estimate;

/// The plot area in units of the view box, 480 × 250.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 466.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 210.0;

struct Curve {
    name: String,
    points: Vec<(u32, Estimate)>,
}

struct Plot<'a> {
    title: &'a str,
    axis: &'a str,
    rate: bool,
    lines: Vec<Curve>,
}

/// All charts that have more than one point per curve.
pub(super) fn curves(of: &SuiteView<'_>) -> Markup {
    let line = |points: &dyn Fn(&super::ReportGroup) -> Vec<(u32, Estimate)>| -> Vec<Curve> {
        of.groups
            .iter()
            .map(|group| Curve { name: name_of(group), points: points(group) })
            .collect()
    };
    let attempts = line(&|group| (1..).zip(group.by_attempt.iter().copied()).collect());
    let by_session = |take: fn(&crate::report::SessionFigures) -> Estimate| {
        line(&|group| {
            group.by_session.iter().map(|session| (session.session, take(session))).collect()
        })
    };
    let plots = [
        Plot {
            title: "Passed within the given number of attempts",
            axis: "attempts",
            rate: true,
            lines: attempts,
        },
        Plot {
            title: "Passed at the first attempt, by session",
            axis: "session",
            rate: true,
            lines: by_session(|point| point.pass_first),
        },
        Plot {
            title: "Attempts until a task passed, by session",
            axis: "session",
            rate: false,
            lines: by_session(|point| point.attempts),
        },
    ];
    let plots: Vec<&Plot<'_>> =
        plots.iter().filter(|plot| plot.lines.iter().any(|line| line.points.len() > 1)).collect();
    html! {
        @if !plots.is_empty() {
            h3 { "Curves" }
            ul.legend {
                @for (at, group) in of.groups.iter().enumerate() {
                    li { (sample(at)) (name_of(group)) }
                }
            }
            div.grid { @for plot in plots { (plot.figure()) } }
        }
    }
}

fn sample(at: usize) -> Markup {
    let (class, dashes) = colour(at);
    html! {
        svg class=(class) viewBox="0 0 40 12" aria-hidden="true" {
            path.l d="M0 6H40" stroke-dasharray=(dashes) {}
            circle.m cx="20" cy="6" r="3.5" {}
        }
    }
}

impl Plot<'_> {
    fn figure(&self) -> Markup {
        let places = || self.lines.iter().flat_map(|line| line.points.iter());
        let (first, last) = (
            places().map(|point| point.0).min().unwrap_or(1),
            places().map(|point| point.0).max().unwrap_or(1),
        );
        let highest = places().filter_map(|point| point.1.high).fold(0.0, f64::max);
        let top = if self.rate { 1.0 } else { highest.ceil().max(1.0) };
        let span = f64::from((last - first).max(1));
        let x = |place: u32| LEFT + f64::from(place - first) / span * (RIGHT - LEFT);
        let y = |value: f64| BOTTOM - (value / top).clamp(0.0, 1.0) * (BOTTOM - TOP);
        let label =
            |value: f64| if self.rate { format!("{:.0} %", value * 100.0) } else { number(value) };
        let every = ((last - first) / 10).max(1);
        let summary: Vec<String> = self.lines.iter().map(Curve::summary).collect();
        html! {
            figure {
                figcaption { (self.title) }
                svg viewBox="0 0 480 250" role="img" {
                    title { (self.title) ": " (summary.join("; ")) }
                    @for fourth in 0..=4_u8 {
                        @let value = f64::from(fourth) / 4.0 * top;
                        path.axis d=(format!("M{LEFT} {0:.1}H{RIGHT}", y(value))) {}
                        text.t x=(LEFT - 6.0) y=(format!("{:.1}", y(value) + 4.0)) text-anchor="end" { (label(value)) }
                    }
                    @for place in (first..=last).filter(|place| (place - first) % every == 0) {
                        text.t x=(format!("{:.1}", x(place))) y=(BOTTOM + 18.0) text-anchor="middle" { (place) }
                    }
                    text.t x=(f64::midpoint(LEFT, RIGHT)) y=(BOTTOM + 36.0) text-anchor="middle" { (self.axis) }
                    @for (at, line) in self.lines.iter().enumerate() { (line.drawn(at, &x, &y)) }
                }
            }
        }
    }
}

impl Curve {
    fn summary(&self) -> String {
        let points: Vec<String> = self.points.iter().map(|(_, point)| shown(point)).collect();
        format!("{} {}", self.name, points.join(", "))
    }

    fn drawn(&self, at: usize, x: &dyn Fn(u32) -> f64, y: &dyn Fn(f64) -> f64) -> Markup {
        let (class, dashes) = colour(at);
        let known: Vec<(u32, f64, f64, f64, String)> = self
            .points
            .iter()
            .filter_map(|(place, point)| {
                Some((*place, point.value?, point.low?, point.high?, shown(point)))
            })
            .collect();
        let path = |points: &mut dyn Iterator<Item = (u32, f64)>| -> String {
            points
                .map(|(place, value)| format!("{:.1} {:.1}", x(place), y(value)))
                .collect::<Vec<_>>()
                .join("L")
        };
        let upper = path(&mut known.iter().map(|point| (point.0, point.3)));
        let lower = path(&mut known.iter().rev().map(|point| (point.0, point.2)));
        let middle = path(&mut known.iter().map(|point| (point.0, point.1)));
        html! {
            @if !known.is_empty() {
                g class=(class) {
                    path.b d=(format!("M{upper}L{lower}Z")) {}
                    path.l d=(format!("M{middle}")) stroke-dasharray=(dashes) {}
                    @for (place, value, _, _, figure) in &known {
                        circle.m cx=(format!("{:.1}", x(*place))) cy=(format!("{:.1}", y(*value))) r="3.5" {
                            title { (self.name) ", " (place) ": " (figure) }
                        }
                    }
                }
            }
        }
    }
}
