//! The same code in both interpreters: the same calls, waits, outputs and errors, in the same order.

use entourage_python::{Call, Ended, Outcome, Progress, Record, Script, Workers};
use serde_json::json;

use super::{cpython, error_of, printed};
use crate::harness::*;

/// Programs that both interpreters run.
const PROGRAMS: &[&str] = &[
    // In place.
    "print('a', 1)\n[x * 2 for x in range(3)]",
    "x = 1",
    "None",
    "h = fork('a', kind='coder')\nprint(h)\nprint(wait(h))",
    "hs = [fork('A'), fork('B')]\nprint([wait(h) for h in hs])\nprint(wait(list(reversed(hs))))",
    "hs = [fork('A'), fork('B'), fork('C')]\nprint(wait(tuple(hs)))\nprint(wait([]))",
    "h = fork('a')\nprint(wait(h) == wait(h), wait([h, h]))",
    "a, b = fork('a'), fork('b')\nd = {a: 1, b: 2}\nprint(d[a], d[b], a == a, a == b, a in [b, a], f'{b}')",
    "h = fork('failing')\ntry:\n  wait(h)\nexcept RuntimeError as e:\n  print('caught', e)\nfinally:\n  print('f')\nwait(h)",
    "a = ask_user('name?')\nb = ask_user(text='declined')\nprint(a, b)",
    "r = tool('search', name='n', q='a', n=[1, 2.5, None, True], d={'k': (1,), 2: 'x', None: 1, True: 0})\nprint(r)",
    "x = emit('a')\nemit('b')\nprint(x)",
    "emit('x')\nfork('a')\nh = fork('b')",
    "f = fork\nhs = [f(p) for p in 'ab']\ndef go(w, h): return w(h)\nprint([go(wait, h) for h in hs])",
    "def tool(x):\n  return x + 1\nprint(tool(1))",
    "a, b = fork('a'), fork('b')\nprint(wait(b))\nif wait(a) == 'did a':\n  print(tool('t'))",
    "print(tool('object')['a'])",
    "def f(n):\n  return tool('a', n=n) if n else 1 / 0\nf(1)\nf(0)",
    "try:\n  tool('a')\nfinally:\n  print('after')\n  emit('end')",
    "text = 'ä' * 3; print(text); tool('ä', ü='ö')",
    // Mistakes.
    "wait(123)",
    "wait('x')",
    "wait(None)",
    "wait()",
    "wait([fork('a'), 1])",
    "emit('a')\nfrom collections import namedtuple\nwait(namedtuple('Agent', ['number'])(0))",
    "fork()",
    "fork(1)",
    "fork('a', kind=2)",
    "fork('a', 'b', 'c')",
    "fork('a', prompt='b')",
    "ask_user('a', default='b')",
    "tool()",
    "tool('a', {'q': 1})",
    "tool('a', q={1})",
    "tool('a', q=float('nan'))",
    "tool('a', q=2**80)",
    "tool('a', q={(1, 2): 3})",
    "emit('x' * 2000000)",
    "for i in range(20):\n  fork('x' * 400_000)",
    "for i in range(300):\n  emit('x')",
    "x = []\nfor i in range(200): x = [x]\ntool('t', x=x)",
    "raise ValueError('bad')",
    "def f():\n  raise LookupError('k')\n\nf()",
    // Awaited.
    "import asyncio\nasync def main():\n    a, b = fork('A'), fork('B')\n    rs = await asyncio.gather(wait(a), wait(b), tool('x'), ask_user('q'))\n    print(rs)\nawait main()",
    "import asyncio\nasync def one(name):\n    text = await tool(name)\n    print('got', text)\n    more = await tool(name + '2')\n    return more\nprint(await asyncio.gather(one('a'), one('b')))",
    "import asyncio\nts = [tool(n) for n in 'ab']\nprint(await asyncio.gather(*ts))",
    "import asyncio\nts = []\nfor n in 'ab':\n  ts.append(tool(n))\nprint(await asyncio.gather(*ts))",
    "import asyncio\nasync def main():\n  ts = {n: tool(n) for n in 'ab'}\n  print(await asyncio.gather(*ts.values()))\nasyncio.run(main())",
    "from asyncio import gather\ndef call(n):\n  return tool(n)\nprint(await gather(*[call(n) for n in 'ab']))",
    "a = tool('a')\nb = tool('b')\nprint([await a, await b])",
    "ts = [tool(n) for n in 'ab']\nprint([await t for t in ts])",
    "import asyncio\nasync def call(n):\n  return await tool(n)\nprint(await asyncio.gather(call('a'), call('b')))",
    "import asyncio\nasync def main():\n  x = ask_user('q')\n  print(x.upper())\n  return await tool('t', x=x)\nprint(await main())",
    "import asyncio\nh = await fork('a')\nawait emit('b')\nhs = await asyncio.gather(fork('c'), fork('d'))\nprint(h, hs, await wait([h] + hs))",
    "import asyncio\nasync def safe(h):\n    try:\n        return await wait(h)\n    except RuntimeError as e:\n        return f'failed: {e}'\nprint(await asyncio.gather(safe(fork('a')), safe(fork('failing'))))",
    "import asyncio\nx = tool('a')\nif False:\n  await x\nprint('end')",
    "import asyncio\nh = fork('a')\nprint(await asyncio.gather(wait(h), wait([h]), wait(h)))",
    "print(f\"{await tool('a')} and {await tool('b')}\")",
    "import asyncio\nasync def deep(n):\n  if n == 0:\n    return await tool('end')\n  rs = await asyncio.gather(deep(n - 1), tool(f't{n}'))\n  return ' '.join(rs)\nprint(await deep(3))",
];

