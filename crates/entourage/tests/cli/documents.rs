//! Tests of the commands about projects and documents.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended, id},
    server::Server,
    terminal::Terminal,
};

/// A place with a project `Trip` and its document `Plan`, which has two versions.
fn trip() -> DataDir {
    let place = DataDir::new();
    place.write("notes/Plan.md", "# Plan\n\nBy car.\n");
    let imported = place.entourage(&["documents", "import", "notes", "--project", "Trip", "--create"]).good();
    assert_eq!(imported.stdout, "created Plan, version 1, from notes/Plan.md\n", "{imported:?}");
    place.write("notes/Plan.md", "# Plan\n\nBy train.\n");
    let again = place.entourage(&["documents", "import", "notes", "--project", "trip"]).good();
    assert_eq!(again.stdout, "changed Plan, version 2, from notes/Plan.md\n", "{again:?}");
    place
}

#[test]
fn a_document_is_imported_shown_compared_and_brought_back() {
    let place = trip();
    let said = |arguments: &[&str]| place.entourage(arguments).good().stdout;
    let unchanged = said(&["documents", "import", "notes", "--project", "1"]);
    assert_eq!(unchanged, "unchanged Plan, version 2, from notes/Plan.md\n");

    let listed = said(&["documents"]);
    assert!(listed.starts_with("Trip, number 1\n  Plan  number 1  version 2  20"), "{listed}");
    assert!(said(&["documents", "list", "--project", "Trip"]).starts_with("Plan  number 1  version 2  20"));
    assert_eq!(said(&["documents", "show", "Plan"]), "# Plan\n\nBy train.\n");
    assert_eq!(said(&["documents", "show", "plan", "--version", "1"]), "# Plan\n\nBy car.\n");
    let versions = said(&["documents", "versions", "Plan"]);
    let versions: Vec<&str> = versions.lines().collect();
    assert!(
        versions[0].starts_with("2  20") && versions[0].ends_with("  you  imported from Plan.md"),
        "{versions:?}"
    );
    assert!(versions[1].starts_with("1  20"), "{versions:?}");

    let diff =
        "--- Plan (version 1)\n+++ Plan (version 2)\n@@ -1,3 +1,3 @@\n # Plan\n \n-By car.\n+By train.\n";
    assert_eq!(said(&["documents", "diff", "Plan"]), diff);
    assert_eq!(said(&["documents", "diff", "1", "1", "2"]), diff);
    let same = place.entourage(&["documents", "diff", "1", "2"]).good();
    assert!(same.stdout.is_empty() && same.stderr.contains("have the same text"), "{same:?}");

    let undone = place.entourage(&["documents", "undo", "Plan"]).good();
    assert_eq!(undone.stdout, "brought back version 1 of Plan as version 3\n");
    assert!(undone.stderr.contains("entourage documents undo 1 --to 2"), "{undone:?}");
    assert_eq!(said(&["documents", "show", "Plan"]), "# Plan\n\nBy car.\n");
    let already = said(&["documents", "undo", "Plan", "--to", "1"]);
    assert_eq!(already, "`Plan` is as in version 1 already: nothing was changed\n");
    assert!(said(&["documents", "undo", "Plan", "--to", "2"]).contains("as version 4"));
    assert!(said(&["projects"]).starts_with("Trip  number 1  20"));
}

/// Whatever is missing from the names of their files: what is read back are the same documents.
#[test]
fn an_export_that_is_imported_again_changes_nothing() {
    let place = trip();
    place.write("notes/a_b.md", "plain");
    place.entourage(&["documents", "import", "notes", "--project", "Trip"]).good();
    place.write("more/slash.md", "with a slash");
    place.entourage(&["documents", "import", "more", "--project", "Trip"]).good();
    place.entourage(&["documents", "change", "slash", "--name", "a/b"]).good();
    let exported = place.entourage(&["documents", "export", "--project", "Trip", "--to", "copies"]).good();
    assert!(exported.stdout.contains("wrote copies/a_b (2).md"), "{exported:?}");
    let again = place.entourage(&["documents", "import", "copies", "--project", "Trip"]).good();
    let lines: Vec<&str> = again.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "unchanged Plan, version 2, from copies/Plan.md",
            "unchanged a/b, version 2, from copies/a_b (2).md",
            "unchanged a_b, version 1, from copies/a_b.md",
        ]
    );
}

