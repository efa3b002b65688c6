//! Which Rust files the compiler reads, and which of them only when it builds tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    condition::{features_of, is_conditional, requires_more},
    repo::Repo,
    source::Source,
};

/// The Rust files of a repository.
#[derive(Debug)]
pub(crate) struct Modules<'a> {
    sources: BTreeMap<&'a str, Source>,
    reached: BTreeMap<String, Reach>,
    always: BTreeSet<String>,
}

/// How a file is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Under a `tests`, `benches` or `examples` folder, or declared under `#[cfg(test)]`.
    Test,
    /// From the program itself.
    Code,
    /// From nowhere: no module declares it.
    Nothing,
}

impl<'a> Modules<'a> {
    /// Follows the `mod` lines from each crate's roots.
    pub(crate) fn of(repo: &'a Repo) -> Self {
        let sources: BTreeMap<&str, Source> =
            repo.ending(".rs").map(|(path, text)| (path, Source::new(text))).collect();
        let mut roots: Vec<&str> = sources.keys().copied().filter(|path| is_root(repo, path)).collect();
        let reached = reached_from(&roots, repo, &sources, |_| true);
        roots.retain(|path| is_built(repo, path));
        let always = reached_from(&roots, repo, &sources, |child| !child.conditional).into_keys().collect();
        Self { sources, reached, always }
    }

    /// How a file is reached.
    pub(crate) fn reach(&self, path: &str) -> Reach {
        self.reached.get(path).copied().unwrap_or(Reach::Nothing)
    }

    /// Whether plain `cargo test`, without further features, compiles a file.
    pub(crate) fn is_always_compiled(&self, path: &str) -> bool {
        self.always.contains(path)
    }

    /// A file's code.
    pub(crate) fn get(&self, path: &str) -> Option<&Source> {
        self.sources.get(path)
    }

    /// Every file, its code and how it is reached, in path order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, &Source, Reach)> {
        self.sources.iter().map(|(path, source)| (*path, source, self.reach(path)))
    }
}

/// The files that are reached from these roots through the `mod` lines that `follows` accepts.
fn reached_from(
    roots: &[&str],
    repo: &Repo,
    sources: &BTreeMap<&str, Source>,
    follows: impl Fn(&Child<'_>) -> bool,
) -> BTreeMap<String, Reach> {
    let (mut reached, mut features) = (BTreeMap::new(), BTreeMap::new());
    let mut open: Vec<(String, Reach)> = roots
        .iter()
        .map(|path| ((*path).to_owned(), if in_test_folder(path) { Reach::Test } else { Reach::Code }))
        .collect();
    while let Some((path, reach)) = open.pop() {
        let Some(source) = sources.get(path.as_str()) else { continue };
        // A file reached from both a test and the program belongs to the program.
        if matches!(reached.get(&path), Some(known) if *known == Reach::Code || *known == reach) {
            continue;
        }
        let folder = child_folder(repo, &path);
        let manifest =
            in_crate(repo, &path).map(|(folder, _)| format!("{folder}/Cargo.toml")).unwrap_or_default();
        let on: &BTreeSet<String> = features
            .entry(manifest)
            .or_insert_with_key(|manifest| features_of(repo.get(manifest).unwrap_or_default()));
        let text = repo.get(&path).unwrap_or_default();
        for child in declared(source, text, on).filter(|child| follows(child)) {
            let reach = if child.test { Reach::Test } else { reach };
            open.push((format!("{folder}/{}.rs", child.name), reach));
            open.push((format!("{folder}/{}/mod.rs", child.name), reach));
        }
        reached.insert(path, reach);
    }
    reached
}

fn in_test_folder(path: &str) -> bool {
    path.split('/').any(|folder| matches!(folder, "tests" | "benches" | "examples"))
}

/// A file's crate folder, and its path from there.
fn in_crate<'p>(repo: &Repo, path: &'p str) -> Option<(&'p str, &'p str)> {
    let mut folder = path;
    while let Some((parent, _)) = folder.rsplit_once('/') {
        folder = parent;
        if repo.get(&format!("{folder}/Cargo.toml")).is_some() {
            return Some((folder, &path[folder.len() + 1..]));
        }
    }
    None
}

