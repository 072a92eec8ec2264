//! Models as judges: a server on loopback, and recorded answers.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::edt_bench;
use crate::models::{KEY, Reply, Server, complete, status};

const EXPECTED: &str = "the right words, 417.5 of them";

/// A directory with one task that a model judges.
struct Court {
    dir: tempfile::TempDir,
}

impl Court {
    fn new(judge: &str) -> Court {
        let dir = tempfile::Builder::new().prefix("edt-judge-").tempdir().unwrap();
        let court = Court { dir };
        let suite = format!(
            r#"schema = "edt.suite/1"
description = "One."
attempts = 2

[[task]]
id = "one"
instruction = "Write the words to a.txt."
date = "2026-01-01"
judge = {{ kind = "llm", {judge} }}
repo = {{ "a.txt" = "x\n" }}
expected = {{ "a.txt" = "{EXPECTED}\n" }}
"#
        );
        std::fs::create_dir_all(court.path("home/.config")).unwrap();
        std::fs::create_dir_all(court.path("s")).unwrap();
        std::fs::write(court.path("s/suite.toml"), suite).unwrap();
        // It writes what it was told after a failed attempt.
        let agent = r#"
import json, os, sys
def edit(old, new):
    print(json.dumps({"type": "apply", "request": {"path": "a.txt", "mode": "edit", "old_text": old, "content": new}}), flush=True)
    sys.stdin.readline()
for line in sys.stdin:
    task = json.loads(line)
    if task["type"] != "task":
        break
    if task["attempt"] == 1:
        edit("x", "wrong")
    else:
        edit("wrong", "told: " + task["feedback"].replace("\n", " | "))
    print(json.dumps({"type": "done"}), flush=True)
"#;
        std::fs::write(court.path("agent.py"), agent).unwrap();
        court
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn edt_bench(&self, args: &[&str]) -> Output {
        let mut command = edt_bench(self.dir.path(), &self.path("home"));
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL"] {
            command.env_remove(name);
        }
        command.env("OPENAI_API_KEY", KEY).stdin(Stdio::null());
        command.args(args).arg("--json").output().unwrap()
    }

    fn try_run(&self, more: &[&str]) -> Output {
        let agent = ["run", "s", "--agent", "python3 -S agent.py", "--strategy", "reflection"];
        self.edt_bench(&[&agent, ["--out", "r"].as_slice(), more].concat())
    }

    /// The attempts of a run that `script` judges, and the questions.
    #[track_caller]
    fn run(&self, script: Vec<Reply>) -> (Vec<Value>, Vec<(String, Value)>) {
        let server = Server::new(script);
        let model = format!("openai:j-1 base_url={}/v1 price=3/15", server.url);
        let done = self.try_run(&["--judge-model", &model]);
        let text = format!("{done:?}");
        assert!(done.status.success() && !text.contains(KEY), "{text}");
        let plan = std::fs::read_to_string(self.path("r/run.json")).unwrap();
        assert!(plan.contains("openai:j-1") && !plan.contains(KEY), "{plan}");
        (self.attempts(), server.received())
    }

    fn attempts(&self) -> Vec<Value> {
        let lines = std::fs::read_to_string(self.path("r/results.jsonl")).unwrap();
        assert!(!lines.contains(KEY));
        let line: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        line["runs"][0]["attempts"].as_array().unwrap().clone()
    }

    /// The code and the message of a run that `script` judges.
    #[track_caller]
    fn refused(&self, script: Vec<Reply>) -> (String, String, usize) {
        let server = Server::new(script);
        let model = format!("openai:j-1 base_url={}/v1", server.url);
        let done = self.try_run(&["--judge-model", &model]);
        let (code, message) = finding(&done);
        (code, message, server.received().len())
    }
}

fn finding(done: &Output) -> (String, String) {
    let outcome: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    let text = |key: &str| outcome["errors"][0][key].as_str().unwrap_or_default().to_owned();
    (text("code"), text("message"))
}

fn says(text: &str) -> Reply {
    Reply::Send(complete(
        &json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10}}),
    ))
}

const RIGHT: &str = r#"{"right": true, "score": 1}"#;
const WRONG: &str = r#"{"right": false, "score": 0.25}"#;

