//! The contents of the toolbox and their offers.

use entourage_tools::{ArgumentValidator, Effect, Settings, builtin};
use entourage_types::{CreatedTasks, OnTaskEnd};
use serde_json::json;

use crate::support::{offered, offered_to_code, speaker};

#[test]
fn the_toolbox_has_file_tools_only_with_a_directory() {
    let names = |settings| builtin(settings).names().map(str::to_owned).collect::<Vec<_>>();
    let always = [
        "ask_user",
        "create_document",
        "create_note",
        "create_task",
        "edit_document",
        "emit",
        "fetch_url",
        "final_answer",
        "fork",
        "list_documents",
        "list_goals",
        "reactivate_agent",
        "read_document",
        "read_goal",
        "read_output",
        "retire_learning",
        "rewrite_document",
        "save_learning",
        "search_agent_history",
        "search_documents",
        "search_notes",
        "send_message",
        "spawn_agent",
        "update_learning",
        "wait",
        "web_search",
    ];
    assert_eq!(names(Settings::default()), always);
    let more = names(serde_json::from_value(json!({ "files": "/srv/docs" })).unwrap());
    assert!(more.contains(&"list_files".to_owned()) && more.contains(&"read_file".to_owned()));
    assert_eq!(more.len(), always.len() + 2);
}

/// The rows of the table in `docs/kinds.md` whose second column says what a tool does.
fn documented() -> Vec<(String, String)> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/kinds.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("| tool | what it does | effect | offered |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let word = |cell: &str| cell.trim().trim_matches('`').to_owned();
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        assert!(
            cells.len() == 6 && cells.iter().skip(1).take(4).all(|cell| !cell.trim().is_empty()),
            "{row}"
        );
        (word(cells[1]), word(cells[3]))
    })
    .collect()
}

#[test]
fn the_page_about_kinds_has_every_built_in_tool_with_its_effect() {
    let settings = json!({ "files": "/srv/docs" });
    let tools = builtin(serde_json::from_value(settings).unwrap());
    let tools: Vec<_> =
        tools.iter().map(|tool| (tool.name().to_owned(), tool.effect().to_string())).collect();
    let mut documented = documented();
    documented.sort();
    assert_eq!(documented, tools, "docs/kinds.md, crates/tools/src/all.rs");
}

#[test]
fn every_tool_offer_has_a_simple_documented_schema() {
    let settings = json!({ "files": "/srv/docs", "search": { "searxng_url": "http://127.0.0.1:1" } });
    let settings: Settings = serde_json::from_value(settings).unwrap();
    let mut kind = speaker(&["writer"]);
    let tools = builtin(settings);
    // `final_answer` and the document tools are offered only to kinds that list them.
    kind.tools = Some(tools.names().map(str::to_owned).collect());
    kind.tasks = Some(CreatedTasks { kind: "writer".to_owned(), on_end: OnTaskEnd::Quiet });
    for tool in tools.iter() {
        let is_for_code = ["fork", "emit"].contains(&tool.name());
        assert_eq!(is_for_code, offered(tool.as_ref(), &kind, true).is_none(), "{} to a model", tool.name());
        let offer = || {
            if is_for_code {
                offered_to_code(tool.as_ref(), &kind)
            } else {
                offered(tool.as_ref(), &kind, true)
            }
        };
        let spec = offer().unwrap_or_else(|| panic!("{} is not offered", tool.name()));
        assert_eq!(spec.name, tool.name());
        assert_eq!(spec, offer().unwrap(), "the same caller gets the same offer");
        assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
        ArgumentValidator::new(&spec).unwrap();
        let text = spec.parameters.to_string();
        assert!(!text.contains("$ref") && !text.contains("anyOf"), "{text}");
        let properties = spec.parameters["properties"].as_object().unwrap();
        assert!(!properties.is_empty());
        for (name, property) in properties {
            assert!(property["description"].is_string(), "{}: `{name}` has no description", spec.name);
        }
        assert!(spec.description.len() < 400 && text.len() < 900, "{} is long", spec.name);
        assert_eq!(tool.effect(), Effect::Pure, "{} writes only through its outcome", spec.name);
    }
}

#[test]
fn unknown_and_invalid_settings_are_refused() {
    let refused =
        |settings: serde_json::Value| serde_json::from_value::<Settings>(settings).unwrap_err().to_string();
    assert!(refused(json!({ "serach": {} })).contains("serach"));
    assert!(refused(json!({ "fetch": { "allow": ["http://x"] } })).contains("is not a host to allow"));
    let server = |settings: serde_json::Value| refused(json!({ "mcp": [settings] }));
    assert!(server(json!({ "name": "a b", "command": "x" })).contains("letters, digits"));
    assert!(server(json!({ "name": "x" })).contains("either `command`"));
    assert!(server(json!({ "name": "x", "command": "x", "url": "http://x" })).contains("either `command`"));
    assert!(server(json!({ "name": "x", "url": "http://x", "args": ["y"] })).contains("either `command`"));
}

#[test]
fn the_debug_output_of_settings_shows_no_key() {
    let settings: Settings = serde_json::from_value(json!({
        "search": { "tavily_api_key": "hush-1", "brave_api_key": "hush-2" },
        "mcp": [
            { "name": "a", "command": "x", "env": { "TOKEN": "hush-3" } },
            { "name": "b", "url": "http://x", "headers": { "authorization": "hush-4" } },
        ],
    }))
    .unwrap();
    assert!(!format!("{settings:?}").contains("hush"));
}
