//! Snapshots: what comes of one is what comes of running again.

use std::time::Duration;

use entourage_python::{Call, Ended, MAX_SNAPSHOT_BYTES, Outcome, Progress, Record, Script, run};
use proptest::prelude::*;
use proptest::sample::Index;
use rustix::time::{ClockId, clock_gettime};

use crate::harness::*;

fn snapshot_of(progress: &Progress) -> Option<Vec<u8>> {
    match progress {
        Progress::Blocked { snapshot, .. } => snapshot.clone(),
        other => panic!("{other:?}"),
    }
}

const CODE: &str = "print('a')\nx = [tool('t')]\nprint(x)\ny = tool('u')\nprint(x, y)";

fn with(outcomes: &[(u32, &str)], calls: Vec<Call>) -> Record {
    let outcomes = outcomes.iter().map(|(number, text)| (*number, value(text)));
    Record { calls, outcomes: outcomes.collect() }
}

#[test]
fn what_is_no_snapshot_of_this_code_and_record_is_ignored() {
    let script = Script::new(CODE);
    let snapshot = snapshot_of(&first(CODE)).unwrap();
    let record = with(&[(0, "r")], vec![tool("t")]);
    let expected = run(&script, &record, None).unwrap();
    let same = |snapshot: &[u8], what: &str| {
        let progress = run(&script, &record, Some(snapshot)).unwrap();
        assert_eq!(blocked(progress), blocked(expected.clone()), "{what}");
    };
    same(&snapshot, "its own");
    same(&[], "nothing");
    same(&vec![7; 5000], "anything");
    for length in 0..snapshot.len() {
        same(&snapshot[..length], "a part");
    }
    for place in (0..snapshot.len()).step_by(7) {
        let mut wrong = snapshot.clone();
        wrong[place] ^= 1;
        same(&wrong, "a wrong byte");
    }
    same(&snapshot_of(&first("tool('t')\ntool('z')")).unwrap(), "of other code");
    let mut other = Script::new(CODE);
    other.limits.calls += 1;
    same(&snapshot_of(&run(&other, &Record::default(), None).unwrap()).unwrap(), "under other limits");
}

#[test]
fn a_snapshot_of_another_way_is_ignored() {
    let script = Script::new(CODE);
    let after = |text| {
        let progress = run(&script, &with(&[(0, text)], vec![tool("t")]), None).unwrap();
        snapshot_of(&progress).unwrap()
    };
    let record = with(&[(0, "r"), (1, "s")], vec![tool("t"), tool("u")]);
    for snapshot in [after("r"), after("other"), snapshot_of(&first(CODE)).unwrap()] {
        let ended = end_of(run(&script, &record, Some(&snapshot)).unwrap());
        assert_eq!(ended.stdout, "a\n['r']\n['r'] s\n");
    }
    // A snapshot that has more than the record.
    let progress = run(&script, &Record::default(), Some(&after("r"))).unwrap();
    assert_eq!(blocked(progress).0, [tool("t")]);
}

/// Processor time that this test has used.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

#[test]
fn a_snapshot_saves_the_work_before_it() {
    let script = Script::new("n = 0\nfor i in range(500_000): n += 1\nprint(n, tool('t'))");
    let begun = used();
    let snapshot = snapshot_of(&run(&script, &Record::default(), None).unwrap()).unwrap();
    let from_top = used() - begun;
    let record = with(&[(0, "r")], vec![tool("t")]);
    let begun = used();
    let ended = end_of(run(&script, &record, Some(&snapshot)).unwrap());
    let from_snapshot = used() - begun;
    assert_eq!(ended.stdout, "500000 r\n");
    assert!(from_snapshot * 5 < from_top, "{from_snapshot:?} and {from_top:?}");
}

#[test]
fn a_state_that_is_too_large_has_no_snapshot() {
    let code = format!("x = 'a' * {MAX_SNAPSHOT_BYTES}\ny = tool('t')\nlen(x)");
    assert_eq!(snapshot_of(&first(&code)), None);
    assert_eq!(finished(&code).0.value, Some(MAX_SNAPSHOT_BYTES.to_string()));
}

