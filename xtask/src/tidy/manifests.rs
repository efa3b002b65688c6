//! Rules for manifests: allowed imports, and that every crate uses the workspace's lints.

use toml::{Table, Value};

use crate::{
    finding::{Finding, Report},
    repo::Repo,
};

/// Which crates of this workspace a crate may import.
enum Imports {
    /// These and no other.
    Only(&'static [&'static str]),
    /// Any: it assembles the others.
    Any,
}
use Imports::{Any, Only};

/// The allowed imports. A new crate gets a line here.
const IMPORTS: &[(&str, Imports)] = &[
    ("entourage-types", Only(&[])),
    ("entourage-api", Only(&["entourage-types"])),
    ("entourage-python", Only(&["entourage-types", "entourage-tools"])),
    ("entourage-store", Only(&["entourage-types"])),
    ("entourage-llm", Only(&["entourage-types"])),
    ("entourage-tools", Only(&["entourage-types"])),
    ("entourage-engine", Only(&["entourage-types", "entourage-store", "entourage-llm", "entourage-tools"])),
    ("entourage-store-sqlite", Only(&["entourage-types", "entourage-store"])),
    ("entourage-store-postgres", Only(&["entourage-types", "entourage-store"])),
    ("entourage-mesh", Only(&["entourage-types", "entourage-store", "entourage-engine"])),
    ("entourage-restate", Only(&["entourage-types", "entourage-store", "entourage-engine"])),
    ("entourage-server", Only(&["entourage-types", "entourage-api", "entourage-engine"])),
    ("entourage", Any),
    ("entourage-testkit", Any),
    ("entourage-tests", Any),
    ("entourage-benches", Any),
    ("xtask", Only(&[])),
    // A workspace of its own, to show what other projects can do with the library alone.
    ("outside", Only(&["entourage"])),
];

/// Dependencies that only one crate uses, so that they can be exchanged: HTTP, providers,
/// databases.
const HOMES: &[(&str, &str)] = &[
    ("axum", "entourage-server"),
    ("genai", "entourage-llm"),
    ("monty", "entourage-python"),
    ("restate-sdk", "entourage-restate"),
    ("rusqlite", "entourage-store-sqlite"),
    ("tokio-postgres", "entourage-store-postgres"),
];

/// Crates that never ship: they may use anything to test the others from outside.
const DEVELOPMENT: &[&str] = &["entourage-testkit", "entourage-tests", "entourage-benches"];

/// A crate's manifest.
struct Manifest<'a> {
    path: &'a str,
    text: &'a str,
    table: Table,
}

/// Checks every manifest.
pub(crate) fn check(repo: &Repo, report: &mut Report) {
    let mut workspace = Table::new();
    let mut crates = Vec::new();
    for (path, text) in repo.ending("Cargo.toml") {
        match text.parse::<Table>() {
            Ok(table) if path == "Cargo.toml" => workspace = table,
            Ok(table) => crates.push(Manifest { path, text, table }),
            Err(error) => report.findings.push(Finding::new(path, 1, error.message(), "make it valid TOML")),
        }
    }
    let unsafe_code = at(&workspace, &["workspace", "lints", "rust", "unsafe_code"]);
    if unsafe_code.is_none_or(|lint| lint.get("level").unwrap_or(lint).as_str() != Some("forbid")) {
        let remedy = "add `unsafe_code = \"forbid\"` to [workspace.lints.rust]";
        report.findings.push(Finding::new("Cargo.toml", 1, "unsafe code is not forbidden", remedy));
    }
    for manifest in crates {
        if at(&manifest.table, &["lints", "workspace"]).and_then(Value::as_bool) != Some(true) {
            let remedy = "add `[lints]` with `workspace = true`";
            report.findings.push(Finding::new(
                manifest.path,
                1,
                "does not take the workspace's lints",
                remedy,
            ));
        }
        report.findings.extend(imports(&manifest, &workspace));
    }
}

/// The imports of a crate that the table forbids.
fn imports(manifest: &Manifest<'_>, workspace: &Table) -> Vec<Finding> {
    let name = at(&manifest.table, &["package", "name"]).and_then(Value::as_str).unwrap_or_default();
    let Some((_, imports)) = IMPORTS.iter().find(|(known, _)| *known == name) else {
        let remedy = "give it a line in IMPORTS of xtask/src/tidy/manifests.rs";
        let what = format!("`{name}` is not in the import table");
        return vec![Finding::new(manifest.path, 1, what, remedy)];
    };
    let mut found = Vec::new();
    for (key, import) in dependencies(&manifest.table, workspace) {
        let line = manifest.text.lines().position(|line| names(line, &key)).map_or(1, |index| index + 1);
        let ours = IMPORTS.iter().any(|(known, _)| *known == import);
        if let Only(allowed) = imports
            && ours
            && !allowed.contains(&import.as_str())
        {
            let remedy = match allowed {
                [] => "it imports none of our crates; move what needs it".to_owned(),
                _ => format!("it imports only {}; move what needs it", allowed.join(", ")),
            };
            found.push(Finding::new(manifest.path, line, format!("`{name}` imports `{import}`"), remedy));
        }
        let home = HOMES.iter().find(|(guest, _)| *guest == import).map(|(_, home)| *home);
        if let Some(home) = home.filter(|home| *home != name && !DEVELOPMENT.contains(&name)) {
            let remedy = format!("only {home} does; go through it");
            found.push(Finding::new(manifest.path, line, format!("`{name}` knows of `{import}`"), remedy));
        }
    }
    found
}

