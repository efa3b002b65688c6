//! The tool as the engine calls it: what it gives for code, and what a model reads of it.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_python::PythonTool;
use entourage_tools::{
    CodeCalls, Context, Effect, Error, Outcome, PythonSettings, Reader, RecordQuery, Result, SubCallRecord,
    Tool,
};
use entourage_types::{
    AgentId, CallId, Entity, EntityKind, Kind, Output, OutputEffect, Owner, QuestionId, Time, ToolCall,
    WorksFor,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cpython;
use crate::harness::worker;

/// A store with nothing in it.
struct Empty;

#[async_trait]
impl Reader for Empty {
    async fn records(&self, _query: RecordQuery) -> Result<Vec<Entity>> {
        Ok(Vec::new())
    }

    async fn record(&self, _kind: EntityKind, _id: &str) -> Result<Option<Entity>> {
        Ok(None)
    }

    async fn text(&self, _item: u64) -> Result<Option<String>> {
        Ok(None)
    }
}

fn context(sub_calls: SubCallRecord) -> Context {
    let agent = AgentId::new();
    Context {
        call: CallId::new(),
        effect: Effect::Pure,
        agent,
        root: agent,
        works_for: WorksFor::Person,
        owner: Owner::local(),
        kind: Arc::new(Kind::bare("planner")),
        now: Time::from_micros(0),
        reader: Arc::new(Empty),
        sub_calls,
        cancel: CancellationToken::new(),
    }
}

fn built_in() -> PythonTool {
    PythonTool::of(worker(), &PythonSettings::default())
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall { id: CallId::new(), tool: tool.to_owned(), arguments }
}

/// What is on record of calls of which the first have these texts as outputs.
fn record(calls: Vec<ToolCall>, texts: &[&str]) -> SubCallRecord {
    let output = |(number, text): (usize, &&str)| {
        let ToolCall { id, tool, .. } = calls[number].clone();
        let output =
            Output { call: id, tool, text: (*text).to_owned(), error: false, effect: None, details: None };
        (number, output)
    };
    let outputs = texts.iter().enumerate().map(output).collect();
    SubCallRecord { calls, outputs, ..SubCallRecord::default() }
}

async fn ran(tool: &PythonTool, code: &str, sub_calls: SubCallRecord) -> Result<Outcome> {
    tool.call(&context(sub_calls), json!({ "code": code })).await
}

#[tokio::test]
async fn a_model_reads_where_code_took_another_way_and_which_calls_differ() {
    let on_record = record(
        vec![call("read_file", json!({ "path": "a" })), call("read_file", json!({ "path": "b" }))],
        &["text of a"],
    );
    let code = "x = tool('read_file', path='a')\n\ny = tool('read_file', path='c')";
    let error = ran(&built_in(), code, on_record.clone()).await.unwrap_err();
    let text = "the code took another way than before in line 3: its call 1 was `read_file` with {\"path\":\"b\"}, and \
                now it makes `read_file` with {\"path\":\"c\"}; run it anew";
    assert_eq!(error, Error::Failed(text.to_owned()));
    let shorter = ran(&built_in(), "x = tool('read_file', path='a')", on_record).await.unwrap_err();
    assert!(shorter.to_string().contains("and now it ends or waits"), "{shorter}");
    // As after a change of interpreter.
    let on_record = record(vec![call("read_file", json!({ "path": "a" }))], &[]);
    let code = "class A: pass\nclass B(A): pass\ntool('read_file', path='a')";
    let fails = ran(&built_in(), code, on_record).await.unwrap_err().to_string();
    assert!(fails.contains("and now it fails: ") && fails.contains("line 2"), "{fails}");
}

/// What it asked for before its last report is asked for; a fork for which it never waits and behind which nothing is
/// reported is not made.
#[tokio::test]
async fn what_code_reports_before_it_ends_is_a_call_like_any_other() {
    for (code, ends) in [("1 / 0", "ZeroDivisionError"), ("'done'", "'done'")] {
        let code = format!("fork('A')\nemit('half')\nfork('B')\n{code}");
        let reports = ran(&built_in(), &code, SubCallRecord::default()).await.unwrap();
        let Outcome::Calls(CodeCalls { calls, awaits, snapshot: None }) = reports else {
            panic!("{reports:?}")
        };
        let made: Vec<_> = calls.iter().map(|made| made.tool.as_str()).collect();
        assert_eq!((made, awaits), (vec!["fork", "emit"], vec![vec![1]]));
        let calls: Vec<_> = calls.into_iter().map(|made| call(&made.tool, made.arguments)).collect();
        let mut on_record = record(calls, &["", ""]);
        on_record.outputs.remove(0);
        let said = match ran(&built_in(), &code, on_record).await {
            Ok(Outcome::Done(done)) => done.text,
            Err(error) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(said.contains(ends), "{said}");
    }
}

/// Such as how long something took: code that runs again reports another time.
#[tokio::test]
async fn what_code_reports_may_differ_when_it_runs_again() {
    for tool in interpreters().await {
        let on_record = record(vec![call("emit", json!({ "text": "took 1 s" }))], &[""]);
        let ended = ran(&tool, "emit('took 2 s')\n'done'", on_record).await.unwrap();
        assert_eq!(ended, Outcome::text("'done'"));
        // Nor need it report as often; but what it asked for, it asks for again.
        let twice = ["a", "b"].map(|text| call("emit", json!({ "text": text }))).to_vec();
        let ended = ran(&tool, "emit('a')\n'done'", record(twice, &["", ""])).await.unwrap();
        assert_eq!(ended, Outcome::text("'done'"));
        let and_asks =
            vec![call("emit", json!({ "text": "a" })), call("ask_user", json!({ "question": "b" }))];
        let other = ran(&tool, "'done'", record(and_asks, &["", "c"])).await.unwrap_err().to_string();
        assert!(other.contains("took another way"), "{other}");
    }
}

/// What a person says that an interrupted call returned is its value; words in place of a call are an error.
#[tokio::test]
async fn what_a_person_says_of_a_call_is_its_value_unless_the_call_failed() {
    let mut on_record = record(vec![call("pay", json!({ "n": 1 }))], &["receipt 17"]);
    on_record.outputs[0].1.effect = Some(OutputEffect::Asked(QuestionId::new()));
    let code = "tool('pay', n=1)";
    assert_eq!(ran(&built_in(), code, on_record.clone()).await.unwrap(), Outcome::text("'receipt 17'"));
    on_record.outputs[0].1.error = true;
    let error = ran(&built_in(), code, on_record).await.unwrap_err();
    assert!(error.to_string().contains("RuntimeError: receipt 17"), "{error}");
}

/// The tool with each interpreter that can be had: the built-in one always, and CPython where there is bubblewrap.
async fn interpreters() -> Vec<PythonTool> {
    let mut tools = vec![built_in()];
    if cpython::cpython().await.is_some() {
        let settings = json!({ "interpreter": "cpython", "cpython": cpython::python() });
        tools.push(PythonTool::of(worker(), &serde_json::from_value(settings).unwrap()));
    }
    tools
}

/// Shows: S3-R065, S3-R066, S3-R067, S3-R068.
#[tokio::test]
async fn code_forks_agents_and_waits_for_them_in_either_interpreter() {
    let code = "handles = [fork('Option A'), fork('Option B')]\n[wait(h) for h in handles]";
    for tool in interpreters().await {
        let waits = ran(&tool, code, SubCallRecord::default()).await.unwrap();
        let Outcome::Calls(CodeCalls { calls, awaits, .. }) = waits else { panic!("{waits:?}") };
        assert_eq!(awaits, [[0]]);
        let calls: Vec<_> = calls.into_iter().map(|made| call(&made.tool, made.arguments)).collect();
        let made: Vec<_> = calls.iter().map(|made| (made.tool.as_str(), made.arguments.clone())).collect();
        let asked = |prompt: &str| ("fork", json!({ "prompt": prompt }));
        assert_eq!(made, [asked("Option A"), asked("Option B")]);

        let half = ran(&tool, code, record(calls.clone(), &["A is done"])).await.unwrap();
        let Outcome::Calls(CodeCalls { calls: new, awaits, .. }) = half else { panic!("{half:?}") };
        assert_eq!((new, awaits), (Vec::new(), vec![vec![1]]));
        let ended = ran(&tool, code, record(calls, &["A is done", "B is done"])).await.unwrap();
        let Outcome::Done(done) = ended else { panic!("{ended:?}") };
        assert_eq!(done.text, "['A is done', 'B is done']");
    }
}

/// Shows: S3-R069.
#[tokio::test]
async fn waiting_for_an_agent_that_the_code_did_not_fork_or_that_is_gone_raises_in_either_interpreter() {
    let handle = "from collections import namedtuple\nAgent = namedtuple('Agent', ['number'])";
    let mut deleted = record(vec![call("fork", json!({ "prompt": "A" }))], &["the agent was deleted"]);
    deleted.outputs[0].1.error = true;
    for tool in interpreters().await {
        for (code, on_record, says) in [
            ("wait(7)".to_owned(), SubCallRecord::default(), "TypeError: wait() takes what fork() returned"),
            (format!("{handle}\nwait(Agent(7))"), SubCallRecord::default(), "this code forked no agent 7"),
            (
                format!("emit('a')\n{handle}\nwait(Agent(0))"),
                SubCallRecord::default(),
                "this code forked no agent 0",
            ),
            ("wait(fork('A'))".to_owned(), deleted.clone(), "RuntimeError: the agent was deleted"),
        ] {
            let error = match ran(&tool, &code, on_record).await {
                // What it reported comes first.
                Ok(Outcome::Calls(CodeCalls { calls, .. })) => {
                    let calls: Vec<_> =
                        calls.into_iter().map(|made| call(&made.tool, made.arguments)).collect();
                    ran(&tool, &code, record(calls, &[""])).await.unwrap_err()
                }
                ended => ended.unwrap_err(),
            };
            assert!(error.to_string().contains(says), "{code}: {error}");
        }
    }
}
