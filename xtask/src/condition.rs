//! Code that is compiled only under a condition: a `cfg`, or a feature that is off by default.

use std::collections::BTreeSet;

use crate::source::item_end;

/// The sorts of targets that may require features, and the folders where cargo looks for them.
const TARGETS: [(&str, &str); 4] =
    [("bin", "src/bin"), ("test", "tests"), ("bench", "benches"), ("example", "examples")];

/// Whether a condition holds wherever the tests run, which is Linux, with these features.
pub(crate) fn is_everywhere(attribute: &str, on: &BTreeSet<String>) -> bool {
    let plain: String = attribute.split(']').next().unwrap_or_default().split_whitespace().collect();
    let feature = plain.strip_prefix("cfg(feature=\"").and_then(|rest| rest.strip_suffix("\")"));
    feature.is_some_and(|feature| on.contains(feature))
        || ["cfg(test)", "cfg(unix)", "cfg(target_os=\"linux\")"].contains(&plain.as_str())
}

/// Whether the file, or an item around this offset, is compiled only under a condition, with these
/// features. `text` is as long as the code and contains the insides of its literals.
pub(crate) fn is_conditional(code: &str, text: &str, at: usize, on: &BTreeSet<String>) -> bool {
    let conditional = |open: &str| {
        code.match_indices(open)
            .map(|(start, found)| (start, start + found.len() - "cfg(".len()))
            .collect::<Vec<_>>()
    };
    let whole = conditional("#![cfg(").into_iter().any(|(_, name)| !is_everywhere(&text[name..], on));
    let around = conditional("#[cfg(").into_iter().any(|(start, name)| {
        let after = code[start..].find(']').map_or(code.len(), |close| start + close + 1);
        start < at && at < item_end(code, after) && !is_everywhere(&text[name..], on)
    });
    whole || around
}

/// Whether the target whose root is this file of a crate requires a feature that is off by default.
pub(crate) fn requires_more(manifest: &str, path: &str) -> bool {
    let Ok(manifest) = manifest.parse::<toml::Table>() else { return false };
    let on = on_by_default(&manifest);
    TARGETS.iter().any(|(sort, folder)| {
        let targets = manifest.get(*sort).into_iter().flat_map(elements);
        let own = targets.filter(|target| begins_with(target, folder, path));
        own.filter_map(|target| target.get("required-features"))
            .flat_map(elements)
            .filter_map(toml::Value::as_str)
            .any(|feature| !on.contains(feature))
    })
}

/// Whether this file is a target's root: the one it names, or the one of its own name in the usual
/// folder.
fn begins_with(target: &toml::Value, folder: &str, path: &str) -> bool {
    let text = |key: &str| target.get(key).and_then(toml::Value::as_str);
    match (text("path"), text("name")) {
        (Some(own), _) => own == path,
        (None, Some(name)) => {
            [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")].contains(&path.to_owned())
        }
        (None, None) => false,
    }
}

/// The features of a crate with this manifest that are on by default.
pub(crate) fn features_of(manifest: &str) -> BTreeSet<String> {
    let Ok(manifest) = manifest.parse::<toml::Table>() else { return BTreeSet::new() };
    on_by_default(&manifest).into_iter().map(str::to_owned).collect()
}

fn on_by_default(manifest: &toml::Table) -> BTreeSet<&str> {
    let features = manifest.get("features");
    let mut on = BTreeSet::new();
    let mut open = vec!["default"];
    while let Some(feature) = open.pop() {
        if on.insert(feature) {
            let meant = features.and_then(|features| features.get(feature));
            open.extend(meant.into_iter().flat_map(elements).filter_map(toml::Value::as_str));
        }
    }
    on
}

/// The elements of a list; none if the value is no list.
fn elements(list: &toml::Value) -> &[toml::Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_needs_a_non_default_feature_is_conditional() {
        let manifest = "[features]\ndefault = [\"one\"]\none = [\"two\", \"dep:x\"]\ntwo = []\nthree = []\n\
                        [[test]]\nname = \"on\"\nrequired-features = [\"two\"]\n\
                        [[test]]\nname = \"off\"\nrequired-features = [\"one\", \"three\"]\n\
                        [[example]]\nname = \"far\"\npath = \"far/main.rs\"\nrequired-features = [\"three\"]\n";
        for path in ["tests/off.rs", "tests/off/main.rs", "far/main.rs"] {
            assert!(requires_more(manifest, path), "{path}");
        }
        for path in ["tests/on.rs", "tests/other.rs", "examples/off.rs", "examples/far.rs", "src/lib.rs"] {
            assert!(!requires_more(manifest, path), "{path}");
        }
    }
}