/// A reader who leaves takes nothing along: all files are imported, also those of which nobody reads.
#[cfg(unix)]
#[test]
fn an_import_goes_on_although_nobody_reads_what_it_says() {
    use std::os::unix::ffi::OsStrExt as _;

    let place = DataDir::new();
    for at in 0..5 {
        place.write(&format!("notes/{at}.md"), "text");
    }
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    fs::write(place.path().join("notes").join(odd), "text").expect("written");
    let import = ["documents", "import", "notes", "--project", "Trip", "--create"];
    let mut unread = place.process(&import).stdout(std::process::Stdio::piped()).spawn().expect("started");
    drop(unread.stdout.take());
    unread.wait().expect("it ends");
    assert_eq!(place.entourage(&["documents", "list", "--project", "Trip"]).good().stdout.lines().count(), 5);
    let ended = place.entourage(&[&import[..], &["--json"]].concat());
    let outcomes: Vec<Value> = ended.json().iter().map(|one| one["outcome"].clone()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == "refused").count(), 1, "{ended:?}");
    assert_eq!(outcomes.len(), 6);
}

#[test]
fn a_document_is_found_renamed_and_deleted() {
    let place = trip();
    place.write("more/Rome.md", "# Rome\n\nA train to Termini, then on foot.\n");
    place.entourage(&["documents", "import", "more", "--project", "Italy", "--create"]).good();
    let said = |arguments: &[&str]| place.entourage(arguments).good().stdout;
    assert_eq!(
        said(&["documents", "search", "train"]),
        "Rome  number 2  Italy  # Rome A train to Termini, then on foot.\n\
         Plan  number 1  Trip  # Plan By train.\n"
    );
    assert!(said(&["documents", "search", "tra", "--project", "Trip"]).starts_with("Plan  number 1  Trip"));
    let none = place.entourage(&["documents", "search", "ship"]).good();
    assert!(none.stdout.is_empty() && none.stderr.contains("no document has all of these words"), "{none:?}");

    let renamed = said(&["documents", "change", "Plan", "--name", "Plan for Rome"]);
    assert_eq!(renamed, "changed Plan for Rome, version 3\n");
    let kept = ["documents", "change", "1", "--standing-instruction", "In French."];
    assert_eq!(said(&kept), "changed Plan for Rome, version 4\n");
    assert_eq!(said(&kept), "Plan for Rome is like that already: nothing was changed\n");
    let shown = place.entourage(&["documents", "show", "1", "--json"]).good().json();
    assert_eq!(shown[0]["standing_instruction"], "In French.");
    assert_eq!(said(&["projects", "change", "Italy", "--name", "Rome"]), "changed project Rome\n");

    assert_eq!(
        said(&["documents", "delete", "plan for rome"]),
        "deleted Plan for Rome with its 4 versions\n"
    );
    let gone = place.entourage(&["documents", "delete", "1"]);
    assert!(gone.error(2).contains("`entourage documents` lists them"), "{gone:?}");
    assert_eq!(said(&["projects", "delete", "Rome"]), "deleted project Rome with its 1 document\n");
    assert!(said(&["documents"]).starts_with("Trip, number 1\n"), "the other project stays");
}

