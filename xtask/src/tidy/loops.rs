//! Rules for the loop of the engine, which drives agents of all kinds: how it reaches a model, that its runs share
//! nothing, and that no kind is treated by its name.

use crate::{
    finding::{Finding, Report},
    modules::{Modules, Reach},
    repo::Repo,
    source::Source,
};

/// The files that ask a model; all others ask them.
const ASKS: &str = "crates/engine/src/run/model/";
const ENGINE: &str = "crates/engine/src/";
/// The files of runs and of the programs that drive them.
const RUNS: [&str; 2] = ["crates/engine/src/run/", "crates/engine/src/programs/"];
/// The crates that drive agents of all kinds. A surface of the server may show the agents of one kind only.
const OF_ALL_KINDS: [&str; 5] = ["engine", "store", "store-sqlite", "tools", "types"];

/// Checks every file that works for agents.
pub(crate) fn check(repo: &Repo, modules: &Modules<'_>, report: &mut Report) {
    let kinds: Vec<&str> = repo.ending(".md").filter_map(|(path, _)| kind_of(path)).collect();
    for (path, source, _) in modules.iter().filter(|(_, _, reach)| *reach != Reach::Test) {
        if path.starts_with(ENGINE) && !path.starts_with(ASKS) {
            let remedy = format!("call what is in {ASKS}");
            report.findings.extend(found(
                path,
                source,
                asked_models(source),
                "asks a model by itself",
                &remedy,
            ));
        }
        if RUNS.iter().any(|runs| path.starts_with(runs)) {
            let (what, remedy) = ("state that runs share", "keep it in the run, or in the engine");
            report.findings.extend(found(path, source, statics(source), what, remedy));
        }
        if OF_ALL_KINDS.iter().any(|name| path.starts_with(&format!("crates/{name}/src/"))) {
            let text = repo.get(path).unwrap_or_default();
            let (what, remedy) =
                ("a comparison with a kind's name", "ask for a property that the kind's file states");
            report.findings.extend(found(path, source, compared(source.code(), text, &kinds), what, remedy));
        }
    }
}

/// The findings of these offsets that are not in tests.
fn found(path: &str, source: &Source, at: Vec<usize>, what: &str, remedy: &str) -> Vec<Finding> {
    let lines = at.into_iter().map(|at| source.line(at)).filter(|line| !line.test);
    lines.map(|line| Finding::new(path, line.number, what, remedy)).collect()
}

/// The kind that a file defines, if it is the file of a built-in one.
fn kind_of(path: &str) -> Option<&str> {
    path.strip_prefix("agents/")?.strip_suffix(".md").filter(|name| !name.contains('/'))
}

/// Where a model is asked.
fn asked_models(source: &Source) -> Vec<usize> {
    let code = source.code();
    let is_of_model = |at: usize| {
        let before = code[..at].trim_end();
        let before = before.strip_suffix("()").unwrap_or(before);
        before.ends_with("model") || before.ends_with("models")
    };
    code.match_indices(".call(").map(|(at, _)| at).filter(|at| is_of_model(*at)).collect()
}

/// Where something lives as long as the process.
fn statics(source: &Source) -> Vec<usize> {
    let code = source.code();
    let is_item = |at: usize| !code[..at].ends_with(|c: char| c == '\'' || c == '_' || c.is_alphanumeric());
    let items = code.match_indices("static ").filter(|(at, _)| is_item(*at));
    items.chain(code.match_indices("thread_local!")).map(|(at, _)| at).collect()
}

/// Where a text is compared with the name of a kind, written out or as a constant of the same file.
fn compared(code: &str, text: &str, kinds: &[&str]) -> Vec<usize> {
    let names = kinds.iter().map(|kind| format!("\"{kind}\""));
    let written = names.clone().flat_map(|name| places(text, &name));
    // A comment or a longer text is no literal: there the code is blank.
    let literals: Vec<(usize, usize)> = written.filter(|(at, _)| code.as_bytes()[*at] == b'"').collect();
    let constants: Vec<&str> = literals.iter().filter_map(|(at, _)| constant_before(&code[..*at])).collect();
    let uses = constants.iter().flat_map(|constant| places(code, constant));
    let uses = uses.filter(|(at, end)| is_whole_word(code, *at, *end));
    let all = literals.iter().copied().chain(uses);
    all.filter(|(at, end)| is_compared(&code[..*at], &code[*end..])).map(|(at, _)| at).collect()
}

/// Where a word begins and ends in a text.
fn places(text: &str, word: &str) -> Vec<(usize, usize)> {
    text.match_indices(word).map(|(at, _)| (at, at + word.len())).collect()
}

/// The constant whose value begins here.
fn constant_before(before: &str) -> Option<&str> {
    let (declared, kind) = before.strip_suffix("= ")?.rsplit_once(':')?;
    let (start, name) = declared.rsplit_once("const ")?;
    let is_text = kind.contains("str") && !name.contains(char::is_whitespace);
    (is_text && !start.ends_with(char::is_alphanumeric)).then_some(name)
}

