//! The page as a browser's parser reads it: well-formed, self-contained, and with foreign text
//! escaped.

use super::*;
use crate::judge::class::ErrorClass;
use crate::plan::{RunPlan, Shard, SuitePlan, TaskSession, Unit};
use crate::report::Timing;
use crate::results::{AttemptResult, TaskResult, UnitResult};

const HOSTILE: &str =
    "</title><script>alert(1)</script><img src=x onerror=\"alert(1)\"> & '\u{202e}x";

/// A run of two strategies over two sessions, with hostile names.
fn report() -> Report {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let tasks = words(&[HOSTILE, "plain"]);
    let suite_plan = SuitePlan {
        name: HOSTILE.into(),
        location: "/x/s".into(),
        digest: "d".repeat(64),
        agent: format!("python3 agent.py '{HOSTILE}' https://elsewhere.example/x.js"),
        strategies: words(&["none", "reflection"]),
        guards: words(&["on"]),
        sessions: 2,
        attempts: 3,
        tasks: tasks.clone(),
        teaching: Vec::new(),
    };
    let (schema, version) = (RunPlan::SCHEMA.to_owned(), "1".to_owned());
    let plan = RunPlan {
        schema,
        version,
        seed: 7,
        seconds: 60.0,
        since: None,
        memory: None,
        judge_model: None,
        suites: vec![suite_plan],
        shard: Shard::WHOLE,
    };
    let attempt = |pass: bool| AttemptResult {
        pass,
        score: if pass { 1.0 } else { 0.5 },
        error_class: (!pass).then_some(ErrorClass::Unit),
        sent: 2,
        parsed: 2,
        landed: 1,
        silent: u32::from(!pass),
        tried_without: 1,
        refusals: [(HOSTILE.to_owned(), 2)].into(),
        ..AttemptResult::default()
    };
    let run = |task: &str, session: u32, fast: bool| TaskResult {
        task: task.to_owned(),
        class: Some(format!("{task} class")),
        session,
        teaches: false,
        episodes: 0,
        attempts: if fast { vec![attempt(true)] } else { vec![attempt(false), attempt(true)] },
        trace: Vec::new(),
    };
    let units = plan.units();
    let done = |unit: &Unit| {
        let Some(TaskSession { session, task }) = unit.only.clone() else { unreachable!() };
        UnitResult {
            unit: unit.clone(),
            runs: vec![run(&task, session, unit.strategy == "reflection")],
            ms: 1,
        }
    };
    let all: Vec<UnitResult> = units.iter().map(done).collect();
    Report::of(&plan, &all, Timing::Included)
}

/// The opening tags in order. Fails if a tag is not closed.
fn tags(page: &str) -> Vec<String> {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let (mut open, mut all) = (Vec::new(), Vec::new());
    // The content of a style element is not markup.
    let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
    let page = format!("{}{}", &page[..style.start + 7], &page[style.end..]);
    for piece in page.split('<').skip(1) {
        let (tag, text) =
            piece.split_once('>').unwrap_or_else(|| panic!("a tag does not end: {piece:?}"));
        assert!(!text.contains('>'), "a bare > in {text:?}");
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag:?}");
        assert!(
            tag.matches(" class=").count() < 2,
            "the second attribute would be ignored: {tag:?}"
        );
        match tag.strip_prefix('/') {
            Some(_) => assert_eq!(open.pop().as_deref(), Some(name), "in {all:?}"),
            None if VOID.contains(&name) => {}
            None => {
                open.push(name.to_owned());
                all.push(tag.to_owned());
            }
        }
    }
    assert_eq!(open, Vec::<String>::new());
    all
}

#[test]
fn the_page_is_well_formed_and_self_contained() {
    let page = page(&report());
    let tags = tags(&page);
    let of =
        |name: &str| tags.iter().filter(|tag| tag.split_whitespace().next() == Some(name)).count();
    for missing in
        ["script", "link", "img", "iframe", "object", "embed", "base", "form", "use", "image"]
    {
        assert_eq!(of(missing), 0, "<{missing}>");
    }
    // Quoted text is the value of an attribute.
    let bare: Vec<String> = tags.iter().map(|tag| tag.split('"').step_by(2).collect()).collect();
    for attribute in [" src=", " href=", " on", "url(", "@import"] {
        assert!(
            !bare.iter().any(|tag| tag.contains(attribute)) && !STYLE.contains(attribute),
            "{attribute}"
        );
    }
    // The only URL is in the agent's own command line, as text.
    let addresses: Vec<usize> = page.match_indices("://").map(|(at, _)| at).collect();
    assert!(addresses.iter().all(
        |at| page[..*at].ends_with("https") && page[*at..].starts_with("://elsewhere.example")
    ));
    assert_eq!(of("svg"), 2 * 5 + 4, "panels, differences");
    assert!(
        page.contains("prefers-color-scheme:dark")
            && page.contains("@media print")
            && page.contains("viewport")
    );
}

#[test]
fn foreign_text_stays_text() {
    let page = page(&report());
    assert!(!page.contains("<script") && !page.contains("<img"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(
        !page.contains('\u{202e}') && page.contains("\\u{202e}"),
        "changes of the text direction are made visible"
    );
}

#[test]
fn the_page_has_the_figures_of_the_report() {
    let report = report();
    let page = page(&report);
    for text in [
        "passed 4 of 4 tasks (100 % [51, 100])",
        "in 2.00 [2.00, 2.00] attempts, final score 1.00",
        "Equal curves: none, reflection.",
        "not reported",
        "−1.00 attempts on the same 2 tasks [−1.00, −1.00], too few pairs for a test",
        "4 of 8 edits that landed were silently wrong",
        "0 of 8 edits that guards alone refused would have made their task pass",
        "--strategy none,reflection --guards on --sessions 2 --attempts 3 --limit 60 --seed 7",
        "passed within the attempts",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page, super::page(&report), "pure");
    assert!(page.contains("cell p2") && page.contains("cell p1"));
}

#[test]
fn an_empty_report_is_a_page() {
    let mut empty = report();
    (empty.groups, empty.pairs, empty.done) = (Vec::new(), Vec::new(), 0);
    let page = page(&empty);
    tags(&page);
    assert!(page.contains("no unit is done yet") && page.contains("0 of 8 units"));
}
