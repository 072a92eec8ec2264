//! Small multiples: for each measure a row of panels, one per group, with a confidence band. The
//! other groups' curves are faint in each panel.

use maud::{Markup, html};

use super::{SuiteView, colour, name_of, number, shown};
use crate::report::{Estimate, ReportGroup, SessionFigures};

/// The plot area in units of the view box, 240 × 150.
const LEFT: f64 = 38.0;
const RIGHT: f64 = 230.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 116.0;

struct Curve {
    name: String,
    points: Vec<(u32, Estimate)>,
}

struct Measure<'a> {
    title: &'a str,
    axis: &'a str,
    scale: Scale,
    lines: Vec<Curve>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// From 0 to 100 %.
    Percent,
    /// From 0 to 1.
    Score,
    /// From 0 to the greatest value.
    Number,
}

/// All measures that have more than one point per curve.
pub(super) fn curves(of: &SuiteView<'_>) -> Markup {
    let lines = |points: &dyn Fn(&ReportGroup) -> Vec<(u32, Estimate)>| -> Vec<Curve> {
        of.groups
            .iter()
            .map(|group| Curve { name: name_of(group), points: points(group) })
            .collect()
    };
    let by_attempt = |title, scale, take: fn(&ReportGroup) -> &Vec<Estimate>| Measure {
        title,
        axis: "attempts",
        scale,
        lines: lines(&|group| (1..).zip(take(group).iter().copied()).collect()),
    };
    let by_session = |title, scale, take: fn(&SessionFigures) -> Estimate| Measure {
        title,
        axis: "session",
        scale,
        lines: lines(&|group| {
            group.by_session.iter().map(|session| (session.session, take(session))).collect()
        }),
    };
    let mut measures = vec![
        by_attempt("Passed within the given number of attempts", Scale::Percent, |group| {
            &group.by_attempt
        }),
        by_attempt("Mean score after the given number of attempts", Scale::Score, |group| {
            &group.score_by_attempt
        }),
        by_session("Passed, by session", Scale::Percent, |point| point.pass),
        by_session("Passed at the first attempt, by session", Scale::Percent, |point| {
            point.pass_first
        }),
        by_session("Attempts until a task passed, by session", Scale::Number, |point| {
            point.attempts
        }),
        by_session("Mean final score, by session", Scale::Score, |point| point.avg_final_score),
    ];
    measures.retain(|measure| measure.lines.iter().any(|line| line.points.len() > 1));
    // Scores of only 0 and 1 have the same curves as the passes.
    let passes: Vec<Vec<Option<f64>>> = measures
        .iter()
        .filter(|measure| measure.scale == Scale::Percent)
        .map(Measure::values)
        .collect();
    measures.retain(|measure| measure.scale != Scale::Score || !passes.contains(&measure.values()));
    html! {
        @if !measures.is_empty() {
            h3 { "Curves" }
            p.dim { "One panel per strategy; the others are faint. Bands are 95 % intervals. Scores that are 0 or 1 in every attempt have the curves of the passes and are left out." }
            @for measure in &measures { (measure.row()) }
        }
    }
}

