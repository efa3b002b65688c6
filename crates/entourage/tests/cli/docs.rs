//! Runs what the README and the pages of `docs/` show, as it is printed, in order.
//!
//! A block that cannot be run has `<!-- not run: the reason -->` on the line before it.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use entourage::Settings;
use rusqlite::Connection;

use super::data_dir::{DataDir, Ended};

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
    /// Where it begins, for messages.
    place: String,
    /// Why it is not run, if it says so.
    excused: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page that shows how the program is used.
fn pages() -> Vec<PathBuf> {
    let docs =
        fs::read_dir(root().join("docs")).expect("the folder").map(|entry| entry.expect("readable").path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root().join("packaging/README.md"));
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).expect("a page");
    let (mut blocks, mut open, mut before) = (Vec::new(), None::<Block>, "");
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                let reason = before.strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
                let place = format!("{}:{number}", page.display());
                let language = language.to_owned();
                open =
                    Some(Block { language, text: String::new(), place, excused: reason.map(str::to_owned) });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, None) => before = line,
        }
    }
    assert!(open.is_none(), "{}: a block does not end", page.display());
    blocks
}

/// The blocks of a page in these languages that are to be run.
fn blocks_to_run(page: &Path, languages: &[&str]) -> Vec<Block> {
    let of = |block: &Block| languages.contains(&block.language.as_str()) && block.excused.is_none();
    blocks(page).into_iter().filter(of).collect()
}

/// The file, in the directory of kinds, of a kind or an agency that a page shows.
fn kind_file_name(shown: &str) -> String {
    let name = shown.lines().find_map(|line| line.strip_prefix("name: ")).expect("a name");
    let is_agency = shown.lines().any(|line| line.starts_with("entry_points:"));
    format!("{name}{}", if is_agency { ".agency.md" } else { ".md" })
}

/// Creates the files that a page assumes: the agency of one page is beside its kinds, another one shows settings. Returns
/// the directory that the page refers to.
fn create_assumed_files(page: &Path, place: &DataDir) -> PathBuf {
    if page.ends_with("docs/mcp.md") {
        let settings = blocks_to_run(page, &["toml"]).remove(0);
        place.write("data/entourage.toml", &settings.text);
    }
    if !page.ends_with("docs/agency.md") {
        return place.path().to_owned();
    }
    for name in ["ceo", "developer", "reviewer"] {
        let kind = format!("---\nname: {name}\ndescription: The {name}.\n---\nYou are the {name}.\n");
        place.write(&format!("data/kinds/{name}.md"), &kind);
    }
    place.data().join("kinds")
}

/// The typed lines of a block that also shows answers.
fn typed_commands(console: &str) -> String {
    console.lines().filter_map(|line| line.strip_prefix("$ ")).flat_map(|line| [line, "\n"]).collect()
}

/// A directory like a checkout, in which `cargo run` runs the built program.
fn checkout() -> DataDir {
    let place = DataDir::new();
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        place.write(file, &fs::read_to_string(root().join(file)).expect("a file"));
    }
    for page in pages().iter().filter(|page| page.parent().is_some_and(|parent| parent.ends_with("docs"))) {
        let name = page.file_name().and_then(|name| name.to_str()).expect("a name");
        place.write(&format!("docs/{name}"), &fs::read_to_string(page).expect("a page"));
    }
    let program = env!("CARGO_BIN_EXE_entourage");
    place.write("bin/entourage", &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
    let cargo =
        "#!/bin/sh\n[ \"$1 $2 $3\" = 'run --release --' ] || { echo \"cargo $*\" >&2; exit 9; }\nshift 3\n";
    place.write("bin/cargo", &format!("{cargo}exec {program} \"$@\"\n"));
    #[cfg(unix)]
    for file in ["bin/entourage", "bin/cargo"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(place.path().join(file), mode).expect("ours");
    }
    place
}