/// What a call comes to in these programs.
fn outcome(call: &Call) -> Outcome {
    match call {
        Call::Fork { prompt, .. } if prompt == "failing" => Outcome::Failed("no budget".into()),
        Call::AskUser { text } if text == "declined" => Outcome::Value(json!(null)),
        Call::Tool { name, .. } if name == "object" => {
            Outcome::Value(json!({"a": [1, 18446744073709551615_u64, 0.5, null]}))
        }
        other => answer(other),
    }
}

/// A progress without what may differ: snapshots, hints, and lines that the built-in interpreter does not know.
fn comparable(mut progress: Progress, lines: &[bool]) -> Progress {
    let calls = match &mut progress {
        Progress::Ended(ended) => {
            if let Some(error) = &mut ended.error {
                error.hint = None;
            }
            &mut ended.calls
        }
        Progress::Blocked { calls, snapshot, .. } => {
            *snapshot = None;
            calls
        }
        Progress::Diverged { .. } => return progress,
    };
    for (call, known) in calls.iter_mut().zip(lines) {
        call.line = call.line.filter(|_| *known);
    }
    progress
}

fn known_lines(progress: &Progress) -> Vec<bool> {
    match progress {
        Progress::Ended(ended) => ended.calls.iter().map(|call| call.line.is_some()).collect(),
        Progress::Blocked { calls, .. } => calls.iter().map(|call| call.line.is_some()).collect(),
        Progress::Diverged { .. } => Vec::new(),
    }
}

#[tokio::test]
async fn code_takes_the_same_way_in_both_interpreters() {
    let Some(workers) = cpython().await else { return };
    let mut runs = 0;
    for code in PROGRAMS {
        let script = Script::new(*code);
        // What arrives first: what is awaited first, and what is awaited last.
        for last in [false, true] {
            let mut record = Record::default();
            loop {
                let here = entourage_python::run(&script, &record, None).unwrap();
                let there = workers.run("o", &script, &record, None).await.unwrap();
                runs += 1;
                let lines = known_lines(&here);
                let (mut here, there) = (comparable(here, &lines), comparable(there, &lines));
                if let (Progress::Blocked { awaits, .. }, Progress::Blocked { awaits: precise, .. }) =
                    (&mut here, &there)
                {
                    // The built-in interpreter also names what was asked for and is awaited later only.
                    awaits.retain(|group| precise.contains(group));
                }
                assert_eq!(there, here, "{code}\n{record:?}");
                let Progress::Blocked { calls, awaits, .. } = here else { break };
                record.calls.extend(calls.into_iter().map(|new| new.call));
                let group = if last { awaits.last() } else { awaits.first() }.unwrap();
                let number = if last { group.last() } else { group.first() }.copied().unwrap();
                record.outcomes.push((number, outcome(&record.calls[number as usize])));
            }
        }
    }
    assert!(runs > 200, "{runs}");
}

