//! Code as the interpreter gets it: each call of the engine's functions is told from every other.
//!
//! The interpreter reports a call without its place, and cannot say whether its value will be awaited. So the name in
//! each such call is replaced by one of its own (`fork` becomes `_call_3_fork`), and what is awaited passes a function
//! of ours, which raises what failed: the interpreter itself would raise it not where it is awaited, but at the
//! `gather` around that. What people and models read (lines, tracebacks) comes from the code as it was written.

mod awaited;
mod bindings;

use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_text_size::Ranged;
use serde::Serialize;

/// The functions that code has beside those of Python.
pub(crate) const FUNCTIONS: [&str; 5] = ["fork", "wait", "ask_user", "emit", "tool"];

/// What the names of calls begin with.
const MARK: &str = "_call_";

/// A call in the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Site {
    /// Its line, from 1.
    pub(crate) line: u32,
    /// Whether the code awaits what it gives.
    pub(crate) awaited: bool,
}

/// The function that gives what an awaitable of ours stands for, or raises it. It is the first line.
const PRELUDE: &str = "async def _call_await(f): r = await f; return r[0] if r[1] else _call_raise(r[0])\n";

/// The name of the function in [`PRELUDE`].
pub(crate) const AWAIT: &str = "_call_await";

/// What that function calls to raise a text.
pub(crate) const RAISE: &str = "_call_raise";

/// Code that is ready for the interpreter. As it is, a state of the interpreter is good for no other.
#[derive(Debug, Serialize)]
pub(crate) struct Prepared {
    /// What the interpreter runs.
    pub(crate) text: String,
    /// How many lines of `text` precede the code.
    pub(crate) lines_before: u32,
    /// The calls that `text` names.
    sites: Vec<Site>,
}

impl Prepared {
    /// Prepares code. Code that is no Python stays as it is: the interpreter says what is wrong with it.
    pub(crate) fn new(code: &str) -> Self {
        let as_it_is = || Self { text: code.to_owned(), lines_before: 0, sites: Vec::new() };
        if code.contains(MARK) {
            return as_it_is();
        }
        let Ok(parsed) = ruff_python_parser::parse_module(code) else {
            return as_it_is();
        };
        let body = parsed.suite();
        let own = bindings::functions_bound(body);
        let awaited = awaited::awaited_calls(body);
        let mut calls = Calls { bound: &own, found: Vec::new() };
        visitor::walk_body(&mut calls, body);
        calls.found.sort_unstable_by_key(|call| call.start);

        let mut sites = Vec::with_capacity(calls.found.len());
        let mut edits = Vec::with_capacity(calls.found.len());
        let (mut before, mut line) = (0, 1);
        for Found { start, end, name } in calls.found {
            line += newlines(&code[before..start]);
            before = start;
            let awaited = awaited.contains(&start);
            let unique = format!("{MARK}{}_{name}", sites.len());
            sites.push(Site { line, awaited });
            if awaited {
                edits.push((start, name.len(), format!("{AWAIT}({unique}")));
                edits.push((end, 0, ")".to_owned()));
            } else {
                edits.push((start, name.len(), unique));
            }
        }
        edits.sort_by_key(|(at, ..)| *at);
        let lines_before = u32::from(sites.iter().any(|site| site.awaited));
        let mut text = String::with_capacity(code.len() + PRELUDE.len() + edits.len() * 16);
        if lines_before > 0 {
            text.push_str(PRELUDE);
        }
        let mut copied = 0;
        for (at, replaced, with) in edits {
            text.push_str(&code[copied..at]);
            text.push_str(&with);
            copied = at + replaced;
        }
        text.push_str(&code[copied..]);
        Self { text, lines_before, sites }
    }

    /// The function that a name in `text` stands for, and the call if it is one of those that `text` names.
    pub(crate) fn function(&self, name: &str) -> Option<(&'static str, Option<&Site>)> {
        let (plain, site) = match name.strip_prefix(MARK).and_then(|rest| rest.split_once('_')) {
            Some((number, plain)) => (plain, Some(self.sites.get(number.parse::<usize>().ok()?)?)),
            None => (name, None),
        };
        let function = FUNCTIONS.into_iter().find(|function| *function == plain)?;
        Some((function, site))
    }
}