/// Runs what a page shows, in one shell, with the rehearsal as its model.
fn run_page(page: &Path) -> Option<Ended> {
    let blocks = blocks_to_run(page, &["sh", "console", "markdown"]);
    if blocks.iter().all(|block| block.language == "markdown") {
        return None;
    }
    let place = checkout();
    let directory = create_assumed_files(page, &place);
    let mut script = "set -eo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n".to_owned();
    for block in &blocks {
        script.push_str(&format!(": {}\n", block.place));
        match block.language.as_str() {
            "sh" => script.push_str(&block.text),
            "console" => script.push_str(&typed_commands(&block.text)),
            _ => {
                let kind = format!("\"$ENTOURAGE_DATA/kinds/{}\"", kind_file_name(&block.text));
                script.push_str("mkdir -p \"$ENTOURAGE_DATA/kinds\"\n");
                script.push_str(&format!("cat > {kind} <<'END OF KIND'\n{}END OF KIND\n", block.text));
            }
        }
    }
    // No other process may have this port; the usual one may be in use.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let script = script.replace("4180", &free.port().to_string());
    let inner = place.process(&[]);
    let mut shell = Command::new("bash");
    shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{}:{path}", place.path().join("bin").display()));
    shell.env("ENTOURAGE_SERVER__BIND", free.to_string());
    shell.current_dir(directory).args(["-c", &script]);
    Some(Ended::of(&mut shell))
}