#[test]
fn an_answer_that_is_right_costs_one_question_at_temperature_0() {
    let (attempts, received) = Court::new("criteria = \"Any words.\"").run(vec![says(RIGHT)]);
    let [attempt] = attempts.as_slice() else { panic!("{attempts:#?}") };
    assert_eq!((&attempt["pass"], &attempt["score"]), (&json!(true), &json!(1.0)));
    assert_eq!(
        attempt["judge_usage"],
        json!({"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.00045})
    );
    let [(head, body)] = received.as_slice() else { panic!("{received:#?}") };
    assert!(head.contains(&format!("authorization: bearer {KEY}")), "{head}");
    assert_eq!((&body["temperature"], &body["model"]), (&json!(0.0), &json!("j-1")));
    assert!(body.get("tools").is_none() && body.get("stream").is_none());
    let question = body["messages"][1]["content"].as_str().unwrap();
    for part in ["Write the words to a.txt.", "Any words.", EXPECTED, "wrong"] {
        assert!(question.contains(part), "{question}");
    }
}

#[test]
fn a_wrong_answer_is_classified_explained_and_has_a_hint_without_the_answer() {
    let script = vec![
        says(WRONG),
        says("```json\n{\"error_class\": \"missing\"}\n```"),
        says(r#"{"feedback": "Most words are missing."}"#),
        says(&json!({"hint": format!("Write: {EXPECTED}")}).to_string()),
        says(r#"{"hint": "Write every word."}"#),
        says(RIGHT),
    ];
    let (attempts, received) = Court::new("timeout = 20").run(script);
    let facts = |attempt: &Value| {
        ["pass", "score", "error_class", "feedback", "hint"].map(|key| attempt[key].clone())
    };
    assert_eq!(
        facts(&attempts[0]),
        [
            json!(false),
            json!(0.25),
            json!("missing"),
            json!("Most words are missing."),
            json!("Write every word.")
        ]
    );
    assert_eq!((received.len(), &attempts[1]["pass"]), (6, &json!(true)));
    // The next attempt was told the feedback and the hint.
    let last = received[5].1["messages"][1]["content"].as_str().unwrap();
    assert!(last.contains("told: Most words are missing. | Write every word."), "{last}");
    // A judge that insists on the answer is overruled.
    let given_away = json!({"hint": "It is 417.5."}).to_string();
    let script = [
        WRONG,
        r#"{"error_class": "numeric"}"#,
        r#"{"feedback": "No."}"#,
        &given_away,
        &given_away,
    ];
    let all = [script.map(says).to_vec(), vec![says(RIGHT)]].concat();
    let (attempts, _) = Court::new("timeout = 20").run(all);
    assert_eq!(attempts[0]["hint"], "Compute the value again, step by step.");
}

#[test]
fn an_answer_of_another_form_is_asked_for_again_once() {
    for malformed in ["no idea", "{\"right\": \"perhaps\"}", "{\"right\": true, \"score\": 7}"] {
        let (attempts, received) =
            Court::new("timeout = 20").run(vec![says(malformed), says(RIGHT)]);
        assert_eq!((attempts.len(), received.len()), (1, 2), "{malformed}");
        let again = received[1].1["messages"][3]["content"].as_str().unwrap();
        assert!(again.starts_with("That is not the JSON object that was asked for"), "{again}");
    }
    let (code, message, asked) = Court::new("timeout = 20").refused(vec![says("no idea")]);
    assert_eq!(
        (code.as_str(), asked),
        ("BAD_TASK", 2),
        "a judge that fails is not the agent's failure"
    );
    assert!(
        message.contains("task one: judge.model: the judge's answer to compare is invalid"),
        "{message}"
    );
}

#[test]
fn a_judge_is_retried_within_its_time_and_then_it_failed() {
    let late = Reply::Send(status("429 Too Many Requests", "retry-after: 1\r\n", "{}"));
    let (attempts, received) = Court::new("timeout = 20").run(vec![late, says(RIGHT)]);
    assert_eq!((&attempts[0]["pass"], received.len()), (&json!(true), 2));
    let started = Instant::now();
    let (code, message, _) = Court::new("timeout = 1").refused(vec![Reply::Hang]);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(code, "BAD_TASK");
    assert!(message.contains("the judge did not answer: it timed out"), "{message}");
    let wrong = json!({"error": {"message": format!("Incorrect key: {KEY}.")}}).to_string();
    let (code, message, asked) = Court::new("timeout = 20").refused(vec![Reply::Send(status(
        "401 Unauthorized",
        "",
        &wrong,
    ))]);
    assert_eq!((code.as_str(), asked), ("MODEL_REFUSED", 1));
    assert!(message.contains("Incorrect key: ***") && !message.contains(KEY), "{message}");
}

#[test]
fn recorded_answers_judge_without_a_network() {
    let court = Court::new("model = \"recorded:answers.jsonl\"");
    let lines = [
        json!({"step": "compare", "contains": "right words", "answer": {"right": true, "score": 1}}),
        json!({"step": "compare", "contains": "told: Nearly", "answer": {"right": true, "score": 0.9}}),
        json!({"step": "compare", "answer": {"right": false, "score": 0}}),
        json!({"step": "classify", "answer": {"error_class": "format"}}),
        json!({"step": "feedback", "answer": "that is not JSON"}),
        json!({"step": "feedback", "answer": {"feedback": "Nearly."}}),
        json!({"step": "hint", "task": "another", "answer": {"hint": "No."}}),
        json!({"step": "hint", "task": "one", "answer": {"hint": "Use words."}}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(court.path("s/answers.jsonl"), text.join("\n")).unwrap();
    let done = court.edt_bench(&["check", "s"]);
    let checked: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(checked["good"], true, "{checked:#}");
    let done = court.try_run(&[]);
    assert!(done.status.success(), "{done:?}");
    let attempts = court.attempts();
    assert_eq!(
        (&attempts[0]["error_class"], &attempts[0]["hint"], &attempts[1]["score"]),
        (&json!("format"), &json!("Use words."), &json!(0.9))
    );
    std::fs::write(court.path("s/answers.jsonl"), "{\"step\": \"compare\"}").unwrap();
    let (code, message) = finding(&court.edt_bench(&["check", "s"]));
    assert_eq!(code, "BAD_TASK");
    assert!(message.contains("answers.jsonl: line 1: missing field `answer`"), "{message}");
}

#[test]
fn the_user_names_the_server_that_gets_the_key_and_costs_money() {
    let court = Court::new("model = \"openai:m base_url=http://judge.example/v1\"");
    let (code, message) = finding(&court.try_run(&[]));
    assert_eq!(code, "BAD_TASK");
    assert!(message.contains("a task can only name a server on this machine"), "{message}");
    let court = Court::new("timeout = 20");
    let (code, message) = finding(&court.try_run(&[]));
    assert_eq!(code, "BAD_REQUEST");
    assert!(message.contains("A model judges the task one of s, and none is named."), "{message}");
    let (code, message) = finding(&court.try_run(&["--judge-model", "m-1"]));
    assert_eq!(code, "BAD_REQUEST");
    assert!(message.starts_with("\"m-1\" is not a model."), "{message}");
    // A server that a task names gets no key.
    let server = Server::new(vec![says(RIGHT)]);
    let court = Court::new(&format!("model = \"openai:m base_url={}/v1\"", server.url));
    let done = court.try_run(&[]);
    assert!(done.status.success(), "{done:?}");
    assert!(!server.received()[0].0.contains("authorization"), "{:?}", server.received());
}

#[test]
fn a_model_answers_a_numeric_question_over_an_endpoint() {
    let call = |name: &str, arguments: &Value| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call = json!({"id": "c", "type": "function", "function": function});
        let message = json!({"content": null, "tool_calls": [call]});
        Reply::Send(complete(&json!({"choices": [{"message": message}]})))
    };
    let apply = |mode: &str, program: &str| {
        call("apply", &json!({"edits": [{"path": "answer.py", "mode": mode, "content": program}]}))
    };
    let done = || call("done", &json!({}));
    let script = vec![
        apply("create", "print(13783.6667)\n"),
        done(),
        apply("overwrite", "print(137.8367)\n"),
        done(),
    ];
    let (court, server) = (Court::new("timeout = 20"), Server::new(script));
    let agent = format!("openai:m base_url={}/v1 stream=false", server.url);
    let args = ["run", "numeric", "--task", "euros-1", "--strategy", "reflection", "--out", "r"];
    let run = court.edt_bench(&[&args, ["--sessions", "1", "--agent", &agent].as_slice()].concat());
    assert!(run.status.success(), "{run:?}");
    let attempts = court.attempts();
    assert_eq!(
        (&attempts[0]["error_class"], &attempts[0]["pass"], &attempts[1]["pass"]),
        (&json!("unit"), &json!(false), &json!(true))
    );
    let asked = server.received()[2].1["messages"].as_array().unwrap().last().unwrap().clone();
    let asked = asked["content"].as_str().unwrap();
    assert!(asked.contains("divide by 100") && !asked.contains("137.83"), "{asked}");
}