/// Where calls of the engine's functions are whose values the code awaits: the line, from 1, and the byte in it, from 0.
pub(crate) fn awaited_places(code: &str) -> Vec<(u32, u32)> {
    let Ok(parsed) = ruff_python_parser::parse_module(code) else {
        return Vec::new();
    };
    let own = bindings::functions_bound(parsed.suite());
    let is_own = |start: &usize| own.iter().any(|name| code[*start..].starts_with(name));
    let calls = awaited::awaited_calls(parsed.suite());
    let place = |start: usize| {
        let before = &code[..start];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        (newlines(before) + 1, u32::try_from(start - line_start).unwrap_or(u32::MAX))
    };
    calls.into_iter().filter(|start| !is_own(start)).map(place).collect()
}

/// A text in which names of calls are those that the code has.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split(MARK);
    plain.extend(parts.next());
    for part in parts {
        match part.split_once('_') {
            Some((number, rest)) if number.parse::<usize>().is_ok() => plain.push_str(rest),
            _ => plain.push_str(part),
        }
    }
    plain
}

/// How many lines end in a text.
fn newlines(text: &str) -> u32 {
    let count = text.bytes().filter(|byte| *byte == b'\n').count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Finds the calls of the engine's functions.
struct Calls<'b> {
    /// Functions whose names the code uses for something of its own.
    bound: &'b [&'static str],
    found: Vec<Found>,
}

/// A call: where it starts and ends, and the name that it starts with.
struct Found {
    start: usize,
    end: usize,
    name: &'static str,
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some((start, name)) = called_function(expr)
            && !self.bound.contains(&name)
        {
            let end = expr.end().to_usize();
            self.found.push(Found { start, end, name });
        }
        visitor::walk_expr(self, expr);
    }
}

/// Where the name is and which it is, if an expression calls one of the engine's functions.
fn called_function(expr: &Expr) -> Option<(usize, &'static str)> {
    let name = expr.as_call_expr()?.func.as_name_expr()?;
    let function = FUNCTIONS.into_iter().find(|function| *function == name.id.as_str())?;
    Some((name.start().to_usize(), function))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(code: &str) -> Vec<(u32, bool)> {
        let prepared = Prepared::new(code);
        prepared.sites.iter().map(|site| (site.line, site.awaited)).collect()
    }

    #[test]
    fn a_call_has_its_line_and_a_name_of_its_own() {
        let prepared = Prepared::new("h = fork(\n  'a')\nprint(f'{wait(h)}')");
        assert_eq!(prepared.text, "h = _call_0_fork(\n  'a')\nprint(f'{_call_1_wait(h)}')");
        assert_eq!(prepared.function("_call_1_wait").unwrap().1.unwrap().line, 3);
        assert_eq!(prepared.function("emit"), Some(("emit", None)));
        assert_eq!(prepared.function("len"), None);
        assert_eq!(plain("_call_12_fork, _call_x, len"), "fork, x, len");
    }

    #[test]
    fn a_name_that_the_code_gives_to_something_of_its_own_stays() {
        for code in ["def tool(x): return x\ntool(1)", "wait = 1\nf(wait(2))", "def f(emit): emit('a')"] {
            assert_eq!(Prepared::new(code).text, code);
        }
    }

    #[test]
    fn a_call_is_awaited_where_the_code_awaits_what_it_gives() {
        assert_eq!(sites("x = tool('a')\nawait f(x)"), [(1, false)]);
        assert_eq!(sites("x = tool('a')\nawait x"), [(1, true)]);
        assert_eq!(sites("await tool('a')\ny = tool('b')"), [(1, true), (2, false)]);
        assert_eq!(sites("await asyncio.gather(wait(1), *[tool('a') for x in y])"), [(1, true), (1, true)]);
        assert_eq!(
            sites("ts = [tool('a')]\nts.append(tool('b'))\nawait gather(*ts)"),
            [(1, true), (2, true)]
        );
        assert_eq!(sites("ts = {}\nts[1] = tool('a')\nfor k, t in ts.items():\n  await t"), [(2, true)]);
        assert_eq!(sites("def f(x):\n  return tool(x)\nawait gather(*[f(i) for i in y])"), [(2, true)]);
        assert_eq!(
            sites("async def all(a, ts):\n  await gather(*ts)\nawait all(tool('a'), [tool('b')])"),
            [(3, false), (3, true)]
        );
        assert_eq!(sites("async def f(x):\n  return tool(x)\nawait f(1)"), [(2, false)]);
        assert_eq!(sites("ts = [tool('a') for x in y]\nrs = [await t for t in ts]"), [(1, true)]);
    }
}