/// The walk-through for a new kind of agent is one of the pages.
///
/// Shows: S4-R146.
#[test]
fn the_commands_shown_in_the_docs_run_in_order() {
    let mut run = Vec::new();
    for page in pages() {
        if let Some(ended) = run_page(&page) {
            assert_eq!(ended.code, 0, "{}: {ended:?}", page.display());
            let name = page.strip_prefix(root()).expect("below it").display().to_string();
            let wanted = match name.as_str() {
                "README.md" => [
                    "succeeded",
                    r#""role":"user","text":"What is two and two?""#,
                    " 0 mistakes",
                    "Asked: Read README.md.",
                    "Durable LLM agents",
                ]
                .as_slice(),
                "docs/upgrade.md" => &["monday.db holds a copy", "Remember the milk."],
                "docs/agency.md" => &[
                    "studio  Builds small programs. (ceo, developer, reviewer)",
                    "flowchart LR",
                    "The developer was asked, and answered:",
                    r#""chat_id":"first""#,
                    r#""final_output":""#,
                ],
                "docs/chats.md" => &[r#""role":"user","content":"And Nanga Parbat?""#],
                "docs/documents.md" => &[
                    "created webhooks, version 1, from docs/webhooks.md",
                    "changed approvals, version 3, from docs/approvals.md",
                    "+Ask before you pay.",
                    "brought back version 2 of approvals as version 4",
                    "wrote copies/approvals.md",
                    r#""chat_message":"#,
                    "event: done",
                    "urn:entourage:problem:stale-version",
                    r#""outcome":"conversation""#,
                ],
                "docs/goals.md" => &[
                    "See Rome",
                    "Asked: Which trains go there?",
                    "✓ Which trains go there?  agt_",
                    "  at rest  A week in May",
                    "description  Two weeks in June",
                    "  active  remind          once",
                    "  due 2099-03-01 09:00 ",
                    "  paused  remind  once  due once it is resumed",
                    "fired sch_",
                    r#""title":"See Paris""#,
                    r#""kind":"user_agent""#,
                    r#""status":"archived""#,
                    "its goal is archived; unarchive it first",
                ],
                "docs/mcp.md" => &[
                    "github  on (switched here)  not connected: the MCP server `github` needs the secret `github`",
                    "  github__delete_repository  off (switched here)",
                    "github  off  not connected",
                    "the secret `github` is set",
                    "1 sealed anew, 0 sealed with the first key before, 0 that no key opens",
                ],
                "docs/new_kind.md" => &[
                    " 0 mistakes",
                    "project: Manages one project of the user",
                    "weekly_review",
                    "Asked: We move the office by the end of March.",
                    "  active  weekly_review  ",
                ],
                "docs/explorations.md" => {
                    &["Rehearsal: Which of these files", r#""agentId":"licences","parentId":null"#]
                }
                _ => panic!("{name} shows commands, and no words are expected of them: {ended:?}"),
            };
            for words in wanted {
                let told = format!("{}{}", ended.stdout, ended.stderr);
                assert!(told.contains(words), "{name} shows {words}: {ended:?}");
            }
            run.push(name);
        }
    }
    assert_eq!(
        run,
        [
            "README.md",
            "docs/agency.md",
            "docs/chats.md",
            "docs/documents.md",
            "docs/explorations.md",
            "docs/goals.md",
            "docs/mcp.md",
            "docs/new_kind.md",
            "docs/upgrade.md"
        ]
    );
}

/// The database has every view under the name that the README gives it.
#[test]
fn the_readme_names_every_view_of_the_database() {
    let place = DataDir::new();
    place.entourage(&["run", "Say hello", "--quiet"]).good();
    let database = Connection::open(place.data().join("entourage.db")).expect("the database");
    let mut views = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").expect("SQL");
    let views = views.query_map((), |row| row.get(0)).expect("rows");
    let mut views: Vec<String> = views.map(|name| name.expect("a name")).collect();
    // This view is a part of another.
    views.retain(|view| view != "usage_of_runs");
    let readme = fs::read_to_string(root().join("README.md")).expect("a page");
    let (_, named) = readme.split_once("The views are ").expect("it names them");
    let (named, _) = named.split_once(". ").expect("a sentence");
    let mut named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    views.sort();
    named.sort_unstable();
    assert_eq!(views, named);
}

#[test]
fn the_settings_shown_in_the_docs_load() {
    let mut taken = 0;
    for block in pages().iter().flat_map(|page| blocks_to_run(page, &["toml"])) {
        let place = DataDir::new();
        let file = place.write("entourage.toml", &block.text);
        Settings::load(Some(place.path()), Some(&file))
            .unwrap_or_else(|error| panic!("{}: {error}", block.place));
        taken += 1;
    }
    assert!(taken >= 3, "{taken} blocks of settings");
}

#[test]
fn the_kinds_shown_in_the_docs_have_no_mistake() {
    let mut checked = 0;
    for page in pages() {
        for block in blocks_to_run(&page, &["markdown", "yaml"]) {
            let place = DataDir::new();
            create_assumed_files(&page, &place);
            if block.language == "yaml" {
                // A part of a kind's front matter.
                place.write("data/kinds/shown.md", &format!("---\n{}---\nWork.\n", block.text));
            } else {
                place.write(&format!("data/kinds/{}", kind_file_name(&block.text)), &block.text);
            }
            let ended = place.entourage(&["kinds", "check"]);
            assert_eq!(ended.code, 0, "{}: {ended:?}", block.place);
            checked += 1;
        }
    }
    assert!(checked >= 6, "{checked} kinds and parts of kinds");
}

#[test]
fn init_writes_the_kind_that_the_readme_shows() {
    let place = DataDir::new();
    place.entourage(&["init", "--quiet"]).good();
    let written = fs::read_to_string(place.data().join("kinds/critic.md")).expect("written");
    let shown = blocks_to_run(&root().join("README.md"), &["markdown"]);
    assert_eq!(shown[0].text, written);
}

#[test]
fn a_docs_block_that_is_not_run_gives_its_reason() {
    for block in pages().iter().flat_map(|page| blocks(page)) {
        let runs = ["sh", "console", "toml", "markdown", "yaml"].contains(&block.language.as_str());
        let is_compiled = block.language == "rust,no_run";
        // Code of agents, and what it returns, is run by the library's tests.
        let is_code =
            ["python", "text"].contains(&block.language.as_str()) && block.place.contains("docs/python.md");
        let excused = block.excused.as_deref().is_some_and(|reason| reason.len() > 10);
        assert!(
            runs || is_compiled || is_code || excused,
            "{}: ```{} is neither run nor excused",
            block.place,
            block.language
        );
    }
}

/// Compiled there with `entourage` alone, outside this workspace.
#[test]
fn the_rust_shown_in_the_docs_is_part_of_a_compiled_crate() {
    // At another indentation, lines break elsewhere.
    let packed = |text: &str| text.split_whitespace().collect::<String>();
    let source = |name: &str| fs::read_to_string(root().join("tests/outside").join(name)).expect("a file");
    let files = ["src/lib.rs", "src/pages.rs", "examples/answer.rs", "examples/told.rs"].map(source);
    let compiled = packed(&files.concat());
    let mut shown = 0;
    for block in pages().iter().flat_map(|page| blocks_to_run(page, &["rust,no_run"])) {
        assert!(compiled.contains(&packed(&block.text)), "{} is not in tests/outside", block.place);
        shown += 1;
    }
    assert!(shown >= 6, "{shown} blocks of Rust");
}
