//! The tasks: their messages, the records they must leave, and how a model that makes no mistake
//! does them.

use serde_json::{Value, json};

/// What must be recorded, or in the answer.
pub(super) enum Check {
    /// This tool answered without an error.
    Used(&'static str),
    /// The answer contains this fact.
    Says(&'static str),
    /// A note contains this fact.
    Noted(&'static str),
}

/// One task.
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    /// The message; `{page}` is the address of the pages.
    pub(super) ask: &'static str,
    pub(super) checks: &'static [Check],
    /// The calls, then the answer.
    pub(super) calls: fn(&str) -> Vec<(&'static str, Value)>,
    pub(super) answer: &'static str,
}

use Check::{Noted, Says, Used};

/// The files.
pub(super) const FILES: [(&str, &str); 5] = [
    ("crew.txt", "Crew of the Marlin\nCaptain: Ida Voss\nCook: Tomas Reed\nEngineer: Lena Quist\n"),
    ("contacts.txt", "Harbour office: 555-0142\nDoctor Amin: 555-0187\nSail maker: 555-0119\n"),
    ("cargo.csv", "item,crates\nlemons,34\nrope,12\nlamps,7\n"),
    (
        "repairs.md",
        "# Repairs\n\n- 3 May: the rudder was mended by Orla Finch.\n- 9 May: new mast, 14 metres.\n",
    ),
    ("log/monday.txt", "Monday. Wind west. Caught 17 mackerel. Anchored at Pell Bay.\n"),
];

/// The pages.
pub(super) const PAGES: [(&str, &str); 3] = [
    ("/tide", "High water at Pell Bay is at 06:42. Low water is at 12:55."),
    ("/ferry", "The ferry to Skarn leaves on Thursdays. A ticket costs 23 crowns."),
    ("/light", "The lighthouse of Arden was built in 1874 and is 41 metres high."),
];

fn read(path: &'static str) -> Vec<(&'static str, Value)> {
    vec![("read_file", json!({"path": path}))]
}

fn listed(path: &'static str) -> Vec<(&'static str, Value)> {
    let mut calls = vec![("list_files", json!({}))];
    calls.extend(read(path));
    calls
}

fn fetched(page: &str, path: &str) -> Vec<(&'static str, Value)> {
    vec![("fetch_url", json!({"url": format!("{page}{path}")}))]
}

fn noted(mut calls: Vec<(&'static str, Value)>, title: &str, content: &str) -> Vec<(&'static str, Value)> {
    calls.push(("create_note", json!({"title": title, "content": content})));
    calls
}

/// All tasks. The first five run with every change: one of each sort.
pub(super) static TASKS: [Task; 20] = [
    Task {
        name: "captain",
        kind: "researcher",
        ask: "Who is the captain of the Marlin?",
        checks: &[Used("read_file"), Says("Voss")],
        calls: |_| listed("crew.txt"),
        answer: "Ida Voss (crew.txt).",
    },
    Task {
        name: "note-given",
        kind: "researcher",
        ask: "Keep a note with the title Paint and the content: blue for the hull.",
        checks: &[Used("create_note"), Noted("blue")],
        calls: |_| noted(Vec::new(), "Paint", "blue for the hull"),
        answer: "Kept.",
    },
    Task {
        name: "tide",
        kind: "researcher",
        ask: "When is high water at Pell Bay? Read {page}/tide",
        checks: &[Used("fetch_url"), Says("06:42")],
        calls: |page| fetched(page, "/tide"),
        answer: "At 06:42.",
    },
    Task {
        name: "depth",
        kind: "researcher",
        ask: "Ask the harbour tools for the depth at berth 4 and tell me how many metres it is.",
        checks: &[Used("harbour__depth"), Says("8.5")],
        calls: |_| vec![("harbour__depth", json!({"berth": 4}))],
        answer: "8.5 metres.",
    },
    Task {
        name: "cook-delegated",
        kind: "assistant",
        ask: "Who is the cook of the Marlin?",
        checks: &[Used("read_file"), Says("Reed")],
        calls: |_| read("crew.txt"),
        answer: "Tomas Reed (crew.txt).",
    },
    Task {
        name: "doctor",
        kind: "researcher",
        ask: "What is the phone number of Doctor Amin?",
        checks: &[Used("read_file"), Says("555-0187")],
        calls: |_| listed("contacts.txt"),
        answer: "555-0187 (contacts.txt).",
    },
    Task {
        name: "lemons",
        kind: "researcher",
        ask: "How many crates of lemons are there? See cargo.csv.",
        checks: &[Used("read_file"), Says("34")],
        calls: |_| read("cargo.csv"),
        answer: "34 crates (cargo.csv).",
    },
    Task {
        name: "rudder",
        kind: "researcher",
        ask: "Who mended the rudder?",
        checks: &[Used("read_file"), Says("Finch")],
        calls: |_| listed("repairs.md"),
        answer: "Orla Finch (repairs.md).",
    },
    Task {
        name: "mackerel",
        kind: "researcher",
        ask: "How many mackerel were caught on Monday? See log/monday.txt.",
        checks: &[Used("read_file"), Says("17")],
        calls: |_| read("log/monday.txt"),
        answer: "17 (log/monday.txt).",
    },
    Task {
        name: "top",
        kind: "researcher",
        ask: "List the files and tell me the name of the one that ends with .csv.",
        checks: &[Used("list_files"), Says("cargo.csv")],
        calls: |_| vec![("list_files", json!({}))],
        answer: "cargo.csv",
    },
    Task {
        name: "mast",
        kind: "general",
        ask: "How long is the new mast, in metres? Read repairs.md.",
        checks: &[Used("read_file"), Says("14")],
        calls: |_| read("repairs.md"),
        answer: "14 metres (repairs.md).",
    },
    Task {
        name: "engineer",
        kind: "general",
        ask: "Write one sentence that greets the engineer by name. The name is in crew.txt.",
        checks: &[Used("read_file"), Says("Quist")],
        calls: |_| read("crew.txt"),
        answer: "Welcome, Lena Quist!",
    },
    Task {
        name: "sail-maker-note",
        kind: "general",
        ask: "Read contacts.txt, then keep the phone number of the sail maker in a note.",
        checks: &[Used("read_file"), Noted("555-0119")],
        calls: |_| noted(read("contacts.txt"), "Sail maker", "555-0119"),
        answer: "Kept: 555-0119.",
    },
    Task {
        name: "ferry-price",
        kind: "researcher",
        ask: "What does a ticket for the ferry to Skarn cost? The page {page}/ferry has it.",
        checks: &[Used("fetch_url"), Says("23")],
        calls: |page| fetched(page, "/ferry"),
        answer: "23 crowns.",
    },
    Task {
        name: "ferry-note",
        kind: "researcher",
        ask: "Fetch {page}/ferry and keep a note of the day on which the ferry leaves.",
        checks: &[Used("fetch_url"), Noted("Thursday")],
        calls: |page| noted(fetched(page, "/ferry"), "Ferry", "It leaves on Thursdays."),
        answer: "Kept: Thursday.",
    },
    Task {
        name: "lighthouse",
        kind: "researcher",
        ask: "In which year was the lighthouse of Arden built? Fetch {page}/light",
        checks: &[Used("fetch_url"), Says("1874")],
        calls: |page| fetched(page, "/light"),
        answer: "In 1874.",
    },
    Task {
        name: "fee",
        kind: "researcher",
        ask: "Use the harbour tools: what is the fee for 3 nights?",
        checks: &[Used("harbour__fee"), Says("57")],
        calls: |_| vec![("harbour__fee", json!({"nights": 3}))],
        answer: "57 crowns.",
    },
    Task {
        name: "depth-note",
        kind: "general",
        ask: "Find the depth at berth 7 with the harbour tools and keep it in a note.",
        checks: &[Used("harbour__depth"), Noted("11.25")],
        calls: |_| noted(vec![("harbour__depth", json!({"berth": 7}))], "Berth 7", "11.25 metres"),
        answer: "Kept: 11.25 metres.",
    },
    Task {
        name: "rope-delegated",
        kind: "assistant",
        ask: "How many crates of rope are there? The file cargo.csv says it.",
        checks: &[Used("read_file"), Says("12")],
        calls: |_| read("cargo.csv"),
        answer: "12 crates (cargo.csv).",
    },
    Task {
        name: "sum",
        kind: "general",
        ask: "What is 12 plus 30? Answer with the number.",
        checks: &[Says("42")],
        calls: |_| Vec::new(),
        answer: "42",
    },
];