/// Byte for byte, whatever line ends and characters the files have.
#[test]
fn what_is_imported_is_exported_byte_for_byte() {
    let place = DataDir::new();
    let texts = [
        ("Plan.md", "# Plan\r\n\r\nBy train.\r\n"),
        ("Rome, day 1.md", "no line end"),
        ("empty.md", ""),
        ("ünïcode 🙂.md", "\u{feff}\u{1b}[2J\u{202e}\ttext\n\n\n"),
        ("long.md", &"0123456789abcdef".repeat(1 << 16)),
    ];
    for (name, text) in texts {
        place.write(&format!("notes/{name}"), text);
    }
    let import = ["documents", "import", "notes", "--project", "Trip", "--create"];
    assert!(place.entourage(&import).good().stderr.contains("5 of 5 files"));
    let export = ["documents", "export", "--project", "Trip", "--to", "copies"];
    let exported = place.entourage(&export).good();
    assert_eq!(exported.stdout.lines().count(), 5, "{exported:?}");
    assert!(exported.stderr.contains("5 documents in copies"), "{exported:?}");
    for (name, text) in texts {
        let copy = fs::read(place.path().join("copies").join(name)).expect(name);
        assert_eq!(copy, text.as_bytes(), "{name}");
        let document = name.trim_end_matches(".md");
        let shown = place.entourage(&["documents", "show", document]).good().stdout;
        assert_eq!(shown, text, "{name}");
    }
    // On a terminal, a text acts on nothing.
    let mut shown = Terminal::whole(place.process(&["documents", "show", "ünïcode 🙂"]), 80);
    shown.shows(r"\u{feff}\u{1b}[2J\u{202e}");
    assert_eq!(shown.ended().0, Some(0));
    let mut diff = Terminal::whole(place.process(&["documents", "undo", "Plan"]), 80);
    diff.shows("has only its first version");
    assert_eq!(diff.ended().0, Some(2));
}

/// The files of a directory that are not imported, each with the reason; the others are.
#[test]
fn files_that_cannot_be_documents_are_refused_and_the_others_imported() {
    let place = DataDir::new();
    place.write("notes/good.markdown", "good");
    place.write("notes/Good.md", "the same name");
    place.write("notes/below/inner.md", "not looked into");
    place.write("notes/.hidden.md", "hidden");
    place.write("notes/picture.png", "no document");
    place.write("notes/long.md", &"x".repeat((1 << 20) + 1));
    place.write("notes/nul.md", "a\0b");
    place.write("notes/two\nlines.md", "x");
    place.write("secret.txt", "a key");
    fs::write(place.path().join("notes/latin.md"), b"caf\xe9").expect("written");
    std::os::unix::fs::symlink("../secret.txt", place.path().join("notes/link.md")).expect("linked");
    let pipe = std::process::Command::new("mkfifo").arg(place.path().join("notes/pipe.md")).status();
    assert!(pipe.expect("mkfifo is there").success());

    let import = ["documents", "import", "notes", "--project", "Trip", "--create"];
    let imported = place.entourage(&import);
    assert_eq!(imported.code, 1, "{imported:?}");
    let told = |file: &str| {
        let of = |line: &&str| line.contains(&format!("notes/{file}"));
        imported.stdout.lines().find(of).unwrap_or_else(|| panic!("{file}: {imported:?}"))
    };
    for (file, why) in [
        ("good.markdown", "the same as that of Good.md"),
        ("latin.md", "is not UTF-8 text, from byte 3 on"),
        ("link.md", "is a symbolic link"),
        ("long.md", "has 1048577 bytes, and 1048576 at most"),
        ("nul.md", "has a NUL character"),
        ("pipe.md", "is no regular file"),
    ] {
        let line = told(file);
        assert!(line.starts_with("refused ") && line.contains(why), "{line}");
    }
    assert!(imported.stdout.contains("the control character '\\n'"), "{imported:?}");
    assert!(told("Good.md").starts_with("created Good, version 1"), "{imported:?}");
    assert!(imported.stderr.contains("1 of 8 files are documents of `Trip` now"), "{imported:?}");
    assert!(imported.stderr.contains("1 directory in notes were not looked into"), "{imported:?}");
    assert_eq!(place.entourage(&["documents", "--json"]).good().json().len(), 1);

    let lines = place.entourage(&["documents", "import", "notes", "--project", "Trip", "--json"]).json();
    let good = lines.iter().find(|line| line["file"] == "notes/Good.md").expect("a line");
    assert_eq!(
        (&good["outcome"], &good["name"], &good["version"]),
        (&json!("unchanged"), &json!("Good"), &json!(1))
    );
    let link = lines.iter().find(|line| line["file"] == "notes/link.md").expect("a line");
    assert_eq!(link["outcome"], "refused");
    assert!(link["why"].as_str().is_some_and(|why| why.contains("symbolic link")), "{link}");
}

