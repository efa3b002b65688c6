//! Rules for the modules of the engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    finding::{Finding, Report},
    modules::{Modules, Reach},
    source::Source,
};

/// Where the engine's files are, and its root.
const ENGINE: &str = "crates/engine/src/";
const ROOT: &str = "crates/engine/src/lib.rs";
/// The module that composes an engine of the others. Each of them may use it.
const COMPOSITION: &str = "engine";

/// Where the files of a run are, and the one of them that calls the store's commit.
const RUN: &str = "crates/engine/src/run/";
const COMMITS: &str = "crates/engine/src/run/commit.rs";

/// Checks the engine's files.
pub(crate) fn check(modules: &Modules<'_>, report: &mut Report) {
    commits(modules, report);
    circles(modules, report);
}

/// Only one file of a run calls the commit of anything but the run itself: what a commit changes in memory is brought up
/// to date in one place.
fn commits(modules: &Modules<'_>, report: &mut Report) {
    let of_run = |(path, _, reach): &(&str, _, Reach)| {
        path.starts_with(RUN) && *path != COMMITS && *reach != Reach::Test
    };
    for (path, source, _) in modules.iter().filter(of_run) {
        for (at, _) in source.code().match_indices(".commit(") {
            let line = source.line(at);
            if !line.test && !source.code()[..at].trim_end().ends_with("self") {
                let remedy = format!("call a method of {COMMITS}");
                report.findings.push(Finding::new(path, line.number, "a commit of its own", remedy));
            }
        }
    }
}

/// The modules at the top of the engine import each other in no circle, without the one that composes them: so each can
/// be read with those below it alone.
fn circles(modules: &Modules<'_>, report: &mut Report) {
    let Some(root) = modules.get(ROOT) else { return };
    let arrows = arrows(modules, &Names::of(root));
    for start in arrows.keys() {
        let Some(circle) = circle_of(start, &arrows) else { continue };
        // Told once, of its first module.
        if circle.iter().any(|module| module < start) {
            continue;
        }
        let (path, line) = arrows[start][circle[1]];
        let what = format!("modules of the engine import each other: {}", circle.join(" → "));
        let remedy = "move what both sides need into a module below them";
        report.findings.push(Finding::new(path, line, what, remedy));
    }
}

/// Which top module imports which, with the place of the first such import.
type Arrows<'m> = BTreeMap<&'m str, BTreeMap<&'m str, (&'m str, usize)>>;

/// The shortest circle of imports through a module, from it and back to it.
fn circle_of<'m>(start: &'m str, arrows: &Arrows<'m>) -> Option<Vec<&'m str>> {
    let mut open = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = open.pop_front() {
        for next in arrows.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            let further: Vec<&str> = way.iter().chain([next]).copied().collect();
            if *next == start {
                return Some(further);
            }
            if seen.insert(*next) {
                open.push_back(further);
            }
        }
    }
    None
}

/// The names at the root of the engine.
struct Names<'m> {
    modules: BTreeSet<&'m str>,
    /// The modules of the names that the root exports.
    exports: BTreeMap<&'m str, &'m str>,
}

impl<'m> Names<'m> {
    fn of(root: &'m Source) -> Self {
        let declared = |line: &'m str| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.strip_prefix("mod ")?.strip_suffix(';')
        };
        let modules: BTreeSet<&str> = root.lines().filter_map(|line| declared(line.code)).collect();
        let mut exports = BTreeMap::new();
        for statement in root.code().split("pub use ").skip(1) {
            let (statement, _) = statement.split_once(';').unwrap_or((statement, ""));
            let mut words = statement.split(|c: char| !is_of_word(c)).filter(|word| !word.is_empty());
            if let Some(module) = words.next().filter(|module| modules.contains(module)) {
                exports.extend(words.map(|name| (name, module)));
            }
        }
        Self { modules, exports }
    }

    /// The module to which a name at the root belongs; none if it belongs to the root itself, or to the composition.
    fn module(&self, name: &str) -> Option<&'m str> {
        let module = self.modules.get(name).or_else(|| self.exports.get(name)).copied();
        module.filter(|module| *module != COMPOSITION)
    }
}

