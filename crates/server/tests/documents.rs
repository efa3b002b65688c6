//! Projects and documents over HTTP, on both surfaces: versions, tags, names, files.

use std::io::Read as _;

use entourage_types::DOCUMENT_BYTES;
use reqwest::Method;
use serde_json::{Value, json};

use crate::site::{Answer, Site, send};

impl Site {
    /// A PUT or POST for a version of a document.
    async fn edit(&self, method: Method, path: &str, seen: &str, body: &Value) -> Answer {
        send(self.request(method, path).header("if-match", seen).json(body)).await
    }
}

/// A surface: where its projects are, and how a document shows its id.
struct Surface {
    base: &'static str,
    /// The status for a malformed header or query.
    malformed: u16,
}

const SURFACES: [Surface; 2] =
    [Surface { base: "/api", malformed: 422 }, Surface { base: "/v1", malformed: 400 }];

impl Surface {
    /// Creates a project and a document in it, and returns their paths.
    async fn begin(&self, site: &Site, name: &str) -> (String, String) {
        let projects = format!("{}/projects", self.base);
        let made = site.post(&projects, &json!({ "name": name, "description": "Food." })).await;
        let project = made.headers["location"].to_str().unwrap().to_owned();
        assert_eq!(site.get(&project).await.expect(200), made.expect(201));
        let new =
            json!({ "name": "Recipes", "content": "# Soup\n\nWater.\n", "standing_instruction": "Metric." });
        let made = site.post(&format!("{project}/documents"), &new).await;
        assert_eq!(made.headers["etag"], "\"1\"");
        let document = made.headers["location"].to_str().unwrap().to_owned();
        assert_eq!(site.get(&document).await.expect(200), made.expect(201));
        (project, document)
    }
}

#[tokio::test]
async fn a_document_changes_only_for_those_who_have_seen_its_version() {
    let site = Site::open().await;
    for surface in SURFACES {
        let (_, document) = surface.begin(&site, surface.base).await;
        let change = json!({ "content": "# Soup\n\nWater, salt.\n", "summary": "Salted." });
        let blind = send(site.request(Method::PUT, &document).json(&change)).await;
        assert_eq!(blind.status, 428, "{}", blind.text);
        let changed = site.edit(Method::PUT, &document, "\"1\"", &change).await;
        assert_eq!(changed.headers["etag"], "\"2\"");
        assert_eq!(changed.expect(200)["version"], 2);
        let late = site.edit(Method::PUT, &document, "W/\"1\"", &json!({ "content": "Mine." })).await;
        assert_eq!((late.status.as_u16(), &late.headers["etag"]), (412, &"\"2\"".parse().unwrap()));
        assert!(late.text.contains("version 2"), "{}", late.text);
        for bad in ["2", "\"x\"", "\"1\", \"2\"", ""] {
            let refused = site.edit(Method::PUT, &document, bad, &change).await.status.as_u16();
            assert_eq!(refused, surface.malformed, "{bad}");
        }
        let same = site.edit(Method::PUT, &document, "\"2\"", &change).await;
        assert_eq!(same.expect(200)["version"], 2, "nothing changes, nothing is written");
        let renamed =
            site.edit(Method::PUT, &document, "*", &json!({ "name": " Dishes " })).await.expect(200);
        assert_eq!((&renamed["name"], &renamed["version"]), (&json!("Dishes"), &json!(3)));
        let undone = format!("{document}/undo");
        assert_eq!(site.edit(Method::POST, &undone, "\"2\"", &json!({ "to": 1 })).await.status, 412);
        assert_eq!(site.edit(Method::POST, &undone, "\"3\"", &json!({ "to": 9 })).await.status, 404);
        let undone = site.edit(Method::POST, &undone, "\"3\"", &json!({ "to": 1 })).await.expect(200);
        assert_eq!(
            (&undone["version"], &undone["name"], &undone["content"]),
            (&json!(4), &json!("Recipes"), &json!("# Soup\n\nWater.\n"))
        );
        let versions = site.get(&format!("{document}/versions")).await.expect(200);
        assert_eq!(versions["data"].as_array().unwrap().len(), 4);
        let diff = site.get(&format!("{document}/diff?from=1&to=2")).await.expect(200);
        assert_eq!(diff["unified"], "@@ -1,3 +1,3 @@\n # Soup\n \n-Water.\n+Water, salt.\n");
        assert_eq!(site.get(&format!("{document}/diff?from=1&to=7")).await.status, 404);
        let stale = send(site.request(Method::DELETE, &document).header("if-match", "\"1\"")).await;
        assert_eq!((stale.status.as_u16(), &stale.headers["etag"]), (412, &"\"4\"".parse().unwrap()));
        assert_eq!(site.delete(&document).await.status, 204);
        assert_eq!(site.get(&document).await.status, 404);
        assert_eq!(site.get(&format!("{document}/versions")).await.status, 404);
    }
}