#[test]
fn an_export_replaces_no_file_unless_it_is_forced() {
    let place = trip();
    place.write("copies/Plan.md", "mine");
    let export = |more: &[&str]| {
        place.entourage(&[&["documents", "export", "--project", "Trip", "--to", "copies"], more].concat())
    };
    let read = |file: &str| fs::read_to_string(place.path().join(file)).expect("there");
    let refused = export(&[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(refused.stdout, "refused copies/Plan.md: is there already; --force replaces it\n");
    assert_eq!(read("copies/Plan.md"), "mine");
    assert_eq!(export(&["--force"]).good().stdout, "wrote copies/Plan.md\n");
    assert_eq!(export(&[]).good().stdout, "unchanged copies/Plan.md\n");

    // What a link leads to is not written.
    fs::remove_file(place.path().join("copies/Plan.md")).expect("there");
    place.write("elsewhere.md", "theirs");
    std::os::unix::fs::symlink("../elsewhere.md", place.path().join("copies/Plan.md")).expect("linked");
    assert_eq!(export(&[]).code, 1);
    export(&["--force"]).good();
    assert_eq!(
        (read("elsewhere.md").as_str(), read("copies/Plan.md").as_str()),
        ("theirs", "# Plan\n\nBy train.\n")
    );
    let files = fs::read_dir(place.path().join("copies")).expect("there").count();
    assert_eq!(files, 1, "nothing is left behind");

    assert_eq!(place.entourage(&["documents", "export", "Plan"]).good().stdout, "# Plan\n\nBy train.\n");
    let one = place.entourage(&["documents", "export", "Plan", "--to", "one", "--json"]).good().json();
    assert_eq!((&one[0]["file"], &one[0]["outcome"]), (&json!("one/Plan.md"), &json!("written")));
}

/// Documents are called what a path may not: no file is written outside of the directory.
#[test]
fn a_document_is_exported_under_a_safe_name() {
    let place = trip();
    let server = Server::start(&place);
    let project = place.entourage(&["projects", "--json"]).good().json()[0]["id"].clone();
    let path = format!("/v1/projects/{}/documents", project.as_str().expect("an id"));
    for name in ["../../evil", "a/b", "A:B"] {
        let (status, _) =
            request(server.address(), "POST", &path, "", &json!({ "name": name, "content": name }));
        assert_eq!(status, 201);
    }
    let export = ["documents", "export", "--project", "Trip", "--to", "copies"];
    place.entourage(&export).good();
    let files = fs::read_dir(place.path().join("copies")).expect("there");
    let mut files: Vec<String> =
        files.map(|file| file.expect("readable").file_name().display().to_string()).collect();
    files.sort();
    assert_eq!(files, ["A_B (2).md", "Plan.md", "_.._evil.md", "a_b.md"]);
}

#[test]
fn a_mistake_is_one_line_that_names_the_next_step() {
    let place = trip();
    place.write("empty/picture.png", "");
    place.write("other/Plan.md", "another");
    place.entourage(&["documents", "import", "other", "--project", "Other", "--create"]).good();
    for (arguments, words) in [
        (&["documents", "list", "--project", "Nowhere"][..], "`entourage projects` lists them"),
        (&["documents", "show", "Nothing"], "`entourage documents` lists them"),
        (&["documents", "show", "Nothing", "--project", "Trip"], "`entourage documents list --project Trip`"),
        (&["documents", "show", "doc_00000000000070008000000000000000"], "no document"),
        (&["documents", "show", "Plan"], "may be 2 documents: doc_"),
        (&["documents", "show", "1", "--version", "9"], "`entourage documents versions 1` lists them"),
        (&["documents", "show", "1", "--version", "0"], "0 is not in 1.."),
        (&["documents", "diff", "1", "1", "9"], "`entourage documents versions 1` lists them"),
        (&["documents", "diff", "2"], "`Plan` has only its first version"),
        (&["documents", "undo", "2"], "`entourage documents show 2` shows it"),
        (&["documents", "undo", "1", "--to", "9"], "`entourage documents versions 1` lists them"),
        (&["documents", "change", "1"], "--name <NAME>"),
        (&["documents", "change", "1", "--name", " "], "the name is empty"),
        (&["documents", "delete", "Plan"], "may be 2 documents: doc_"),
        (&["documents", "search"], "<WORDS>"),
        (&["documents", "search", "!!!"], "there is no word to look for"),
        (&["projects", "change", "Trip", "--name", "other"], "there is another project called `other`"),
        (&["projects", "delete", "Nowhere"], "there is no project `Nowhere`"),
        (&["documents", "export"], "<DOC>"),
        (&["documents", "export", "--project", "Trip"], "--to DIR"),
        (&["documents", "export", "1", "--force"], "--to <DIR>"),
        (&["documents", "export", "1", "--to", "notes/Plan.md"], "notes/Plan.md: "),
        (&["documents", "import", "nowhere", "--project", "Trip"], "nowhere: "),
        (
            &["documents", "import", "empty", "--project", "Trip"],
            "there is no *.md or *.markdown file in empty",
        ),
        (&["documents", "import", "notes", "--project", "New"], "--create creates it here"),
        (
            &["documents", "import", "notes", "--project", "prj_0000", "--create"],
            "there is no project `prj_0000`",
        ),
        (&["projects", "create", "Trip"], "there is another project called `Trip`"),
        (&["projects", "create", " "], "the name is empty"),
        (&["projects", "chats", "Nowhere"], "there is no project `Nowhere`"),
        (&["documents", "show", ""], "Give a name, a number or an id"),
    ] {
        let ended = place.entourage(arguments);
        let error = ended.error(2);
        assert!(ended.stderr.contains(words), "{arguments:?}: {error}");
        assert!(ended.stdout.is_empty(), "{arguments:?}: {ended:?}");
    }
    // With its project, its number or a part of its id, it is clear which document is meant.
    assert_eq!(
        place.entourage(&["documents", "show", "Plan", "--project", "Other"]).good().stdout,
        "another"
    );
    assert_eq!(place.entourage(&["documents", "show", "2"]).good().stdout, "another");
    let heads = place.entourage(&["documents", "list", "--project", "Other", "--json"]).good().json();
    let whole = heads[0]["id"].as_str().expect("an id");
    for part in [whole, &whole[whole.len() - 8..]] {
        assert_eq!(place.entourage(&["documents", "show", part]).good().stdout, "another", "{part}");
    }
    let list = place.entourage(&["documents", "--data", "missing"]).good();
    assert!(list.stderr.contains("entourage projects create NAME"), "{list:?}");
}

/// The objects that `/v1` has.
#[test]
fn with_json_a_line_is_the_object_of_the_api() {
    let place = trip();
    let of = |arguments: &[&str]| place.entourage(&[arguments, &["--json"]].concat()).good().json();
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let (document, version) = (of(&["documents", "show", "Plan"]), of(&["documents", "versions", "Plan"]));
    assert_eq!(document[0]["content"], "# Plan\n\nBy train.\n");
    assert_eq!(version[1]["content"], "# Plan\n\nBy car.\n");
    assert_eq!(version[0]["editor"], json!({ "by": "person" }));
    assert_eq!(of(&["documents", "show", "Plan", "--version", "1"])[0], version[1]);
    let mut head = document[0].clone();
    head.as_object_mut().expect("an object").remove("content");
    assert_eq!(of(&["documents"])[0], head);
    let diff = of(&["documents", "diff", "Plan"]);
    assert_eq!(keys(&diff[0]), ["from", "to", "name", "standing_instruction", "hunks", "unified"]);
    assert_eq!(of(&["documents", "undo", "Plan"])[0]["version"], 3);
    assert_eq!(of(&["projects"])[0]["name"], "Trip");
}

#[test]
fn an_undo_that_another_change_overtakes_does_nothing_and_says_so() {
    let place = trip();
    let server = Server::start(&place);
    let document = place.entourage(&["documents", "--json"]).good().json()[0]["id"].clone();
    let document = document.as_str().expect("an id").to_owned();
    let _between = overtaking(&place, &server, document.clone());
    let undone = place.entourage(&["documents", "undo", "Plan"]);
    let error = undone.error(1);
    assert!(error.contains("`Plan` was changed meanwhile, after version 2"), "{error}");
    assert!(error.contains("`entourage documents diff 1 2` shows the change"), "{error}");
    assert_eq!(place.entourage(&["documents", "show", &document]).good().stdout, "theirs");
    assert_eq!(id(&document, "doc_"), document);
}

#[test]
fn a_deletion_or_a_rename_that_another_change_overtakes_does_nothing_and_says_so() {
    for (arguments, words) in [
        (&["documents", "delete", "Plan"][..], "was not deleted"),
        (&["documents", "change", "Plan", "--name", "Mine"], "nothing was done"),
    ] {
        let place = trip();
        let server = Server::start(&place);
        let document = place.entourage(&["documents", "--json"]).good().json()[0]["id"].clone();
        let document = document.as_str().expect("an id").to_owned();
        let _between = overtaking(&place, &server, document.clone());
        let error = place.entourage(arguments).error(1).to_owned();
        assert!(
            error.contains("`Plan` was changed meanwhile, after version 2") && error.contains(words),
            "{error}"
        );
        assert_eq!(place.entourage(&["documents", "show", &document]).good().stdout, "theirs");
    }
}

/// Stands between the commands of a place and its server, and changes a document before each request for a version of it arrives.
fn overtaking(place: &DataDir, server: &Server, document: String) -> thread::JoinHandle<()> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let file = place.data().join("server.json");
    let mut sign: Value = serde_json::from_slice(&fs::read(&file).expect("there")).expect("JSON");
    sign["url"] = format!("http://{}", listener.local_addr().expect("bound")).into();
    fs::write(file, sign.to_string()).expect("written");
    let to = server.address().to_owned();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let (head, body) = read_request(&client);
            if head.to_ascii_lowercase().contains("\r\nif-match:") {
                let path = format!("/v1/documents/{document}");
                let change = json!({ "content": "theirs" });
                assert_eq!(request(&to, "PUT", &path, "if-match: *\r\n", &change).0, 200);
            }
            let mut onward = TcpStream::connect(&to).expect("it listens");
            let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
            onward.write_all(&[head.as_bytes(), b"\r\n", &body].concat()).expect("sent");
            let mut answer = Vec::new();
            onward.read_to_end(&mut answer).expect("answered");
            // The client may be gone.
            let _ = client.write_all(&answer);
        }
    })
}