/// Runs code to its end with CPython, answering the first call that it waits for.
async fn finished_there(workers: &Workers, code: &str, answer: impl Fn(&Call) -> Outcome) -> Ended {
    let script = Script::new(code);
    let mut record = Record::default();
    loop {
        match workers.run("o", &script, &record, None).await.unwrap() {
            Progress::Blocked { calls, awaits, .. } => {
                record.calls.extend(calls.into_iter().map(|new| new.call));
                let number = awaits[0][0];
                record.outcomes.push((number, answer(&record.calls[number as usize])));
            }
            other => return end_of(other),
        }
    }
}

#[tokio::test]
async fn the_examples_of_the_page_return_what_it_says() {
    let Some(workers) = cpython().await else { return };
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/python.md")).unwrap();
    let blocks = page.split("```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap());
    let blocks: Vec<_> = blocks.collect();
    let examples = blocks.windows(2).filter(|pair| pair[0].0 == "python");
    let mut ran = 0;
    for (code, returns) in examples.map(|pair| (pair[0].1, pair[1].1.trim_end())) {
        let ended = finished_there(&workers, code, |call| match call {
            Call::AskUser { .. } => value("yes"),
            Call::Tool { .. } => Outcome::Failed("there is no such file".into()),
            other => answer(other),
        });
        let ended = ended.await;
        let error = ended.error.map(|error| error.traceback).unwrap_or_default();
        let said = format!("{}{}{error}", ended.stdout, ended.value.unwrap_or_default());
        assert!(said.contains(returns), "{code}\nreturned {said}\nand not {returns}");
        ran += 1;
    }
    assert!(ran >= 4, "{ran}");
}

#[tokio::test]
async fn a_run_with_more_outcomes_takes_the_way_of_one_with_fewer() {
    let Some(workers) = cpython().await else { return };
    let code = "import asyncio, json\nclass Team(dict):\n  async def look(self, n):\n    self[n] = await tool(n)\n    \
                return await tool(n + self[n])\nteam = Team()\nprint(await asyncio.gather(*map(team.look, 'abc')))\n\
                print({*team}, wait([fork('x'), fork('y')]))";
    let script = Script::new(code);
    let mut record = Record::default();
    let mut runs = Vec::new();
    let end = loop {
        match workers.run("o", &script, &record, None).await.unwrap() {
            Progress::Blocked { calls, awaits, .. } => {
                runs.push((record.outcomes.len(), record.calls.len() + calls.len(), awaits.clone()));
                record.calls.extend(calls.into_iter().map(|new| new.call));
                let number = awaits.last().unwrap()[0];
                record.outcomes.push((number, answer(&record.calls[number as usize])));
            }
            other => break end_of(other),
        }
    };
    assert_eq!(end.error, None);
    // With all calls on record and the first outcomes, a run stops where the one of that time did.
    for (outcomes, calls, awaits) in runs {
        let part =
            Record { calls: record.calls[..calls].to_vec(), outcomes: record.outcomes[..outcomes].to_vec() };
        let (new, waits) = blocked(workers.run("o", &script, &part, None).await.unwrap());
        assert_eq!((new.len(), waits), (0, awaits));
    }
}

#[tokio::test]
async fn a_run_that_asks_for_something_else_says_where() {
    let Some(workers) = cpython().await else { return };
    let both = |code: &'static str, record: Record| {
        let workers = &workers;
        async move {
            let script = Script::new(code);
            let here = entourage_python::run(&script, &record, None).unwrap();
            assert!(matches!(here, Progress::Diverged { .. }), "{here:?}");
            assert_eq!(workers.run("o", &script, &record, None).await.unwrap(), here, "{code}");
        }
    };
    let one = Record { calls: vec![tool("a"), tool("b")], outcomes: vec![(0, value("1"))] };
    both("x = tool('a')\n\ny = tool('c')", one).await;
    let forks = Record { calls: vec![fork("a"), fork("b")], outcomes: vec![] };
    for code in ["fork('a')", "wait(fork('a'))", "fork('a')\n1 / 0"] {
        both(code, forks.clone()).await;
    }
}