/// Whether this file is a root for cargo.
fn is_root(repo: &Repo, path: &str) -> bool {
    let Some((folder, path)) = in_crate(repo, path) else {
        // Outside all crates: the root of a target whose manifest names it.
        return repo.ending("/Cargo.toml").any(|(_, manifest)| manifest.contains(&format!("../{path}\"")));
    };
    let manifest = repo.get(&format!("{folder}/Cargo.toml")).unwrap_or_default();
    match path.split('/').collect::<Vec<_>>()[..] {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
        ["src", "bin", _] | ["src", "bin", _, "main.rs"] => true,
        ["tests", file] if file != "main.rs" && manifest.contains("autotests = false") => false,
        ["tests" | "benches" | "examples", _] | ["tests" | "benches" | "examples", _, "main.rs"] => true,
        // A target with an explicit path.
        _ => manifest.contains(&format!("\"{path}\"")),
    }
}

/// Whether plain `cargo test` builds the target with this root.
fn is_built(repo: &Repo, path: &str) -> bool {
    in_crate(repo, path).is_none_or(|(folder, path)| {
        let manifest = repo.get(&format!("{folder}/Cargo.toml")).unwrap_or_default();
        !requires_more(manifest, path)
    })
}

/// The folder of the modules that a file declares.
fn child_folder(repo: &Repo, path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if is_root(repo, path) || file == "mod.rs" {
        folder.to_owned()
    } else {
        format!("{folder}/{}", file.trim_end_matches(".rs"))
    }
}

/// A module that a file declares in a file of its own.
struct Child<'s> {
    name: &'s str,
    /// Whether it is for tests only.
    test: bool,
    /// Whether it exists only under a condition.
    conditional: bool,
}