fn is_whole_word(code: &str, at: usize, end: usize) -> bool {
    let is_of_word = |c: char| c == '_' || c.is_alphanumeric();
    !code[..at].ends_with(is_of_word) && !code[end..].starts_with(is_of_word)
}

/// Whether what stands between these is compared: by an operator, or as a pattern.
fn is_compared(before: &str, after: &str) -> bool {
    let before = before.trim_end().trim_end_matches(['*', '&', '(']).trim_end();
    let after = after.trim_start().trim_start_matches([')', '.']).trim_start();
    let operators = ["==", "!="];
    operators.iter().any(|operator| before.ends_with(operator) || after.starts_with(operator))
        || after.starts_with("=>")
        || after.starts_with("if ")
        || after.starts_with('|') && !after.starts_with("||")
        || is_in_matches(before)
}

/// Whether a text ends within the pattern of `matches!`.
fn is_in_matches(before: &str) -> bool {
    let Some((_, arguments)) = before.rsplit_once("matches!(") else { return false };
    let (mut depth, mut is_in_pattern) = (0_i32, false);
    for c in arguments.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return false,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => is_in_pattern = true,
            _ => {}
        }
    }
    is_in_pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    const LIB: &str = "mod client;\nmod kinds;\npub mod run;\npub mod programs;\n";

    /// The findings in one file of the engine, beside others in which there is nothing to find.
    fn found(path: &str, text: &str) -> Vec<String> {
        let mut files = vec![
            ("crates/engine/Cargo.toml", ""),
            ("crates/engine/src/lib.rs", LIB),
            ("crates/engine/src/run/mod.rs", "mod model;\nmod other;\n"),
            ("crates/engine/src/run/model/mod.rs", "fn a() {\n    engine.model().call(b);\n}\n"),
            ("crates/engine/src/run/other.rs", ""),
            ("crates/engine/src/programs/mod.rs", ""),
            ("agents/goal.md", ""),
            ("agents/user_agent.md", ""),
            ("docs/zebra.md", ""),
        ];
        files.retain(|(known, _)| *known != path);
        files.push((path, text));
        found_by(|repo, report| check(repo, &Modules::of(repo), report), &files)
    }

    /// Shows: S4-R101.
    #[test]
    fn a_model_is_asked_in_one_place() {
        let path = "crates/engine/src/programs/mod.rs";
        for ask in ["run.engine.model().call(a)", "engine\n.model()\n.call(a)", "self.model.call(a)"] {
            let line = if ask.contains('\n') { 4 } else { 2 };
            let text = format!("fn b() {{\n{ask};\n}}\n");
            assert_eq!(found(path, &text), [format!("{path}:{line}: asks a model by itself")], "{ask}");
        }
        let fine = "fn b() {\n    run.call(a);\n    run.call_model().await;\n    engine.model().profile(a);\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn c() {\n        model.call(d);\n    }\n}\n";
        assert_eq!(found(path, fine), [""; 0]);
    }

    /// Shows: S4-R104.
    #[test]
    fn runs_have_no_state_that_outlives_them() {
        for path in ["crates/engine/src/run/other.rs", "crates/engine/src/programs/mod.rs"] {
            for item in ["static A: Mutex<u32> = b();", "thread_local! { c }"] {
                let text = format!("const A: &'static str = d;\n{item}\n");
                assert_eq!(found(path, &text), [format!("{path}:2: state that runs share")]);
            }
        }
        assert_eq!(found("crates/engine/src/client.rs", "static A: u32 = 1;\n"), [""; 0]);
    }

    /// Shows: S4-R152.
    #[test]
    fn no_kind_is_treated_by_its_name() {
        let path = "crates/engine/src/client.rs";
        for compares in [
            "if agent.kind == \"goal\" {}",
            "if \"goal\" != *agent.kind {}",
            "match kind {\n\"goal\" => b }",
            "match kind {\n\"other\" | \"user_agent\" => b }",
            "match kind {\n\"goal\" if c => b }",
            "matches!(kind.as_str(), \"a\" | \"goal\")",
            "matches!(d(e), Some(\"goal\"))",
            "if kind == GOAL {}",
            "match kind {\nGOAL => b }",
        ] {
            let text = format!("const GOAL: &str = \"goal\";\nfn a() {{\n{compares}\n}}\n");
            let line = if compares.contains('\n') { 4 } else { 3 };
            let what = format!("{path}:{line}: a comparison with a kind's name");
            assert_eq!(found(path, &text), [what], "{compares}");
        }
        let fine = "const GOAL: &str = \"goal\";\n/// A `kind == \"goal\"`.\nfn a() {\n    create(GOAL);\n    \
                    kinds.get(\"goal\");\n    match section { Section::Goal => \"goal\", b => \"other\" }\n    \
                    if kind == \"zebra\" || c {}\n    if kind.tasks.is_some() {}\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn b() { kind == \"goal\" }\n}\n";
        assert_eq!(found(path, fine), [""; 0]);
    }
}
