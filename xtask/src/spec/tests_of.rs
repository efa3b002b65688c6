//! Finds the test functions of a file, with the requirements that each claims to show.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    ops::Range,
};

use crate::{
    condition::{is_conditional, is_everywhere},
    source::{Source, item_end},
};

/// The beginning of a line above a test that lists the requirements it shows.
const SHOWS: &str = "/// Shows: ";

/// A test function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// The ids of the requirements that it claims to show.
    pub shows: Vec<String>,
    /// Why it proves nothing; none if it counts.
    pub idle: Option<&'static str>,
}

/// The functions that a test runner runs, by name: those with `#[test]`, `#[tokio::test]` or the
/// like. Inside `proptest!` the same attribute makes a property a test. `text` is the file's own
/// text; the source lacks its comments.
pub(crate) fn tests_of(source: &Source, text: &str) -> BTreeMap<String, Test> {
    let code = source.code();
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut tests = BTreeMap::new();
    for (at, word) in code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(part)) {
        let Some(attributes) = test_attributes(&code[..at]) else { continue };
        let name = code[at + word.len()..].trim_start().chars().take_while(|c| part(*c)).collect();
        let line = source.line(at).number;
        let test = Test { line, shows: shown(text, line), idle: idle(code, text, at, &attributes) };
        match tests.entry(name) {
            Entry::Vacant(place) => {
                place.insert(test);
            }
            Entry::Occupied(mut other) => {
                let other: &mut Test = other.get_mut();
                other.shows.extend(test.shows);
                other.idle = Some("another test of that file has its name");
            }
        }
    }
    tests
}

/// The ids in the `Shows` lines directly above a function.
fn shown(text: &str, line: usize) -> Vec<String> {
    let above: Vec<&str> = text.lines().take(line - 1).collect();
    let heading = |line: &&&str| line.starts_with("#[") || line.starts_with("//");
    let lines: Vec<&str> = above.iter().map(|line| line.trim()).collect();
    let lists = lines.iter().rev().take_while(heading).filter_map(|line| line.strip_prefix(SHOWS));
    lists.flat_map(|ids| ids.trim_end_matches('.').split(", ").map(str::to_owned)).collect()
}

/// Why a test proves nothing, if so: it never runs, or it does nothing. `text` is as long as the
/// code and contains the insides of its literals.
fn idle(code: &str, text: &str, at: usize, attributes: &[Range<usize>]) -> Option<&'static str> {
    // Enabled features are evaluated where files are found.
    let on = BTreeSet::new();
    let off = |attribute: &Range<usize>| {
        let name = code[attribute.clone()].trim().split(['(', ' ']).next().unwrap_or_default();
        matches!(name, "ignore" | "cfg_attr")
            || (name == "cfg" && !is_everywhere(&text[attribute.clone()], &on))
    };
    let switched_off = attributes.iter().any(off) || is_conditional(code, text, at, &on);
    let end = item_end(code, at);
    let body = code[at..end].split_once('{').map_or("", |(_, body)| body);
    switched_off.then_some("it is switched off, or runs only under a condition").or_else(|| nothing_in(body))
}

/// Why a body shows nothing; none if it may show something.
fn nothing_in(body: &str) -> Option<&'static str> {
    let says_nothing = |statement: &str| {
        let plain: String = statement.split_whitespace().collect();
        plain.is_empty() || plain == "assert!(true)" || plain.starts_with("assert!(true,")
    };
    if body.split(';').all(says_nothing) {
        return Some("its body is empty, or asserts what is always so");
    }
    let ends_here = |at: &usize| {
        let (before, after) = (&body[..*at], body[at + "return".len()..].trim_start());
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_') && after.starts_with([';', '}'])
    };
    let returns = body.match_indices("return").map(|(at, _)| at).find(ends_here)?;
    let asserted = ["assert", "panic!"].iter().any(|word| body[..returns].contains(word));
    (!asserted).then_some("it may return before it has asserted anything")
}

/// The ranges of the attributes at the end of this code, before a function, if one of them makes it
/// a test.
fn test_attributes(before: &str) -> Option<Vec<Range<usize>>> {
    let mut rest = before.trim_end();
    let mut attributes = Vec::new();
    loop {
        // The words between the attributes and `fn`.
        if let Some(less) = ["async", "pub", "pub(crate)"].iter().find_map(|word| rest.strip_suffix(word)) {
            rest = less.trim_end();
            continue;
        }
        let Some(open) = rest.ends_with(']').then(|| opening(rest)).flatten() else { break };
        let Some(less) = rest[..open].strip_suffix('#') else { break };
        attributes.push(open + 1..rest.len() - 1);
        rest = less.trim_end();
    }
    let name = |attribute: &str| attribute.split('(').next().unwrap_or_default().trim().to_owned();
    let is_test = |attribute: &Range<usize>| {
        let name = name(&before[attribute.clone()]);
        name == "test" || name.ends_with("::test")
    };
    attributes.iter().any(is_test).then_some(attributes)
}