impl Measure<'_> {
    /// All values, for comparison.
    fn values(&self) -> Vec<Option<f64>> {
        self.lines.iter().flat_map(|line| line.points.iter().map(|point| point.1.value)).collect()
    }

    fn row(&self) -> Markup {
        html! {
            figure {
                figcaption { (self.title) }
                div.multiples {
                    @for (at, line) in self.lines.iter().enumerate() {
                        div class=(colour(at).0) { span.panel { (line.name) } (self.panel(at)) }
                    }
                }
                @for names in self.equal() { p.dim { "Equal curves: " (names.join(", ")) "." } }
            }
        }
    }

    /// The names of lines with the same values, as groups of two or more.
    fn equal(&self) -> Vec<Vec<&str>> {
        let values = |line: &Curve| -> Vec<Option<f64>> {
            line.points.iter().map(|point| point.1.value).collect()
        };
        let mut groups: Vec<(Vec<Option<f64>>, Vec<&str>)> = Vec::new();
        for line in &self.lines {
            let own = values(line);
            match groups.iter_mut().find(|(known, _)| *known == own) {
                Some((_, names)) => names.push(&line.name),
                None => groups.push((own, vec![&line.name])),
            }
        }
        groups.into_iter().map(|(_, names)| names).filter(|names| names.len() > 1).collect()
    }

    fn panel(&self, at: usize) -> Markup {
        let places = || self.lines.iter().flat_map(|line| line.points.iter());
        let (first, last) = (
            places().map(|point| point.0).min().unwrap_or(1),
            places().map(|point| point.0).max().unwrap_or(1),
        );
        let highest = places().filter_map(|point| point.1.high).fold(0.0, f64::max);
        let top = if self.scale == Scale::Number { highest.ceil().max(1.0) } else { 1.0 };
        let span = f64::from((last - first).max(1));
        let x = |place: u32| LEFT + f64::from(place - first) / span * (RIGHT - LEFT);
        let y = |value: f64| BOTTOM - (value / top).clamp(0.0, 1.0) * (BOTTOM - TOP);
        let label = |value: f64| match self.scale {
            Scale::Percent => format!("{:.0} %", value * 100.0),
            Scale::Score | Scale::Number => number(value),
        };
        let every = ((last - first) / 5).max(1);
        let others = self.lines.iter().enumerate().filter(|(other, _)| *other != at);
        html! {
            svg viewBox="0 0 240 150" role="img" {
                title { (self.title) ": " (self.lines[at].summary()) }
                @for half in 0..=2_u8 {
                    @let value = f64::from(half) / 2.0 * top;
                    path.axis d=(format!("M{LEFT} {0:.1}H{RIGHT}", y(value))) {}
                    text.t x=(LEFT - 5.0) y=(format!("{:.1}", y(value) + 4.0)) text-anchor="end" { (label(value)) }
                }
                @for place in (first..=last).filter(|place| (place - first) % every == 0) {
                    text.t x=(format!("{:.1}", x(place))) y=(BOTTOM + 15.0) text-anchor="middle" { (place) }
                }
                text.t x=(f64::midpoint(LEFT, RIGHT)) y=(BOTTOM + 29.0) text-anchor="middle" { (self.axis) }
                @for (_, other) in others { path.faint d=(other.path(&x, &y)) {} }
                (self.lines[at].drawn(at, &x, &y))
            }
        }
    }
}

impl Curve {
    fn summary(&self) -> String {
        let points: Vec<String> = self.points.iter().map(|(_, point)| shown(point)).collect();
        format!("{} {}", self.name, points.join(", "))
    }

    fn path(&self, x: &dyn Fn(u32) -> f64, y: &dyn Fn(f64) -> f64) -> String {
        let known = self.points.iter().filter_map(|(place, point)| Some((*place, point.value?)));
        joined(known, x, y)
    }

    fn drawn(&self, at: usize, x: &dyn Fn(u32) -> f64, y: &dyn Fn(f64) -> f64) -> Markup {
        let known: Vec<(u32, f64, f64, f64, String)> = self
            .points
            .iter()
            .filter_map(|(place, point)| {
                Some((*place, point.value?, point.low?, point.high?, shown(point)))
            })
            .collect();
        let upper = known.iter().map(|point| (point.0, point.3));
        let lower = known.iter().rev().map(|point| (point.0, point.2));
        let band = joined(upper.chain(lower), x, y);
        html! {
            @if !known.is_empty() {
                path.b d=(format!("{band}Z")) {}
                path.l d=(self.path(x, y)) stroke-dasharray=(colour(at).1) {}
                @for (place, value, _, _, figure) in &known {
                    path.m d=(marker(at, x(*place), y(*value))) { title { (self.name) ", " (place) ": " (figure) } }
                }
            }
        }
    }
}

fn joined(
    points: impl Iterator<Item = (u32, f64)>,
    x: &dyn Fn(u32) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> String {
    let points: Vec<String> =
        points.map(|(place, value)| format!("{:.1} {:.1}", x(place), y(value))).collect();
    if points.is_empty() { String::new() } else { format!("M{}", points.join("L")) }
}

/// The outline of the `at`-th group's marker: a square, a diamond, a triangle, a bar.
fn marker(at: usize, x: f64, y: f64) -> String {
    let size = 3.5;
    match at % 4 {
        0 => format!("M{:.1} {:.1}h7v7h-7Z", x - size, y - size),
        1 => format!("M{x:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5Z", y - 4.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9Z", y - 4.5),
        _ => format!("M{:.1} {:.1}h3v9h-3Z", x - 1.5, y - 4.5),
    }
}