#[tokio::test]
async fn names_are_unique_and_sizes_have_limits_on_both_surfaces() {
    let site = Site::open().await;
    for surface in SURFACES {
        let (project, document) = surface.begin(&site, surface.base).await;
        let documents = format!("{project}/documents");
        assert_eq!(site.post(&documents, &json!({ "name": "RECIPES " })).await.status, 409);
        assert_eq!(
            site.post(&format!("{}/projects", surface.base), &json!({ "name": surface.base })).await.status,
            409
        );
        let other = site.post(&documents, &json!({ "name": "Budget" })).await;
        let other = other.headers["location"].to_str().unwrap();
        assert_eq!(site.edit(Method::PUT, other, "*", &json!({ "name": "recipes" })).await.status, 409);
        for bad in [
            json!({ "name": " " }),
            json!({ "name": "x".repeat(201) }),
            json!({ "name": "a\u{7}b" }),
            json!({ "name": "Long", "content": "x".repeat(DOCUMENT_BYTES + 1) }),
            json!({ "content": "Nameless." }),
            json!({ "name": "Typo", "contents": "?" }),
            json!({ "name": 7 }),
        ] {
            let refused = site.post(&documents, &bad).await;
            assert_eq!(refused.status, 422, "{}", refused.text);
        }
        assert_eq!(site.get(&documents).await.expect(200)["data"].as_array().unwrap().len(), 2);
        let largest = json!({ "content": "x".repeat(DOCUMENT_BYTES) });
        site.edit(Method::PUT, &document, "*", &largest).await.expect(200);
        let renamed =
            send(site.request(Method::PUT, &project).json(&json!({ "description": "All food." }))).await;
        assert_eq!(renamed.expect(200)["description"], "All food.");
        assert_eq!(site.delete(&project).await.status, 204);
        for gone in [&project, &documents, &document] {
            assert_eq!(site.get(gone).await.status, 404, "{gone}");
        }
    }
}

#[tokio::test]
async fn documents_are_found_by_words_and_saved_as_files() {
    let site = Site::open().await;
    for surface in SURFACES {
        let (project, document) = surface.begin(&site, "Küche / 2").await;
        let new = json!({ "name": "a/b", "content": "Äpfel und \"Birnen\"\n" });
        site.post(&format!("{project}/documents"), &new).await.expect(201);
        let found = site.get(&format!("{project}/search?text=wat")).await.expect(200);
        let found = found["data"].as_array().unwrap();
        assert_eq!((found.len(), &found[0]["name"]), (1, &json!("Recipes")));
        assert!(found[0]["snippet"].as_str().unwrap().contains("Water"), "{found:?}");
        for bad in ["", "?text=", "?text=%20", "?text=a&limit=0", "?text=a&words=b"] {
            let refused = site.get(&format!("{project}/search{bad}")).await.status.as_u16();
            assert_eq!(refused, surface.malformed, "{bad}");
        }
        let file = site.get(&format!("{document}/export")).await;
        assert_eq!(
            (file.text.as_str(), &file.headers["content-type"]),
            ("# Soup\n\nWater.\n", &"text/markdown; charset=utf-8".parse().unwrap())
        );
        assert!(file.headers["content-disposition"].to_str().unwrap().contains("filename=\"Recipes.md\""));
        let archive = site.request(Method::GET, &format!("{project}/export")).send().await.unwrap();
        assert_eq!(archive.headers()["content-type"], "application/zip");
        let named = archive.headers()["content-disposition"].to_str().unwrap().to_owned();
        assert_eq!(named, "attachment; filename=\"K_che _ 2.zip\"; filename*=UTF-8''K%C3%BCche%20_%202.zip");
        let bytes = archive.bytes().await.unwrap();
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let mut files = Vec::new();
        for at in 0..archive.len() {
            let mut file = archive.by_index(at).unwrap();
            let mut content = String::new();
            file.read_to_string(&mut content).unwrap();
            files.push((file.name().unwrap().into_owned(), content));
        }
        let expected = [("Recipes.md", "# Soup\n\nWater.\n"), ("a_b.md", "Äpfel und \"Birnen\"\n")];
        assert_eq!(files, expected.map(|(name, content)| (name.to_owned(), content.to_owned())));
        assert_eq!(site.delete(&project).await.status, 204);
    }
}

#[tokio::test]
async fn an_empty_project_is_an_archive_without_files() {
    let site = Site::open().await;
    site.post("/api/projects", &json!({ "name": "Empty" })).await.expect(201);
    let bytes =
        site.request(Method::GET, "/api/projects/1/export").send().await.unwrap().bytes().await.unwrap();
    assert_eq!(zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap().len(), 0);
}