/// The offset of the bracket that opens the pair closed at the end.
fn opening(code: &str) -> Option<usize> {
    let mut depth = 0_u32;
    code.bytes().enumerate().rev().find_map(|(at, byte)| {
        depth = match byte {
            b']' => depth + 1,
            b'[' => depth - 1,
            _ => depth,
        };
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> BTreeMap<String, Test> {
        tests_of(&Source::new(text), text)
    }

    #[test]
    fn a_test_is_a_function_with_a_test_attribute() {
        let text = r##"
            #[test]
            fn plain() {}
            /// With a comment.
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            // And another.
            #[allow(clippy::too_many_lines, reason = "a [long] story")]
            pub async fn on_a_runtime() {}
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(8))]
                #[test]
                fn property(x in 0..9) {}
                fn helper_of_it(x in 0..9) {}
            }
            fn helper() { let _ = [1]; }
            #[inline]
            fn fast() {}
            // #[test] fn commented() {}
            const TEXT: &str = "#[test] fn quoted() {}";
            #[cfg(test)]
            fn for_tests() {}
        "##;
        assert_eq!(of(text).into_keys().collect::<Vec<_>>(), ["on_a_runtime", "plain", "property"]);
    }

    #[test]
    fn the_requirements_of_a_test_are_read_from_its_doc_comment() {
        let text = "/// Shows: S9-R009.\nfn other() {}\n\n/// What it is for.\n/// Shows: S1-R001, INV-02.\n\
                    /// Shows: S2-R003.\n#[tokio::test]\nasync fn a() { b(); }\n#[test]\nfn c() { b(); }\n";
        let tests = of(text);
        let mut shows = tests["a"].shows.clone();
        shows.sort();
        assert_eq!(shows, ["INV-02", "S1-R001", "S2-R003"]);
        assert_eq!((tests["a"].line, tests["a"].idle), (8, None));
        assert_eq!(tests["c"].shows, [""; 0]);
    }

    #[test]
    fn a_test_that_never_runs_or_does_nothing_is_idle() {
        for (text, idle) in [
            ("#[test]\nfn a() { b(); }", false),
            ("#[test]\nfn a() {}", true),
            ("#[test]\nfn a() {\n    // Later.\n}", true),
            ("#[test]\n#[ignore]\nfn a() { b(); }", true),
            ("#[test]\n#[ignore = \"slow\"]\nfn a() { b(); }", true),
            ("#[cfg(any())]\n#[test]\nfn a() { b(); }", true),
            ("#[cfg(feature = \"x\")]\nmod m {\n#[test]\nfn a() { b(); }\n}", true),
            ("#[cfg(test)]\nmod m {\n#[test]\nfn a() { b(); }\n}", false),
            ("#[cfg(unix)]\n#[test]\nfn a() { b(); }", false),
            ("#![cfg(feature = \"x\")]\n#[test]\nfn a() { b(); }", true),
            ("#[cfg_attr(unix, ignore)]\n#[test]\nfn a() { b(); }", true),
            ("#[cfg(feature = \"x\")]\nfn c() {}\n#[test]\nfn a() { b(); }", false),
            ("#[cfg(target_os = \"linux\")]\n#[test]\nfn a() { b(); }", false),
            ("#[cfg(target_os = \"windows\")]\n#[test]\nfn a() { b(); }", true),
            ("#[cfg(test)]\n#[cfg(target_os = \"macos\")]\nmod m {\n#[test]\nfn a() { b(); }\n}", true),
            ("#[test]\nfn a() { assert!(true); }", true),
            ("#[test]\nfn a() { assert!( true, \"it is\") }", true),
            ("#[test]\nfn a() { let Some(b) = b() else { return };\nassert!(b); }", true),
            ("#[test]\nfn a() { if b() { return; }\nassert!(c()); }", true),
            ("#[test]\nfn a() { assert!(b());\nif c() { return; }\nassert!(d()); }", false),
            ("#[test]\nfn a() { let b = |c| { return c; };\nassert!(b(1)); }", false),
            ("#[test]\nfn a() { b(); }\nmod m {\n#[test]\nfn a() { c(); }\n}", true),
        ] {
            assert_eq!(of(text)["a"].idle.is_some(), idle, "{text}");
        }
    }
}
