//! Reading files in one directory, with no way out of it.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
    time::Duration,
};

use entourage_tools::{Error, Files, FilesSettings, ListFiles, Outcome, Owners, ReadFile, Tool};
use entourage_types::Owner;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{call, done, fails};

/// A directory with files, next to one with a secret.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { dir: TempDir::new().unwrap() };
        fs::create_dir_all(place.inside("docs/deep")).unwrap();
        fs::write(place.inside("docs/plan.md"), "one\ntwo\nthree\n").unwrap();
        fs::write(place.inside("docs/größe ..md"), "allowed").unwrap();
        fs::create_dir(place.dir.path().join("rootless")).unwrap();
        fs::write(place.dir.path().join("rootless/diary"), "hush").unwrap();
        fs::write(place.dir.path().join("diary"), "hush").unwrap();
        place
    }

    fn inside(&self, path: &str) -> std::path::PathBuf {
        self.dir.path().join("root").join(path)
    }

    fn files(&self) -> Files {
        Files::new(self.dir.path().join("root"))
    }

    fn list(&self) -> ListFiles {
        ListFiles::new(self.files())
    }

    fn read(&self) -> ReadFile {
        ReadFile::new(self.files())
    }
}

#[tokio::test]
async fn a_directory_listing_includes_its_subdirectories() {
    let place = Place::new();
    symlink("docs", place.inside("link")).unwrap();
    fs::write(place.inside("new\nline"), "x").unwrap();
    let top = done(&place.list(), json!({})).await.text;
    let inside = "docs/deep/\ndocs/größe ..md (7 bytes)\ndocs/plan.md (14 bytes)";
    assert_eq!(top, format!("docs/\n{inside}\nlink (link)\nnew?line (1 bytes)"));
    // A link leads to the same directory, and shows the paths of its target.
    for path in ["docs", "./docs/", "link"] {
        assert_eq!(done(&place.list(), json!({ "path": path })).await.text, inside);
    }
    assert!(done(&place.list(), json!({ "path": "docs/deep" })).await.text.contains("is empty"));
    assert!(fails(&place.list(), json!({ "path": "docs/plan.md" })).await.to_string().contains("read_file"));
}

/// The contents of directories are listed if they are few: fifty lines in total, and no directory in part.
#[tokio::test]
async fn subdirectories_are_listed_only_up_to_fifty_lines() {
    let place = Place::new();
    let listed = async || done(&place.list(), json!({})).await.text;
    fs::create_dir(place.inside("a")).unwrap();
    // `a/` and `docs/`, and their contents: three entries in `docs`.
    for number in 0..45 {
        fs::write(place.inside(&format!("a/{number:02}")), "").unwrap();
    }
    let all = listed().await;
    assert_eq!(all.lines().count(), 50, "{all}");
    assert!(all.contains("a/44 (0 bytes)\ndocs/\ndocs/deep/\n"), "{all}");
    // `docs` no longer fits, and is not listed in part.
    fs::write(place.inside("a/45"), "").unwrap();
    let some = listed().await;
    assert!(some.lines().count() == 48 && some.ends_with("a/45 (0 bytes)\ndocs/"), "{some}");
    // A level that alone exceeds the limit is listed without the contents of its directories.
    for number in 0..51 {
        fs::write(place.inside(&format!("z{number:02}")), "").unwrap();
    }
    assert_eq!(listed().await.lines().count(), 53);
    // Hidden entries do not count as lines, and only a limited number of them is examined.
    let place = Place::new();
    fs::create_dir(place.inside("hidden")).unwrap();
    fs::write(place.inside("hidden/seen"), "").unwrap();
    fs::write(place.inside("hidden/.one"), "").unwrap();
    let listed = async || done(&place.list(), json!({})).await.text;
    assert!(listed().await.ends_with("hidden/\nhidden/seen (0 bytes)"));
    for number in 0..1_001 {
        fs::write(place.inside(&format!("hidden/.{number}")), "").unwrap();
    }
    assert!(listed().await.ends_with("hidden/"));
}

