//! The engine's functions where they wait in place.

use entourage_python::{Call, Outcome, Record, Script, run};
use serde_json::json;

use crate::harness::*;

#[test]
fn code_without_calls_ends_with_what_it_printed_and_its_last_value() {
    let ended = ended("print('a', 1)\n[x * 2 for x in range(3)]");
    assert_eq!(ended.stdout, "a 1\n");
    assert_eq!(ended.value.as_deref(), Some("[0, 2, 4]"));
    assert_eq!(ended.error, None);
    assert_eq!(crate::harness::ended("x = 1").value, None);
    assert_eq!(crate::harness::ended("None").value, None);
}

/// Shows: S3-R065, S3-R066.
#[test]
fn a_fork_is_there_at_once_and_wait_gives_its_text() {
    let code = "h = fork('a', kind='coder')\nprint(h)\nprint(wait(h))";
    let (calls, awaits) = blocked(first(code));
    assert_eq!(calls, [Call::Fork { prompt: "a".into(), kind: Some("coder".into()) }]);
    assert_eq!(awaits, [[0]]);
    let (ended, _) = finished(code);
    assert_eq!(ended.stdout, "Agent(number=0)\ndid a\n");
    assert!(ended.unawaited.is_empty());
}

/// Shows: S3-R068.
#[test]
fn several_forks_are_asked_for_before_the_first_wait() {
    let code = "hs = [fork('A'), fork('B')]\nprint([wait(h) for h in hs])\nprint(wait(list(reversed(hs))))";
    let (calls, awaits) = blocked(first(code));
    assert_eq!(calls, [fork("A"), fork("B")]);
    assert_eq!(awaits, [[0]]);
    assert_eq!(finished(code).0.stdout, "['did A', 'did B']\n['did B', 'did A']\n");
}

#[test]
fn waiting_for_a_list_needs_all_of_it() {
    let code = "hs = [fork('A'), fork('B'), fork('C')]\nprint(wait(tuple(hs)))\nprint(wait([]))";
    let mut record = Record { calls: vec![fork("A"), fork("B"), fork("C")], outcomes: vec![(2, value("c"))] };
    let (calls, awaits) = blocked(run(&Script::new(code), &record, None).unwrap());
    assert!(calls.is_empty());
    assert_eq!(awaits, [[0, 1]]);
    assert!(!record.serves(&awaits));
    record.outcomes.extend([(1, value("b")), (0, value("a"))]);
    assert!(record.serves(&awaits));
    let ended = end_of(run(&Script::new(code), &record, None).unwrap());
    assert_eq!(ended.stdout, "['a', 'b', 'c']\n[]\n");
}

#[test]
fn waiting_twice_gives_the_same() {
    let (ended, record) = finished("h = fork('a')\nprint(wait(h) == wait(h), wait([h, h]))");
    assert_eq!(ended.stdout, "True ['did a', 'did a']\n");
    assert_eq!(record.calls.len(), 1);
}

#[test]
fn handles_are_keys_and_compare() {
    let code = "a, b = fork('a'), fork('b')\nd = {a: 1, b: 2}\nprint(d[a], d[b], a == a, a == b, a in [b, a], f'{b}')";
    assert_eq!(printed(code), "1 2 True False True Agent(number=1)\n");
}

#[test]
fn what_failed_raises_and_can_be_caught() {
    let failed = |call: &Call| match call {
        Call::Fork { .. } => Outcome::Failed("no budget".into()),
        other => answer(other),
    };
    let code = "h = fork('a')\ntry:\n  wait(h)\nexcept RuntimeError as e:\n  print('caught', e)\nfinally:\n  print('f')\n\
                wait(h)";
    let (ended, _) = finished_with(code, failed);
    assert_eq!(ended.stdout, "caught no budget\nf\n");
    let error = ended.error.unwrap();
    assert_eq!(
        (error.kind.as_str(), error.message.as_str(), error.line),
        ("RuntimeError", "no budget", Some(8))
    );
    assert!(error.traceback.contains("line 8, in <module>\n    wait(h)\n"), "{}", error.traceback);
}