/// The head of a request, with the end of its last line, and its body.
fn read_request(stream: &TcpStream) -> (String, Vec<u8>) {
    let (mut reader, mut head, mut length) = (BufReader::new(stream), String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("readable");
        if line.trim().is_empty() {
            break;
        }
        if let Some(given) = line.to_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse().expect("a length");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("whole");
    (head, body)
}

/// The status and the body that answer a request.
fn request(address: &str, method: &str, path: &str, headers: &str, body: &Value) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let body = body.to_string();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{headers}\r\n",
        body.len()
    );
    write!(stream, "{head}{body}").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, answer)
}

/// A server does the same for the commands as the engine within them.
#[test]
fn the_commands_do_the_same_with_a_server() {
    let place = trip();
    let _server = Server::start(&place);
    let said = |arguments: &[&str]| place.entourage(arguments).good().stdout;
    assert_eq!(said(&["documents", "show", "Plan"]), "# Plan\n\nBy train.\n");
    assert!(said(&["documents", "undo", "Plan"]).contains("as version 3"));
    assert!(said(&["documents", "export", "Plan", "--to", "copies"]).contains("wrote copies/Plan.md"));
    place.write("notes/New.md", "new");
    let imported = place.entourage(&["documents", "import", "notes", "--project", "Trip"]).good();
    assert!(imported.stdout.contains("created New, version 1"), "{imported:?}");
    let unknown: Ended = place.entourage(&["documents", "diff", "Plan", "7"]);
    assert!(unknown.error(2).contains("`entourage documents versions 1` lists them"), "{unknown:?}");
}
