//! The engine's functions where the code awaits what they give.

use entourage_python::{Call, Outcome, Record, Script, run};

use crate::harness::*;

#[test]
fn a_gather_asks_for_all_before_it_waits() {
    let code = r#"
import asyncio
async def main():
    a, b = fork('A'), fork('B')
    rs = await asyncio.gather(wait(a), wait(b), tool('x'), ask_user('q'))
    print(rs)
await main()
"#;
    let (calls, awaits) = blocked(first(code));
    assert_eq!(calls, [fork("A"), fork("B"), tool("x"), ask("q")]);
    assert_eq!(awaits, [[0], [1], [2], [3]]);
    let (ended, _) = finished(code);
    assert_eq!(ended.error, None);
    assert_eq!(ended.stdout, "['did A', 'did B', 'x{}', 'yes, q']\n");
}

#[test]
fn what_arrives_first_goes_on_first_and_results_keep_their_order() {
    let code = r#"
import asyncio
async def one(name):
    text = await tool(name)
    print('got', text)
    more = await tool(name + '2')
    return more
print(asyncio.run(asyncio.gather(one('a'), one('b'))) if False else await asyncio.gather(one('a'), one('b')))
"#;
    let script = Script::new(code);
    let mut record = Record { calls: vec![tool("a"), tool("b")], outcomes: vec![(1, value("B"))] };
    let (calls, awaits) = blocked(run(&script, &record, None).unwrap());
    assert_eq!(calls, [tool("b2")]);
    assert_eq!(awaits, [[0], [2]]);
    record.calls.push(tool("b2"));
    record.outcomes.push((0, value("A")));
    let (calls, _) = blocked(run(&script, &record, None).unwrap());
    assert_eq!(calls, [tool("a2")]);
    record.calls.push(tool("a2"));
    record.outcomes.extend([(2, value("B2")), (3, value("A2"))]);
    let ended = end_of(run(&script, &record, None).unwrap());
    assert_eq!(ended.stdout, "got B\ngot A\n['A2', 'B2']\n");
}

#[test]
fn the_ways_to_write_it_come_to_the_same() {
    for code in [
        "import asyncio\nts = [tool(n) for n in 'ab']\nprint(await asyncio.gather(*ts))",
        "import asyncio\nts = []\nfor n in 'ab':\n  ts.append(tool(n))\nprint(await asyncio.gather(*ts))",
        "import asyncio\nasync def main():\n  ts = {n: tool(n) for n in 'ab'}\n  print(await asyncio.gather(*ts.values()))\nasyncio.run(main())",
        "from asyncio import gather\ndef call(n):\n  return tool(n)\nprint(await gather(*[call(n) for n in 'ab']))",
        "a = tool('a')\nb = tool('b')\nprint([await a, await b])",
        "ts = [tool(n) for n in 'ab']\nprint([await t for t in ts])",
        "import asyncio\nasync def call(n):\n  return await tool(n)\nprint(await asyncio.gather(call('a'), call('b')))",
    ] {
        let (calls, _) = blocked(first(code));
        assert_eq!(calls, [tool("a"), tool("b")], "{code}");
        let (ended, _) = finished(code);
        assert_eq!(ended.error, None, "{code}");
        assert_eq!(ended.stdout, "['a{}', 'b{}']\n", "{code}");
    }
}

#[test]
fn what_is_not_awaited_waits_in_place_in_asynchronous_code_too() {
    let code = "import asyncio\nasync def main():\n  x = ask_user('q')\n  print(x.upper())\n  return await tool('t', x=x)\nprint(await main())";
    let (ended, _) = finished(code);
    assert_eq!(ended.stdout, "YES, Q\nt{\"x\":\"yes, q\"}\n");
}

#[test]
fn fork_and_emit_can_be_awaited() {
    let code = "import asyncio\nh = await fork('a')\nawait emit('b')\nhs = await asyncio.gather(fork('c'), fork('d'))\nprint(h, hs, await wait([h] + hs))";
    let (ended, record) = finished(code);
    assert_eq!(ended.error, None);
    assert_eq!(
        ended.stdout,
        "Agent(number=0) [Agent(number=2), Agent(number=3)] ['did a', 'did c', 'did d']\n"
    );
    assert_eq!(record.calls, [fork("a"), emit("b"), fork("c"), fork("d")]);
}

#[test]
fn what_failed_raises_where_it_is_awaited() {
    let code = r#"
import asyncio
async def safe(h):
    try:
        return await wait(h)
    except RuntimeError as e:
        return f'failed: {e}'
print(await asyncio.gather(safe(fork('a')), safe(fork('b'))))
try:
    await asyncio.gather(tool('x'), tool('y'))
except RuntimeError as e:
    print('caught', e)
"#;
    let failing = |call: &Call| match call {
        Call::Fork { prompt, .. } if prompt == "b" => Outcome::Failed("no".into()),
        Call::Tool { .. } => Outcome::Failed("broken".into()),
        other => answer(other),
    };
    let (ended, _) = finished_with(code, failing);
    assert_eq!(ended.error, None);
    assert_eq!(ended.stdout, "['did a', 'failed: no']\ncaught broken\n");
}

#[test]
fn what_is_never_awaited_is_still_asked_for() {
    let ended = ended("import asyncio\nx = tool('a')\nif False:\n  await x\nprint('end')");
    assert_eq!(ended.stdout, "end\n");
    assert_eq!(ended.calls.len(), 1);
}

#[test]
fn one_agent_may_be_awaited_twice_at_once() {
    let (ended, _) =
        finished("import asyncio\nh = fork('a')\nprint(await asyncio.gather(wait(h), wait([h]), wait(h)))");
    assert_eq!(ended.error, None);
    assert_eq!(ended.stdout, "['did a', ['did a'], 'did a']\n");
}