/// The modules that a file of a crate with these features declares in files of their own. `text`
/// contains the insides of its literals.
fn declared<'s>(
    source: &'s Source,
    text: &'s str,
    on: &'s BTreeSet<String>,
) -> impl Iterator<Item = Child<'s>> {
    let code = source.code();
    let lines = code.split_inclusive('\n').scan(0, |next, line| {
        let at = *next;
        *next += line.len();
        Some((at, line))
    });
    lines.filter_map(move |(at, line)| {
        let mut words = line.trim().strip_suffix(';')?.rsplit([' ', ']']);
        let name = words.next()?;
        if words.next()? != "mod" {
            return None;
        }
        let at = at + line.rfind(name)?;
        Some(Child { name, test: source.line(at).test, conditional: is_conditional(code, text, at, on) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_the_only_test_program_is_reached_through_it() {
        let repo = Repo::of(&[
            ("a/Cargo.toml", "[package]\nautotests = false\n[[test]]\nname = \"main\"\n"),
            ("a/tests/main.rs", "mod one;"),
            ("a/tests/one.rs", ""),
            ("a/tests/two.rs", ""),
        ]);
        let modules = Modules::of(&repo);
        let reached: Vec<Reach> = modules.iter().map(|(.., reach)| reach).collect();
        assert_eq!(reached, [Reach::Test, Reach::Test, Reach::Nothing]);
    }

    #[test]
    fn an_example_outside_all_crates_is_reached_if_a_manifest_names_it() {
        let manifest = "[[example]]\nname = \"one\"\npath = \"../../examples/one.rs\"\n";
        let repo =
            Repo::of(&[("crates/a/Cargo.toml", manifest), ("examples/one.rs", ""), ("examples/two.rs", "")]);
        let modules = Modules::of(&repo);
        assert_eq!(modules.reach("examples/one.rs"), Reach::Test);
        assert_eq!(modules.reach("examples/two.rs"), Reach::Nothing);
    }

    #[test]
    fn a_module_declared_under_a_condition_is_not_always_compiled() {
        let main = "mod one;\n#[cfg(unix)]\nmod two;\n#[cfg(any())] mod three;\n#[cfg(feature = \"x\")]\nmod four;\n";
        let manifest = "[[test]]\nname = \"asked\"\nrequired-features = [\"x\"]\n";
        let repo = Repo::of(&[
            ("a/Cargo.toml", manifest),
            ("a/tests/main.rs", main),
            ("a/tests/one.rs", ""),
            ("a/tests/two.rs", ""),
            ("a/tests/three/mod.rs", "mod deep;"),
            ("a/tests/three/deep.rs", ""),
            ("a/tests/asked/main.rs", "mod five;"),
            ("a/tests/asked/five.rs", ""),
            ("b/Cargo.toml", "[package]\nautotests = false\n[[test]]\nname = \"main\"\n"),
            ("b/tests/main.rs", main),
            ("b/tests/one.rs", "#[cfg(test)] mod deep;"),
            ("b/tests/one/deep.rs", ""),
            ("b/tests/four.rs", ""),
        ]);
        let modules = Modules::of(&repo);
        assert!(modules.iter().all(|(.., reach)| reach == Reach::Test), "{modules:?}");
        let not_always: Vec<&str> =
            modules.iter().map(|(path, ..)| path).filter(|path| !modules.is_always_compiled(path)).collect();
        let conditional = [
            "a/tests/asked/five.rs",
            "a/tests/asked/main.rs",
            "a/tests/three/deep.rs",
            "a/tests/three/mod.rs",
            "b/tests/four.rs",
        ];
        assert_eq!(not_always, conditional);
    }

    #[test]
    fn a_module_of_a_default_feature_is_always_compiled() {
        let lib = "#[cfg(feature = \"x\")]\nmod one;\n#[cfg(feature = \"y\")]\nmod two;\n";
        let repo = Repo::of(&[
            ("a/Cargo.toml", "[features]\ndefault = [\"x\"]\nx = []\ny = []\n"),
            ("a/src/lib.rs", lib),
            ("a/src/one.rs", ""),
            ("a/src/two.rs", ""),
        ]);
        let modules = Modules::of(&repo);
        assert!(modules.is_always_compiled("a/src/one.rs"));
        assert!(!modules.is_always_compiled("a/src/two.rs"));
    }

    #[test]
    fn files_are_reached_by_mod_lines_from_the_crate_roots() {
        let repo = Repo::of(&[
            ("a/Cargo.toml", "[[bin]]\npath = \"odd/start.rs\"\n"),
            ("a/src/lib.rs", "pub(crate) mod one;\nmod two;\n#[cfg(test)]\nmod tests;\n// mod three;\n"),
            ("a/src/one.rs", "mod deep;"),
            ("a/src/one/deep.rs", ""),
            ("a/src/two/mod.rs", "#[cfg(test)] mod checks;"),
            ("a/src/two/checks.rs", "mod more;"),
            ("a/src/two/checks/more.rs", ""),
            ("a/src/three.rs", ""),
            ("a/src/tests.rs", ""),
            ("a/tests/main.rs", "mod helper;"),
            ("a/tests/helper/mod.rs", ""),
            ("a/tests/loose/case.rs", ""),
            ("a/odd/start.rs", ""),
        ]);
        let modules = Modules::of(&repo);
        let reached = |reach| {
            let of_it = modules.iter().filter(|(.., found)| *found == reach);
            of_it.map(|(path, ..)| path.trim_start_matches("a/")).collect::<Vec<_>>()
        };
        assert_eq!(
            reached(Reach::Code),
            ["odd/start.rs", "src/lib.rs", "src/one.rs", "src/one/deep.rs", "src/two/mod.rs"]
        );
        assert_eq!(
            reached(Reach::Test),
            [
                "src/tests.rs",
                "src/two/checks.rs",
                "src/two/checks/more.rs",
                "tests/helper/mod.rs",
                "tests/main.rs"
            ]
        );
        assert_eq!(reached(Reach::Nothing), ["src/three.rs", "tests/loose/case.rs"]);
    }
}