#[test]
fn objects_of_all_sorts_survive() {
    let code = r#"
import re, json, math, itertools, collections, functools, datetime
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: list
class C:
    n = 0
    def __init__(self): self.m = {}
    def add(self, k):
        self.m[k] = self
        return len(self.m)
def counter():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    return up
up = counter(); up()
p, c = P(1, [2]), C()
a = [p, p]
pattern = re.compile('(a+)(b)?')
big = 2 ** 200
it = iter([1, 2, 3]); next(it)
d = collections.defaultdict(list); d['k'].append(1)
q = collections.deque([1, 2])
c.add('one')
for i in range(2):
    try:
        tool('t', i=i)
    except RuntimeError as e:
        print(e)
    finally:
        p.y.append(i)
with_id = id(p) == id(a[0])
print(up(), a, c.m['one'] is c, pattern.match('aab').groups(), big, next(it), d, q, with_id)
print(hash('x'), hash(big), {3, 1, 'a'}, frozenset([1]), id(object) == id(object), C.n, datetime.date(2020, 1, 2))
e = None
try:
    1 / 0
except ZeroDivisionError as z:
    e = str(tool('u')) + str(z)
print(e, [id(x) for x in [[], [], p, c]])
"#;
    let failing = |call: &Call| match call {
        Call::Tool { arguments, .. } if arguments.get("i") == Some(&0.into()) => Outcome::Failed("f".into()),
        call => answer(call),
    };
    let (ended, _) = finished_with(code, failing);
    assert_eq!(ended.error, None);
    assert_eq!(both(code, &[], failing), ended);
}

/// How code ends that goes on from its snapshots, after it was checked at each step that running it again comes to the
/// same. Outcomes arrive in the order that `choices` tell.
fn both(code: &str, choices: &[Index], answer: impl Fn(&Call) -> Outcome) -> Ended {
    let script = Script::new(code);
    let mut record = Record::default();
    let mut snapshot: Option<Vec<u8>> = None;
    let mut older: Vec<Vec<u8>> = Vec::new();
    let mut choices = choices.iter();
    loop {
        let again = run(&script, &record, None).unwrap();
        let continued = run(&script, &record, snapshot.as_deref()).unwrap();
        for snapshot in &older {
            assert_same(&run(&script, &record, Some(snapshot)).unwrap(), &again, code);
        }
        assert_same(&continued, &again, code);
        let (calls, awaits, taken) = match continued {
            Progress::Ended(ended) => return ended,
            Progress::Blocked { calls, awaits, snapshot } => (calls, awaits, snapshot),
            other => panic!("{code}: {other:?}"),
        };
        record.calls.extend(calls.into_iter().map(|new| new.call));
        older.extend(snapshot.take());
        snapshot = taken;
        assert!(snapshot.is_some());
        // Anything that has no outcome may have one next, awaited or not.
        let open: Vec<u32> = (0..record.calls.len() as u32)
            .filter(|number| !matches!(record.calls[*number as usize], Call::Emit { .. }))
            .filter(|number| record.outcomes.iter().all(|(with, _)| with != number))
            .collect();
        let number = match choices.next() {
            Some(choice) => *choice.get(&open),
            None => *awaits.iter().flatten().find(|number| open.contains(number)).unwrap(),
        };
        let outcome = answer(&record.calls[number as usize]);
        record.outcomes.push((number, outcome));
    }
}

fn assert_same(one: &Progress, other: &Progress, code: &str) {
    match (one, other) {
        (
            Progress::Blocked { calls, awaits, .. },
            Progress::Blocked { calls: expected, awaits: expected_awaits, .. },
        ) => assert_eq!((calls, awaits), (expected, expected_awaits), "{code}"),
        _ => assert_eq!(one, other, "{code}"),
    }
}