#[tokio::test]
async fn a_long_listing_is_cut_and_says_so() {
    let place = Place::new();
    for number in 0..510 {
        fs::write(place.inside(&format!("docs/deep/{number:03}")), "").unwrap();
    }
    let listing = done(&place.list(), json!({ "path": "docs/deep" })).await.text;
    assert_eq!(listing.lines().count(), 501);
    assert!(listing.ends_with("499 (0 bytes)\n[10 more entries are not shown]"));
    // Entries that are not shown do not count against the limit.
    let _socket = std::os::unix::net::UnixListener::bind(place.inside("docs/deep/000.sock")).unwrap();
    assert_eq!(done(&place.list(), json!({ "path": "docs/deep" })).await.text, listing);
}

#[tokio::test]
async fn no_path_escapes_the_directory() {
    let place = Place::new();
    let outside = place.dir.path().join("diary");
    symlink(&outside, place.inside("absolute-link")).unwrap();
    symlink("../diary", place.inside("relative-link")).unwrap();
    symlink("..", place.inside("up")).unwrap();
    symlink("relative-link", place.inside("link-to-link")).unwrap();
    symlink("loop", place.inside("loop")).unwrap();
    symlink("../rootless", place.inside("same-prefix")).unwrap();
    let outside = outside.to_str().unwrap();
    let vectors = [
        outside,
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "..",
        "../",
        "../diary",
        "./../diary",
        "docs/../../diary",
        "docs/../plan.md",
        "docs/deep/../../../diary",
        "../root/docs/plan.md",
        "docs/./../../diary",
        "docs//..//..//diary",
        "absolute-link",
        "relative-link",
        "link-to-link",
        "up/diary",
        "same-prefix/diary",
        "loop",
        "docs/plan.md\0",
        "\0",
        "..\0/diary",
        "docs/plan.md\0.png",
        // What other systems or careless decoders would treat as a way up: here only odd names.
        "..\\diary",
        "..%2fdiary",
        "%2e%2e/diary",
        "．．/diary",
        "..／diary",
        "․․/diary",
        "..\u{200b}/diary",
        "\u{202e}../diary",
        "file:///etc/passwd",
        "~/diary",
        "$HOME/diary",
        "C:\\diary",
        "\\\\host\\diary",
        "docs/plan.md/../../../diary",
        " ../diary",
        "...//diary",
    ];
    for path in vectors {
        let why = fails(&place.read(), json!({ "path": path })).await.to_string();
        assert!(!why.contains("hush"), "{path:?}: {why}");
        // A path that only looks like a way out does not exist, so the root is listed.
        let listed = match call(&place.list(), json!({ "path": path })).await {
            Ok(Outcome::Done(done)) => done.text,
            other => other.unwrap_err().to_string(),
        };
        assert!(!listed.contains("diary (") && !listed.contains("rootless"), "{path:?}: {listed}");
    }
    for path in ["../diary", "/etc/passwd", "docs/\0", "relative-link", "up/diary", "same-prefix/diary"] {
        let error = fails(&place.read(), json!({ "path": path })).await;
        assert!(matches!(error, Error::NotAllowed(_)), "{path:?}: {error}");
    }
}

/// For a link to something that may not be read, the message does not depend on what exists at its target.
#[tokio::test]
async fn a_link_reveals_nothing_about_a_target_outside() {
    let place = Place::new();
    fs::write(place.inside(".env"), "hush").unwrap();
    let ends = [
        "../diary",
        "../no-diary",
        "../rootless",
        "/nowhere/at/all",
        ".env",
        ".envy",
        "docs/../.env",
        "self",
    ];
    for (number, end) in ends.iter().enumerate() {
        symlink(end, place.inside(&format!("link{number}"))).unwrap();
    }
    symlink("link1", place.inside("self")).unwrap();
    let said = async |path: String| {
        let read = fails(&place.read(), json!({ "path": &path })).await.to_string();
        let listed = fails(&place.list(), json!({ "path": &path })).await.to_string();
        assert_eq!(read, listed);
        read.replace(&path, "PATH")
    };
    let first = said("link0".into()).await;
    for (number, end) in ends.iter().enumerate() {
        for below in ["", "/diary", "/no/such/thing"] {
            assert_eq!(said(format!("link{number}{below}")).await, first, "{end} {below}");
        }
    }
}