/// Shows: S3-R069.
#[test]
fn other_things_than_handles_are_no_hang() {
    for (code, kind, says) in [
        ("wait(123)", "TypeError", "what fork() returned, or a list of that, not int"),
        ("wait('x')", "TypeError", "not str"),
        ("wait()", "TypeError", "lacks its argument 'agent'"),
        ("wait([fork('a'), 1])", "TypeError", "not int"),
        (
            "from collections import namedtuple\nwait(namedtuple('Agent', ['number'])(7))",
            "ValueError",
            "no agent 7",
        ),
        (
            "emit('a')\nfrom collections import namedtuple\nwait(namedtuple('Agent', ['number'])(0))",
            "ValueError",
            "no agent 0",
        ),
    ] {
        let error = ended(code).error.unwrap();
        assert_eq!(error.kind, kind, "{code}");
        assert!(error.message.contains(says), "{code}: {}", error.message);
    }
}

/// Shows: S3-R069.
#[test]
fn waiting_for_an_agent_that_was_deleted_raises() {
    let deleted = |_: &Call| Outcome::Failed("the agent was deleted".into());
    let (ended, _) = finished_with("h = fork('a')\nwait([h, h])", deleted);
    let error = ended.error.unwrap();
    assert_eq!(
        (error.kind.as_str(), error.message.as_str(), error.line),
        ("RuntimeError", "the agent was deleted", Some(2))
    );
}

#[test]
fn wrong_arguments_are_explained() {
    for (code, says) in [
        ("fork()", "fork() lacks its argument 'prompt'"),
        ("fork(1)", "fork() takes a str as 'prompt', not int"),
        ("fork('a', kind=2)", "takes a str as 'kind', not int"),
        ("fork('a', 'b', 'c')", "takes 2 arguments (prompt, kind), not 3"),
        ("fork('a', prompt='b')", "got two values for 'prompt'"),
        ("ask_user('a', default='b')", "has no argument 'default': it takes text"),
        ("tool()", "tool(\"name\", key=value)"),
        ("tool('a', {'q': 1})", "tool(\"name\", key=value)"),
        ("tool('a', q={1})", "of type set"),
        ("tool('a', q=float('nan'))", "nan or inf"),
        ("tool('a', q=2**80)", "larger int"),
        ("tool('a', q={(1, 2): 3})", "key of type tuple"),
        ("emit('x' * 2000000)", "pass less text"),
    ] {
        let error = ended(code).error.unwrap();
        assert!(matches!(error.kind.as_str(), "TypeError" | "ValueError"), "{code}: {error:?}");
        assert!(error.message.contains(says), "{code}: {}", error.message);
    }
}

#[test]
fn a_person_answers_or_declines() {
    let code = "a = ask_user('name?')\nb = ask_user(text='age?')\nprint(a, b)";
    let declining = |call: &Call| match call {
        Call::AskUser { text } if text == "age?" => Outcome::Value(json!(null)),
        other => answer(other),
    };
    let (ended, record) = finished_with(code, declining);
    assert_eq!(ended.stdout, "yes, name? None\n");
    assert_eq!(record.calls, [ask("name?"), ask("age?")]);
}

#[test]
fn a_tool_gets_its_arguments_by_name() {
    let code = "r = tool('search', name='n', q='a', n=[1, 2.5, None, True], d={'k': (1,)})\nprint(r)";
    let (calls, _) = blocked(first(code));
    let Call::Tool { name, arguments } = &calls[0] else { panic!() };
    assert_eq!(name, "search");
    assert_eq!(
        serde_json::Value::Object(arguments.clone()),
        json!({"name": "n", "q": "a", "n": [1, 2.5, null, true], "d": {"k": [1]}})
    );
}