#[tokio::test]
async fn code_has_the_language_and_the_standard_library() {
    let Some(workers) = cpython().await else { return };
    let code = r#"
import collections, csv, datetime, decimal, hashlib, io, random, sqlite3, statistics, sys, tempfile, zoneinfo
from abc import ABC, abstractmethod

class Shape(ABC):
    @abstractmethod
    def area(self): ...

class Square(Shape):
    def __init__(self, side): self.side = side
    @property
    def area(self): return self.side ** 2

def numbers():
    yield from range(3)

first, *rest = numbers()
print(rest, Square(3).area, statistics.mean([1, 2, 6]))
with open('/tmp/a.csv', 'w') as file:
    csv.writer(file).writerow(['a', decimal.Decimal('0.1')])
print(open('/tmp/a.csv').read().strip(), hashlib.sha256(b'a').hexdigest()[:6])
with sqlite3.connect('/tmp/db') as db:
    print(db.execute('select 1 + 1').fetchall())
print(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset(), file=sys.stderr)
print('%s' % tempfile.gettempdir(), {'b', 'a', 'c'} == set('abc'))
list(map(emit, 'ab'))
"#;
    let printed = printed(&workers, code).await;
    assert_eq!(printed, "[1, 2] 9 3\na,0.1 ca9781\n[(2,)]\n2:00:00\n/tmp True\n");
}

#[tokio::test]
async fn chance_and_the_order_of_sets_are_the_same_on_each_run() {
    let Some(workers) = cpython().await else { return };
    let code = "import random\nnames = [f'n{n}' for n in range(50)]\nrandom.shuffle(names)\n\
                print(names, random.random(), {*names}, hash('a'))";
    assert_eq!(printed(&workers, code).await, printed(&workers, code).await);
}

#[tokio::test]
async fn tasks_timeouts_and_sleeps_wait_for_the_engine() {
    let Some(workers) = cpython().await else { return };
    let code = r#"
import asyncio
async def main():
    task = asyncio.create_task(tool('slow'))
    quick = asyncio.ensure_future(wait(fork('a')))
    done, pending = await asyncio.wait([task, quick], return_when=asyncio.FIRST_COMPLETED)
    print(len(done), len(pending), await asyncio.wait_for(task, timeout=1), await quick)
    await asyncio.sleep(10_000)
    print(await asyncio.gather(tool('x'), asyncio.sleep(5, 'slept')))
asyncio.run(main())
"#;
    let script = Script::new(code);
    let mut record = Record::default();
    let mut waits = Vec::new();
    let end = loop {
        match workers.run("o", &script, &record, None).await.unwrap() {
            Progress::Blocked { calls, awaits, .. } => {
                record.calls.extend(calls.into_iter().map(|new| new.call));
                let number = awaits.last().unwrap()[0];
                record.outcomes.push((number, answer(&record.calls[number as usize])));
                waits.push(awaits);
            }
            other => break end_of(other),
        }
    };
    assert_eq!(end.error, None);
    assert_eq!(end.stdout, "1 1 slow{} did a\n['x{}', 'slept']\n");
    assert_eq!(waits, [vec![vec![0], vec![1]], vec![vec![0]], vec![vec![2]]]);
    let never = "import asyncio\nawait asyncio.Event().wait()";
    let error = error_of(&workers, never, Default::default()).await;
    assert!(error.message.contains("never comes"), "{error:?}");
}

#[tokio::test]
async fn an_error_shows_the_codes_own_lines() {
    let Some(workers) = cpython().await else { return };
    let code = "import json\ndef load(text):\n    return json.loads(text)\nload('{')";
    let error = error_of(&workers, code, Default::default()).await;
    assert_eq!((error.kind.as_str(), error.line), ("json.decoder.JSONDecodeError", Some(3)));
    let lines = "Traceback (most recent call last):\n  line 4, in <module>\n    load('{')\n  line 3, in load\n    \
                 return json.loads(text)\njson.decoder.JSONDecodeError: Expecting";
    assert!(error.traceback.starts_with(lines), "{}", error.traceback);
    let error = error_of(&workers, "x = 1\ny = (2", Default::default()).await;
    assert_eq!((error.kind.as_str(), error.line), ("SyntaxError", Some(2)));
    assert!(error.traceback.contains("y = (2"), "{}", error.traceback);
    let error = error_of(&workers, "import no_such_package", Default::default()).await;
    assert!(error.hint.unwrap().contains("operator"));
}