/// A step of code: a fork, a wait for one of the agents so far, a call in place or in a task, and the like.
#[derive(Debug, Clone)]
enum Step {
    Fork,
    Emit,
    Tool,
    Ask,
    Wait(Index),
    WaitAll,
    Gather(Vec<Index>),
    Tasks(u8),
    IfFailed(Index),
    Choose,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Fork),
        1 => Just(Step::Emit),
        1 => Just(Step::Tool),
        1 => Just(Step::Ask),
        2 => any::<Index>().prop_map(Step::Wait),
        1 => Just(Step::WaitAll),
        2 => proptest::collection::vec(any::<Index>(), 0..4).prop_map(Step::Gather),
        2 => (1_u8..4).prop_map(Step::Tasks),
        1 => any::<Index>().prop_map(Step::IfFailed),
        1 => Just(Step::Choose),
    ];
    proptest::collection::vec(step, 1..9)
}

/// Code of these steps, which prints what it learns.
fn code(steps: &[Step]) -> String {
    let mut code = "import asyncio\n\
         async def task(name, n):\n  try:\n    text = await tool(name)\n    log.append(text)\n    for i in range(n):\n      \
         log.append(await tool(f'{name}.{i}'))\n    return text\n  except RuntimeError as e:\n    return f'failed {e}'\n  \
         finally:\n    emit(f'{name} done')\n\
         class O: pass\nlog = []\nasync def main():\n  hs = []\n  x = ''\n"
        .to_owned();
    let mut forks = 0;
    for (place, step) in steps.iter().enumerate() {
        let line = match step {
            Step::Fork => {
                forks += 1;
                format!("hs.append(fork('f{place}'))")
            }
            Step::Emit => format!("emit(f'{{len(log)}} {place}')"),
            Step::Tool => format!("x = tool('t{place}', x=len(x))\n  log.append(x)"),
            Step::Ask => format!("log.append(ask_user('q{place} {{O()}}'))").replace("('q", "(f'q"),
            Step::Wait(which) if forks > 0 => format!("log.append(await wait(hs[{}]))", which.index(forks)),
            Step::WaitAll => "log.append(wait(hs))".to_owned(),
            Step::Gather(which) if forks > 0 => {
                let waits: Vec<String> =
                    which.iter().map(|which| format!("wait(hs[{}])", which.index(forks))).collect();
                format!("log.append(await asyncio.gather({}))", waits.join(", "))
            }
            Step::Tasks(count) => {
                format!(
                    "log.append(await asyncio.gather(*[task(f's{place}.{{i}}', i) for i in range({count})]))"
                )
            }
            Step::IfFailed(which) if forks > 0 => format!(
                "try:\n    wait(hs[{}])\n  except RuntimeError as e:\n    log.append(tool('repair', e=str(e)))",
                which.index(forks)
            ),
            Step::Choose => "if len(''.join(map(str, log))) % 2:\n    log.append(tool('odd'))".to_owned(),
            _ => "log.append(None)".to_owned(),
        };
        code.push_str(&format!("  {line}\n"));
    }
    code.push_str("  print(log, id([]), O(), hash(O()))\n  return len(log)\nawait main()\n");
    code
}

/// Some of what is asked for fails.
fn some_fail(call: &Call) -> Outcome {
    match call {
        Call::Fork { prompt, .. } if prompt.ends_with('2') => Outcome::Failed("failed".into()),
        Call::Tool { name, .. } if name.ends_with(".1") => Outcome::Failed("broken".into()),
        Call::AskUser { .. } => Outcome::Value(serde_json::Value::Null),
        call => answer(call),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// From snapshots of any age and from the top: the same calls, and the same end, whatever arrives first. As each
    /// step has one outcome more than the one before, each run also takes the way of those with fewer.
    #[test]
    fn continuing_is_running_again(steps in steps(), choices in proptest::collection::vec(any::<Index>(), 0..20)) {
        both(&code(&steps), &choices, some_fail);
    }
}