/// The value at this path of keys.
fn at<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

/// The dependencies of a crate outside tests: the key of each and the crate behind it.
fn dependencies(manifest: &Table, workspace: &Table) -> Vec<(String, String)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table));
    let sections = [manifest].into_iter().chain(tables);
    sections
        .flat_map(|table| ["dependencies", "build-dependencies"].map(|section| table.get(section)))
        .filter_map(|section| section.and_then(Value::as_table))
        .flatten()
        .map(|(key, own)| {
            let shared = at(workspace, &["workspace", "dependencies", key]);
            let renamed =
                [Some(own), shared].into_iter().flatten().find_map(|value| value.get("package")?.as_str());
            (key.clone(), renamed.unwrap_or(key).to_owned())
        })
        .collect()
}

/// Whether a line of a manifest begins with this key.
fn names(line: &str, key: &str) -> bool {
    line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    const ROOT: &str = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n[workspace.dependencies]\n\
                        wire = { package = \"axum\", version = \"0.8\" }\n";

    fn found(name: &str, rest: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}");
        found_by(check, &[("Cargo.toml", ROOT), ("crates/a/Cargo.toml", &manifest)])
    }

    #[test]
    fn imports_that_the_table_allows_are_accepted() {
        let none = Vec::<String>::new();
        assert_eq!(found("entourage-store", "[dependencies]\nentourage-types.workspace = true\n"), none);
        assert_eq!(found("entourage", "[dependencies]\nentourage-store-sqlite.workspace = true\n"), none);
        assert_eq!(found("entourage-server", "[dependencies]\naxum = \"0.8\"\n"), none);
        assert_eq!(found("entourage-benches", "[dependencies]\naxum = \"0.8\"\nrusqlite = \"1\"\n"), none);
        assert_eq!(
            found("entourage-engine", "[dev-dependencies]\nentourage-testkit.workspace = true\n"),
            none
        );
    }

    #[test]
    fn an_import_that_the_table_forbids_is_found_with_its_line() {
        for (name, import) in [
            ("entourage-types", "entourage-store"),
            ("entourage-tools", "entourage-store"),
            ("entourage-store", "entourage-engine"),
            ("entourage-engine", "entourage-store-sqlite"),
            ("entourage-server", "entourage-store"),
            ("xtask", "entourage"),
        ] {
            for (section, line) in
                [("dependencies", 6), ("build-dependencies", 6), ("target.'cfg(unix)'.dependencies", 6)]
            {
                let found = found(name, &format!("[{section}]\n{import}.workspace = true\n"));
                assert_eq!(found, [format!("crates/a/Cargo.toml:{line}: `{name}` imports `{import}`")]);
            }
        }
    }

    /// Shows: S4-R101.
    #[test]
    fn http_provider_and_database_crates_are_confined_to_their_crate() {
        for (name, guest) in [
            ("entourage", "axum"),
            ("entourage-engine", "genai"),
            ("entourage-engine", "rusqlite"),
            ("entourage-engine", "tokio-postgres"),
        ] {
            let found = found(name, &format!("[dependencies]\n{guest} = \"1\"\n"));
            assert_eq!(found, [format!("crates/a/Cargo.toml:6: `{name}` knows of `{guest}`")]);
        }
    }

    #[test]
    fn a_renamed_dependency_is_still_found() {
        let what = "crates/a/Cargo.toml:6: `entourage-engine` knows of `axum`";
        assert_eq!(
            found("entourage-engine", "[dependencies]\nhttp = { package = \"axum\", version = \"0.8\" }\n"),
            [what]
        );
        assert_eq!(found("entourage-engine", "[dependencies]\nwire.workspace = true\n"), [what]);
    }

    #[test]
    fn unlisted_crates_missing_lints_and_invalid_manifests_are_found() {
        assert_eq!(found("stranger", ""), ["crates/a/Cargo.toml:1: `stranger` is not in the import table"]);
        let bare = "[package]\nname = \"xtask\"\n";
        assert_eq!(
            found_by(check, &[("Cargo.toml", ROOT), ("xtask/Cargo.toml", bare)]),
            ["xtask/Cargo.toml:1: does not take the workspace's lints"]
        );
        assert_eq!(found_by(check, &[("Cargo.toml", ROOT), ("a/Cargo.toml", "[package\n")]).len(), 1);
    }

    #[test]
    fn a_workspace_that_does_not_forbid_unsafe_code_is_found() {
        let found =
            |lint: &str| found_by(check, &[("Cargo.toml", &format!("[workspace.lints.rust]\n{lint}\n"))]);
        assert_eq!(found("unsafe_code = { level = \"forbid\", priority = 1 }"), Vec::<String>::new());
        for weaker in ["", "unsafe_code = \"deny\"", "unsafe_code = { level = \"warn\" }"] {
            assert_eq!(found(weaker), ["Cargo.toml:1: unsafe code is not forbidden"]);
        }
    }
}