fn arrows<'m>(modules: &'m Modules<'_>, names: &Names<'m>) -> Arrows<'m> {
    let mut arrows = Arrows::new();
    for (path, source, reach) in modules.iter() {
        let Some(file) = path.strip_prefix(ENGINE).filter(|_| reach != Reach::Test) else { continue };
        let top = file.split('/').next().unwrap_or(file);
        let Some(from) = names.module(top.strip_suffix(".rs").unwrap_or(top)) else { continue };
        let is_top = file == top || file.ends_with("/mod.rs") && file.matches('/').count() == 1;
        let prefixes = if is_top { &["crate::", "super::"][..] } else { &["crate::"][..] };
        for (at, name) in prefixes.iter().flat_map(|prefix| imports(source.code(), prefix)) {
            let line = source.line(at);
            if let Some(to) = names.module(name).filter(|to| *to != from && !line.test) {
                let places = arrows.entry(from).or_default();
                places.entry(to).or_insert((path, line.number));
            }
        }
    }
    arrows
}

/// The first names of paths after a prefix such as `crate::`, alone or in braces, with the offset of the prefix.
fn imports<'s>(code: &'s str, prefix: &str) -> Vec<(usize, &'s str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        if code[..at].ends_with(is_of_word) || code[..at].ends_with(':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push((at, word(rest)));
            continue;
        };
        let (mut depth, mut is_first) = (1, true);
        for (offset, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 1 => break,
                '}' => depth -= 1,
                ',' => is_first = depth == 1,
                _ if is_first && is_of_word(c) => {
                    found.push((at, word(&group[offset..])));
                    is_first = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// The word at the beginning of a text.
fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_of_word(c)).unwrap_or(text.len())]
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let crates = [("crates/engine/Cargo.toml", "")];
        let files: Vec<_> = crates.iter().chain(files).copied().collect();
        found_by(|repo, report| check(&Modules::of(repo), report), &files)
    }

    #[test]
    fn only_one_file_of_a_run_commits() {
        let run = "mod close;\nmod commit;\n";
        let commit = "fn a() { self.engine.store().commit(b).await }\n";
        let found = found(&[
            ("crates/engine/src/lib.rs", "mod advance;\nmod run;\n"),
            ("crates/engine/src/advance.rs", commit),
            ("crates/engine/src/run/mod.rs", run),
            ("crates/engine/src/run/commit.rs", commit),
            (
                "crates/engine/src/run/close.rs",
                "fn a() {\n    self.commit(b).await;\n    self\n        .commit(b);\n    store\n        .commit(b);\n}\n\
                 #[cfg(test)]\nmod tests {\n    fn b() { store.commit(c); }\n}\n",
            ),
        ]);
        assert_eq!(found, ["crates/engine/src/run/close.rs:6: a commit of its own"]);
    }

    #[test]
    fn a_circle_of_modules_is_found_unless_it_leads_through_the_composition_or_tests() {
        let found = found(&[
            (
                "crates/engine/src/lib.rs",
                "mod client;\nmod engine;\nmod feed;\npub mod run;\nmod signals;\npub use engine::Engine;\n\
                 pub use feed::{\n    Delta,\n    tree::{self, Tree},\n};\npub use run::Run;\n",
            ),
            ("crates/engine/src/engine.rs", "use crate::{client::Client, run::Run};\n"),
            ("crates/engine/src/client.rs", "use crate::{Engine, run};\n"),
            (
                "crates/engine/src/run.rs",
                "use super::signals::Sent;\n#[cfg(test)]\nmod tests {\n    use crate::client::Client;\n}\n",
            ),
            ("crates/engine/src/signals.rs", "\nuse crate::{\n    Engine,\n    Tree,\n};\n"),
            ("crates/engine/src/feed/mod.rs", "mod tree;\n"),
            ("crates/engine/src/feed/tree.rs", "\n\nfn a() -> crate::Run {}\n"),
        ]);
        let what = "modules of the engine import each other: feed → run → signals → feed";
        assert_eq!(found, [format!("crates/engine/src/feed/tree.rs:3: {what}")]);
    }

    #[test]
    fn the_first_names_of_paths_are_found() {
        let names = |code| imports(code, "crate::").into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names("use crate::a::b; x(crate::c)"), ["a", "c"]);
        assert_eq!(
            names("use crate::{\n    A, b::{c, d::{e}}, f as g,\n    h::*,\n};"),
            ["A", "b", "f", "h"]
        );
        assert_eq!(names("mycrate::a, other::crate::b"), Vec::<&str>::new());
    }
}