#[tokio::test]
async fn control_characters_in_file_names_are_replaced() {
    let place = Place::new();
    fs::write(place.inside("a\u{202e}b\u{2028}c\u{2066}d"), "x").unwrap();
    let top = done(&place.list(), json!({})).await.text;
    assert!(top.starts_with("a?b?c?d (1 bytes)\n"), "{top}");
}

#[tokio::test]
async fn links_within_the_directory_are_followed() {
    let place = Place::new();
    symlink("docs/plan.md", place.inside("short")).unwrap();
    symlink("../docs", place.inside("docs/around")).unwrap();
    for path in ["short", "docs/around/plan.md", "docs/größe ..md"] {
        done(&place.read(), json!({ "path": path })).await;
    }
}

#[tokio::test]
async fn the_directory_may_be_a_link_but_must_exist() {
    let place = Place::new();
    symlink("root", place.dir.path().join("alias")).unwrap();
    let alias = Files::new(place.dir.path().join("alias"));
    assert_eq!(alias.check(), Ok(()));
    assert_eq!(
        done(&ReadFile::new(alias), json!({ "path": "docs/plan.md", "lines": 1 })).await.text.lines().next(),
        Some("one")
    );
    for missing in [Path::new("nowhere").to_owned(), place.dir.path().join("diary")] {
        let files = Files::new(place.dir.path().join(missing));
        assert!(files.check().is_err());
        let error = fails(&ListFiles::new(files), json!({})).await;
        assert!(matches!(&error, Error::NotConfigured(why) if why.contains("`tools.files`")), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_text_is_not_read() {
    let place = Place::new();
    fs::write(place.inside("image"), [0x89, b'P', 0, 1]).unwrap();
    let _socket = UnixListener::bind(place.inside("socket")).unwrap();
    assert!(Command::new("mkfifo").arg(place.inside("pipe")).status().unwrap().success());
    for (path, why) in [("image", "binary"), ("socket", "not a file"), ("pipe", "not a file")] {
        let error = fails(&place.read(), json!({ "path": path })).await.to_string();
        assert!(error.contains(why), "{path}: {error}");
    }
    assert!(!done(&place.list(), json!({})).await.text.contains("pipe"));
    // Only root can create a device: of the existing ones, the first would never end.
    for device in ["zero", "null"] {
        let error = fails(&ReadFile::new(Files::new("/dev")), json!({ "path": device })).await.to_string();
        assert!(error.contains("not a file"), "{device}: {error}");
    }
}

#[tokio::test]
async fn a_file_is_read_in_parts() {
    let place = Place::new();
    let read = async |from: u64, lines: Option<u64>| {
        done(&place.read(), json!({ "path": "docs/plan.md", "offset_line": from, "lines": lines })).await.text
    };
    assert_eq!(read(1, None).await, "one\ntwo\nthree\n");
    assert_eq!(read(2, None).await, "two\nthree\n");
    assert_eq!(
        read(1, Some(2)).await,
        "one\ntwo\n\n[lines 1 to 2; there is more: read on with offset_line 3]"
    );
    assert_eq!(read(3, Some(1)).await, "three\n");
    assert_eq!(read(4, None).await, "[the file has only 3 lines]");
    assert_eq!(read(99, None).await, "[the file has only 3 lines]");
    fs::write(place.inside("empty"), "").unwrap();
    assert_eq!(done(&place.read(), json!({ "path": "empty" })).await.text, "[the file is empty]");
}

#[tokio::test]
async fn a_large_file_is_read_in_parts_without_loss() {
    let place = Place::new();
    let line = |number: u64| format!("{number} {}\n", "ä".repeat(500));
    let whole: String = (1..=1000).map(line).collect();
    fs::write(place.inside("large"), &whole).unwrap();
    let (mut got, mut next) = (String::new(), 1);
    for _ in 0..20 {
        let part = done(&place.read(), json!({ "path": "large", "offset_line": next })).await.text;
        assert!(part.len() < 257 * 1024);
        let Some((text, rest)) = part.split_once("\n[lines ") else {
            got.push_str(&part);
            break;
        };
        got.push_str(text);
        next = rest.rsplit_once(' ').unwrap().1.trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(got, whole);
}

#[tokio::test]
async fn an_overlong_line_is_cut_and_the_next_line_can_be_read() {
    let place = Place::new();
    fs::write(place.inside("wide"), format!("{}\nafter\n", "x".repeat(300 * 1024))).unwrap();
    let first = done(&place.read(), json!({ "path": "wide" })).await.text;
    assert!(first.contains("[line 1 is longer than 262144 bytes; its rest cannot be read]"));
    assert!(first.ends_with("read on with offset_line 2]"));
    assert_eq!(done(&place.read(), json!({ "path": "wide", "offset_line": 2 })).await.text, "after\n");
}

/// Hidden files and files that usually hold keys are neither listed nor read, not even through a link with a
/// harmless name; the operator can allow it.
#[tokio::test]
async fn hidden_files_and_key_files_are_read_only_if_the_settings_allow_it() {
    let place = Place::new();
    fs::create_dir(place.inside(".git")).unwrap();
    for path in [".env", ".git/config", "server.pem", "id_rsa", "credentials.json"] {
        fs::write(place.inside(path), "hush").unwrap();
    }
    symlink(".env", place.inside("harmless")).unwrap();
    fs::write(place.inside("docs/deep/.env"), "hush").unwrap();
    let listed = done(&place.list(), json!({})).await.text;
    assert_eq!(
        listed,
        "docs/\ndocs/deep/\ndocs/größe ..md (7 bytes)\ndocs/plan.md (14 bytes)\nharmless (link)"
    );
    for path in [".env", ".git/config", "server.pem", "id_rsa", "credentials.json", ".absent"] {
        let error = fails(&place.read(), json!({ "path": path })).await;
        let told = matches!(&error, Error::NotAllowed(why) if why.contains("`tools.files.hidden`"));
        assert!(told, "{path}: {error}");
    }
    let error = fails(&place.read(), json!({ "path": "harmless" })).await;
    assert!(
        matches!(&error, Error::NotAllowed(why) if why.contains("a link to something that you may not read")),
        "{error}"
    );
    let error = fails(&place.list(), json!({ "path": ".git" })).await;
    assert!(matches!(error, Error::NotAllowed(_)), "{error}");

    let all = Files::of(FilesSettings { hidden: true, ..FilesSettings::new(place.dir.path().join("root")) });
    assert!(done(&ListFiles::new(all.clone()), json!({})).await.text.starts_with(".env (4 bytes)\n.git/\n"));
    assert_eq!(done(&ReadFile::new(all), json!({ "path": "harmless" })).await.text, "hush");
}

/// The program's own files are never read: neither its data nor its settings, whatever their names, not even
/// if hidden files may be read.
#[tokio::test]
async fn the_programs_own_files_are_never_read() {
    let place = Place::new();
    let kept = ["docs/deep", "docs/plan.md"].map(|path| place.inside(path));
    fs::write(place.inside("docs/deep/entourage.db"), "hush").unwrap();
    symlink("docs/deep/entourage.db", place.inside("data")).unwrap();
    let root = place.dir.path().join("root");
    let of =
        |path| Files::of(FilesSettings { hidden: true, never: kept.to_vec(), ..FilesSettings::new(path) });
    assert_eq!(
        done(&ListFiles::new(of(root.clone())), json!({ "path": "docs" })).await.text,
        "docs/größe ..md (7 bytes)"
    );
    let top = done(&ListFiles::new(of(root.clone())), json!({})).await.text;
    assert_eq!(top, "data (link)\ndocs/\ndocs/größe ..md (7 bytes)");
    for (path, said) in [
        ("docs/deep/entourage.db", "this program itself"),
        ("docs/plan.md", "this program itself"),
        ("data", "a link to something that you may not read"),
    ] {
        let error = fails(&ReadFile::new(of(root.clone())), json!({ "path": path })).await;
        assert!(matches!(&error, Error::NotAllowed(why) if why.contains(said)), "{path}: {error}");
    }
    let error = of(root.join("docs/deep")).check().unwrap_err();
    assert!(error.to_string().contains("name a directory below or beside it"), "{error}");
    fs::create_dir(root.join("docs/deep/for-agents")).unwrap();
    assert_eq!(of(root.join("docs/deep/for-agents")).check(), Ok(()));
}

/// A link that alternates between a target inside and one outside, as fast as another program can change it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_swapped_during_a_read_never_escapes_the_directory() {
    let place = Place::new();
    fs::write(place.inside("docs/diary"), "fine").unwrap();
    symlink("docs", place.inside("flips")).unwrap();
    let (inside, outside) = (place.inside("flips"), place.inside("next"));
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = std::sync::Arc::clone(&stop);
    let flipping = std::thread::spawn(move || {
        let targets = [Path::new("../rootless"), Path::new("docs")];
        for target in targets.into_iter().cycle() {
            symlink(target, &outside).unwrap();
            fs::rename(&outside, &inside).unwrap();
            if stopped.load(std::sync::atomic::Ordering::Relaxed) {
                break;
            }
        }
    });
    let read = place.read();
    let (began, mut inside, mut refused) = (std::time::Instant::now(), 0, 0);
    // Both targets occur: neither is refused because it is a link.
    while inside == 0 || refused == 0 || inside + refused < 2_000 {
        assert!(began.elapsed().as_secs() < 60, "{inside} reads, {refused} refused");
        match call(&read, json!({ "path": "flips/diary" })).await {
            Ok(Outcome::Done(done)) => {
                assert_eq!(done.text, "fine");
                inside += 1;
            }
            _ => refused += 1,
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    flipping.join().unwrap();
}

/// A sparse file may have a large size without content.
#[tokio::test]
async fn only_the_first_64_mib_of_a_file_are_read() {
    let place = Place::new();
    let text = "line\n".repeat(4_000);
    fs::write(place.inside("sparse"), &text).unwrap();
    fs::File::options().append(true).open(place.inside("sparse")).unwrap().set_len(1 << 40).unwrap();
    let error = fails(&place.read(), json!({ "path": "sparse", "offset_line": 9_000 })).await.to_string();
    assert!(error.contains("only the first 64 MiB of a file are read"), "{error}");
    let part = done(&place.read(), json!({ "path": "sparse", "lines": 4_000 })).await.text;
    assert!(part.starts_with(&text), "what stands before can be read");
}

/// An abandoned call stops reading: of 64 MiB that it would read, its thread has read only a part by the time
/// that it starts other work.
#[cfg(target_os = "linux")]
#[test]
fn an_abandoned_read_stops_its_reader_thread() {
    const READER: &str = "file-reader";
    /// Returns how many bytes a thread has read so far.
    fn read_by(thread: &Path) -> Option<u64> {
        let io = fs::read_to_string(thread.join("io")).ok()?;
        io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
    }
    let reader = || {
        let mut threads = fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
        threads.find(|thread| fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim() == READER))
    };
    let place = Place::new();
    fs::write(place.inside("sparse"), "line\n".repeat(4_000)).unwrap();
    fs::File::options().append(true).open(place.inside("sparse")).unwrap().set_len(1 << 40).unwrap();
    // One persistent thread for all blocking work, so the test knows when its work is over.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name(READER)
        .max_blocking_threads(1)
        .thread_keep_alive(Duration::from_secs(60))
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        let thread = reader().expect("it stays");
        // A file that was read to its end before the call was dropped proves nothing.
        for _ in 0..100 {
            let before = read_by(&thread).unwrap();
            let read = place.read();
            let mut call = Box::pin(call(&read, json!({ "path": "sparse", "offset_line": 9_000 })));
            let is_whole = loop {
                tokio::select! {
                    biased;
                    _ = &mut call => break true,
                    () = tokio::task::yield_now() => {}
                }
                if read_by(&thread).unwrap() > before {
                    break false;
                }
            };
            drop(call);
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            let got = read_by(&thread).unwrap() - before;
            if !is_whole && got < 32 << 20 {
                return;
            }
        }
        panic!("each time it was read to the limit");
    });
}

/// The answer to a made-up name contains the names that exist.
#[tokio::test]
async fn listing_a_missing_directory_shows_the_top_directory() {
    let listed = done(&Place::new().list(), json!({ "path": "path/to/docs" })).await.text;
    let top = "docs/\ndocs/deep/\ndocs/größe ..md (7 bytes)\ndocs/plan.md (14 bytes)";
    assert_eq!(listed, format!("There is no `path/to/docs`. At the top there are:\n{top}"));
}

/// Returns why a file cannot be read.
async fn read_error(read: &ReadFile, path: &str) -> String {
    fails(read, json!({ "path": path })).await.to_string()
}

#[tokio::test]
async fn the_error_for_a_missing_file_lists_its_directory() {
    let place = Place::new();
    fs::write(place.inside("top.md"), "x").unwrap();
    fs::write(place.inside("docs/a.md"), "x").unwrap();
    symlink("docs", place.inside("link")).unwrap();
    symlink("plan.md", place.inside("docs/same")).unwrap();
    let _socket = UnixListener::bind(place.inside("docs/socket")).unwrap();
    let read = place.read();
    let top = "docs/, link, top.md";
    assert_eq!(read_error(&read, "x").await, format!("there is no file `x`; there are: {top}"));
    assert_eq!(read_error(&read, "x/y/z").await, format!("there is no file `x/y/z`; there are: {top}"));
    let docs = "docs/a.md, docs/deep/, docs/größe ..md, docs/plan.md, docs/same";
    for path in ["docs/x", "./docs/x", "link/x", "docs/x/y"] {
        assert_eq!(read_error(&read, path).await, format!("there is no file `{path}`; there are: {docs}"));
    }
    // The most similar name comes first, even if a part of the path is a file.
    let alike = "docs/plan.md, docs/a.md, docs/deep/, docs/größe ..md, docs/same";
    for path in ["docs/Plan.txt", "docs/plan.md/x"] {
        assert_eq!(read_error(&read, path).await, format!("there is no file `{path}`; there are: {alike}"));
    }
    assert_eq!(read_error(&read, "docs").await, format!("`docs` is a directory; in it there are: {docs}"));
    assert_eq!(read_error(&read, ".").await, format!("`.` is a directory; in it there are: {top}"));
}

#[tokio::test]
async fn the_error_for_a_file_in_an_empty_directory_lists_the_parent() {
    let place = Place::new();
    let read = place.read();
    assert_eq!(read_error(&read, "docs/deep").await, "`docs/deep` is a directory; there is nothing in it");
    assert_eq!(
        read_error(&read, "docs/deep/x").await,
        "there is no file `docs/deep/x`; there are: docs/deep/, docs/größe ..md, docs/plan.md"
    );
    let empty = TempDir::new().unwrap();
    let read = ReadFile::new(Files::new(empty.path()));
    assert_eq!(read_error(&read, "x").await, "there is no file `x`; there are none");
}

#[tokio::test]
async fn the_error_for_a_missing_file_suggests_the_only_file_of_that_name() {
    let place = Place::new();
    fs::write(place.inside("docs/deep/Log.txt"), "x").unwrap();
    let read = place.read();
    let plan = |path: &str| format!("there is no file `{path}`; there is docs/plan.md");
    for path in ["plan.md", "docs/deep/plan.md", "some/where/PLAN.md"] {
        assert_eq!(read_error(&read, path).await, plan(path));
    }
    assert_eq!(read_error(&read, "log.txt").await, "there is no file `log.txt`; there is docs/deep/Log.txt");
    // A directory of that name does not count, nor does a link, whose target has a name of its own.
    fs::create_dir(place.inside("docs/deep/plan.md")).unwrap();
    symlink("docs/plan.md", place.inside("plan.MD")).unwrap();
    assert_eq!(read_error(&read, "x/plan.md").await, plan("x/plan.md"));
    // If there are two, neither is suggested.
    fs::write(place.inside("docs/deep/Plan.md"), "x").unwrap();
    assert_eq!(
        read_error(&read, "x/plan.md").await,
        "there is no file `x/plan.md`; there are: docs/, plan.MD"
    );
}

/// Deep directories are not searched: the cost would grow with the depth, and more.
#[tokio::test]
async fn a_missing_file_is_not_searched_for_in_deep_directories() {
    let place = Place::new();
    let read = place.read();
    let [near, far] = [15, 17].map(|levels| vec!["d"; levels].join("/"));
    fs::create_dir_all(place.inside(&far)).unwrap();
    fs::write(place.inside(&format!("{near}/near.txt")), "x").unwrap();
    fs::write(place.inside(&format!("{far}/far.txt")), "x").unwrap();
    let near = format!("{near}/near.txt");
    assert_eq!(read_error(&read, "near.txt").await, format!("there is no file `near.txt`; there is {near}"));
    assert_eq!(read_error(&read, "far.txt").await, "there is no file `far.txt`; there are: d/, docs/");
    // The suggestion does not name deeper entries either, even if the path itself is that deep.
    let deep = format!("{far}/absent/absent");
    let sixteenth = format!("{}/", vec!["d"; 17].join("/"));
    assert_eq!(read_error(&read, &deep).await, format!("there is no file `{deep}`; there are: {sixteenth}"));
}

#[tokio::test]
async fn the_error_for_a_missing_file_lists_a_bounded_number_of_names() {
    let place = Place::new();
    for number in 0..5_000 {
        fs::write(place.inside(&format!("docs/deep/{number:04}")), "").unwrap();
    }
    let read = place.read();
    let first: Vec<String> = (0..20).map(|number| format!("docs/deep/{number:04}")).collect();
    let told = format!("there are: {}, and 4980 more", first.join(", "));
    assert_eq!(read_error(&read, "docs/deep/x").await, format!("there is no file `docs/deep/x`; {told}"));
    assert_eq!(read_error(&read, "docs/deep").await, format!("`docs/deep` is a directory; in it {told}"));
    // Among so many entries it is unknown whether one is the only one of its name.
    assert_eq!(read_error(&read, "plan.md").await, "there is no file `plan.md`; there are: docs/");
}

/// Suggestions do not name what is neither listed nor read.
#[tokio::test]
async fn suggestions_name_no_hidden_or_outside_files() {
    let place = Place::new();
    fs::create_dir(place.inside(".git")).unwrap();
    fs::create_dir(place.inside("own")).unwrap();
    for path in [".git/only.md", ".env", "server.pem", "own/only.md", "own/entourage.db"] {
        fs::write(place.inside(path), "hush").unwrap();
    }
    symlink("..", place.inside("up")).unwrap();
    symlink(".git", place.inside("harmless")).unwrap();
    let never = vec![place.inside("own")];
    let read = ReadFile::new(Files::of(FilesSettings {
        never,
        ..FilesSettings::new(place.dir.path().join("root"))
    }));
    let top = "docs/, harmless, up";
    for (path, names) in [("x", top), ("only.md", top), ("entourage.db", top), ("diary", top)] {
        assert_eq!(read_error(&read, path).await, format!("there is no file `{path}`; there are: {names}"));
    }
    for path in ["up/x", "up/rootless/x", "harmless/x"] {
        let said = read_error(&read, path).await;
        assert!(said.ends_with("lies behind, a link to something that you may not read: you may read only what is in this directory and not hidden"), "{said}");
    }
    assert_eq!(read_error(&read, ".").await, format!("`.` is a directory; in it there are: {top}"));
    fs::write(place.inside("docs/only.md"), "x").unwrap();
    assert_eq!(read_error(&read, "only.md").await, "there is no file `only.md`; there is docs/only.md");
    fs::write(place.inside("docs/new\nline"), "x").unwrap();
    assert!(read_error(&read, "docs/x").await.contains("docs/new?line, "));
}

/// The operator's files serve the owners that the operator names.
#[tokio::test]
async fn files_serve_only_the_configured_owners() {
    let place = Place::new();
    let root = place.dir.path().join("root");
    let (ann, local) = (Owner::new("ann"), Owner::local());
    let serves = |owners: Option<Owners>| {
        let files = Files::of(FilesSettings { owners, ..FilesSettings::new(&root) });
        let (read, list) = (ReadFile::new(files.clone()), ListFiles::new(files));
        assert_eq!((read.serves(&ann), read.serves(&local)), (list.serves(&ann), list.serves(&local)));
        [read.serves(&ann), read.serves(&local)]
    };
    assert_eq!(serves(None), [true, true]);
    assert_eq!(serves(Some(vec!["*".to_owned()].into())), [true, true]);
    assert_eq!(serves(Some(vec!["ann".to_owned()].into())), [true, false]);
    assert_eq!(serves(Some(Owners::operator(None))), [false, true]);
    assert_eq!(serves(Some(Owners::operator(Some("ann")))), [true, true]);
    assert_eq!(serves(Some(vec![].into())), [false, false]);
}
