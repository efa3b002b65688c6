//! Finding the test functions of a file.

use std::collections::BTreeSet;

use crate::source::Source;

/// The names of the functions that a test runner runs: those with `#[test]`, `#[tokio::test]` or
/// the like. Inside `proptest!` it is the same attribute that makes a property a test.
pub(crate) fn tests_of(source: &Source) -> BTreeSet<String> {
    let code = source.code();
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices("fn ")
        .filter(|(at, _)| !code[..*at].ends_with(part) && is_test(&code[..*at]))
        .map(|(at, word)| code[at + word.len()..].trim_start().chars().take_while(|c| part(*c)).collect())
        .collect()
}

/// Whether one of the attributes at the end of this code, before a function, makes it a test.
fn is_test(before: &str) -> bool {
    let mut rest = before.trim_end();
    loop {
        // The words between the attributes and `fn`.
        if let Some(less) = ["async", "pub", "pub(crate)"].iter().find_map(|word| rest.strip_suffix(word)) {
            rest = less.trim_end();
            continue;
        }
        let Some(open) = rest.ends_with(']').then(|| opening(rest)).flatten() else { return false };
        let name = rest[open + 1..rest.len() - 1].split('(').next().unwrap_or_default().trim();
        if name == "test" || name.ends_with("::test") {
            return true;
        }
        let Some(less) = rest[..open].strip_suffix('#') else { return false };
        rest = less.trim_end();
    }
}

/// Where the bracket opens that closes at the end.
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
        let found = tests_of(&Source::new(text));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["on_a_runtime", "plain", "property"]);
    }
}