#[test]
fn an_output_that_is_no_text_is_a_value() {
    let some = |_: &Call| Outcome::Value(json!({"a": [1, 18446744073709551615_u64, 0.5, null]}));
    let (ended, _) = finished_with("r = tool('t')\nprint(r['a'])", some);
    assert_eq!(ended.stdout, "[1, 18446744073709551615, 0.5, None]\n");
}

#[test]
fn what_is_emitted_needs_no_answer() {
    let ended = ended("x = emit('a')\nemit('b')\nprint(x)");
    assert_eq!(ended.stdout, "None\n");
    let calls: Vec<_> = ended.calls.iter().map(|new| (new.call.clone(), new.line)).collect();
    assert_eq!(calls, [(emit("a"), Some(1)), (emit("b"), Some(2))]);
}

#[test]
fn forks_that_nobody_waits_for_are_told() {
    let ended = ended("emit('x')\nfork('a')\nh = fork('b')");
    assert_eq!(ended.unawaited, [1, 2]);
    assert_eq!(ended.calls.len(), 3);
}

#[test]
fn waits_within_functions_classes_and_comprehensions_go_on_where_they_were() {
    let code = r#"
from dataclasses import dataclass

@dataclass
class Task:
    name: str
    done: bool = False

class Team:
    def __init__(self, names):
        self.tasks = {n: Task(n) for n in names}

    def work(self, n):
        def inner(times):
            return [tool('do', n=n, i=i) for i in range(times)]
        try:
            result = inner(2)
            self.tasks[n].done = True
            return result
        finally:
            print('finally', n)

team = Team(['a', 'b'])
results = {n: team.work(n) for n in team.tasks}
text = (lambda q: ask_user(q))('ok?')
print(results, text, [t.done for t in team.tasks.values()])
with_f = f"{tool('f')}!"
print(with_f, sum(len(tool('x')) for _ in range(2)))
"#;
    let (ended, record) = finished(code);
    assert_eq!(ended.error, None);
    assert_eq!(
        ended.stdout,
        "finally a\nfinally b\n{'a': ['do{\"i\":0,\"n\":\"a\"}', 'do{\"i\":1,\"n\":\"a\"}'], 'b': \
         ['do{\"i\":0,\"n\":\"b\"}', 'do{\"i\":1,\"n\":\"b\"}']} yes, ok? [True, True]\nf{}! 6\n"
    );
    assert_eq!(record.calls.len(), 8);
}

#[test]
fn a_function_may_be_called_by_another_name() {
    let code =
        "f = fork\nhs = [f(p) for p in 'ab']\ndef go(w, h): return w(h)\nprint([go(wait, h) for h in hs])";
    let (ended, record) = finished(code);
    assert_eq!(ended.error, None);
    assert_eq!(ended.stdout, "['did a', 'did b']\n");
    assert_eq!(record.calls, [fork("a"), fork("b")]);
}

#[test]
fn code_may_have_functions_of_these_names() {
    assert_eq!(printed("def tool(x):\n  return x + 1\nprint(tool(1))"), "2\n");
}

#[test]
fn functions_of_code_are_no_tools_and_a_question_by_the_tool_is_one_of_the_function() {
    let asked = blocked(first("tool('ask_user', question='Which?')")).0;
    assert_eq!(asked, [Call::AskUser { text: "Which?".into() }]);
    let (with_options, _) = blocked(first("tool('ask_user', question='Which?', options=['a'])"));
    assert!(matches!(&with_options[..], [Call::Tool { name, .. }] if name == "ask_user"), "{with_options:?}");
    for name in ["fork", "wait", "emit"] {
        let error = ended(&format!("tool('{name}', text='x')")).error.unwrap();
        assert_eq!(error.kind, "ValueError");
        assert!(error.message.contains(&format!("call {name}(…) itself")), "{}", error.message);
    }
}
