//! Reading files: one directory, and no way out of it.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
};

use entourage_tools::{Error, Files, ListFiles, ReadFile};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{done, fails};

/// A directory with things in it, beside one with a secret.
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
        fs::write(place.dir.path().join("rootless/secret"), "hush").unwrap();
        fs::write(place.dir.path().join("secret"), "hush").unwrap();
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
async fn a_directory_is_listed_one_level_at_a_time() {
    let place = Place::new();
    symlink("docs", place.inside("link")).unwrap();
    fs::write(place.inside("new\nline"), "x").unwrap();
    let top = done(&place.list(), json!({})).await.text;
    assert_eq!(top, "docs/\nlink (link)\nnew?line (1 bytes)");
    let docs = done(&place.list(), json!({ "path": "./docs/" })).await.text;
    assert_eq!(docs, "deep/\ngröße ..md (7 bytes)\nplan.md (14 bytes)");
    assert!(done(&place.list(), json!({ "path": "docs/deep" })).await.text.contains("is empty"));
    assert!(fails(&place.list(), json!({ "path": "docs/plan.md" })).await.to_string().contains("read_file"));
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
}

#[tokio::test]
async fn no_path_leads_out() {
    let place = Place::new();
    let outside = place.dir.path().join("secret");
    symlink(&outside, place.inside("absolute-link")).unwrap();
    symlink("../secret", place.inside("relative-link")).unwrap();
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
        "../secret",
        "./../secret",
        "docs/../../secret",
        "docs/../plan.md",
        "docs/deep/../../../secret",
        "../root/docs/plan.md",
        "docs/./../../secret",
        "docs//..//..//secret",
        "absolute-link",
        "relative-link",
        "link-to-link",
        "up/secret",
        "same-prefix/secret",
        "loop",
        "docs/plan.md\0",
        "\0",
        "..\0/secret",
        "docs/plan.md\0.png",
        // What other systems or careless decoders would read as a way up: here only odd names.
        "..\\secret",
        "..%2fsecret",
        "%2e%2e/secret",
        "．．/secret",
        "..／secret",
        "․․/secret",
        "..\u{200b}/secret",
        "\u{202e}../secret",
        "file:///etc/passwd",
        "~/secret",
        "$HOME/secret",
        "C:\\secret",
        "\\\\host\\secret",
        "docs/plan.md/../../../secret",
        " ../secret",
        "...//secret",
    ];
    for path in vectors {
        for tool in [&place.read() as &dyn entourage_tools::Tool, &place.list()] {
            let why = fails(tool, json!({ "path": path })).await.to_string();
            assert!(!why.contains("hush"), "{path:?}: {why}");
        }
    }
    for path in ["../secret", "/etc/passwd", "docs/\0", "relative-link", "up/secret", "same-prefix/secret"] {
        let error = fails(&place.read(), json!({ "path": path })).await;
        assert!(matches!(error, Error::NotAllowed(_)), "{path:?}: {error}");
    }
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
async fn a_directory_that_is_itself_a_link_is_fine_and_one_that_is_missing_is_named() {
    let place = Place::new();
    symlink("root", place.dir.path().join("alias")).unwrap();
    let alias = Files::new(place.dir.path().join("alias"));
    assert_eq!(alias.check(), Ok(()));
    assert_eq!(
        done(&ReadFile::new(alias), json!({ "path": "docs/plan.md", "lines": 1 })).await.text.lines().next(),
        Some("one")
    );
    for missing in [Path::new("nowhere").to_owned(), place.dir.path().join("secret")] {
        let files = Files::new(place.dir.path().join(missing));
        assert!(files.check().is_err());
        let error = fails(&ListFiles::new(files), json!({})).await;
        assert!(matches!(&error, Error::NotConfigured(why) if why.contains("`tools.files`")), "{error}");
    }
}

#[tokio::test]
async fn what_is_not_a_text_file_is_not_read() {
    let place = Place::new();
    fs::write(place.inside("image"), [0x89, b'P', 0, 1]).unwrap();
    let _socket = UnixListener::bind(place.inside("socket")).unwrap();
    assert!(Command::new("mkfifo").arg(place.inside("pipe")).status().unwrap().success());
    for (path, why) in [
        ("image", "binary"),
        ("socket", "not a file"),
        ("pipe", "not a file"),
        ("docs", "not a file"),
        ("x", "no `x`"),
    ] {
        let error = fails(&place.read(), json!({ "path": path })).await.to_string();
        assert!(error.contains(why), "{path}: {error}");
    }
    assert!(!done(&place.list(), json!({})).await.text.contains("pipe"));
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
async fn a_large_file_loses_nothing_when_read_part_by_part() {
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
async fn a_line_that_does_not_fit_is_cut_and_the_rest_goes_on() {
    let place = Place::new();
    fs::write(place.inside("wide"), format!("{}\nafter\n", "x".repeat(300 * 1024))).unwrap();
    let first = done(&place.read(), json!({ "path": "wide" })).await.text;
    assert!(first.contains("[line 1 is longer than 262144 bytes; its rest cannot be read]"));
    assert!(first.ends_with("read on with offset_line 2]"));
    assert_eq!(done(&place.read(), json!({ "path": "wide", "offset_line": 2 })).await.text, "after\n");
}
