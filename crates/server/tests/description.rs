//! The checked-in description of the API is the one that is served.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use crate::site::Site;

#[test]
fn the_checked_in_description_is_what_the_server_serves() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let checked_in = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        checked_in == entourage_server::openapi_json(),
        "docs/openapi.json is not what the server serves; run: cargo run -p entourage -- openapi > docs/openapi.json"
    );
}

#[tokio::test]
async fn the_api_description_is_served_and_compressed_on_request() {
    let site = Site::open().await;
    let served = site.get("/openapi.json").await;
    assert_eq!(served.headers["content-type"], "application/json");
    assert_eq!(served.text, entourage_server::openapi_json());
    let request = site.request(reqwest::Method::GET, "/openapi.json").header("accept-encoding", "gzip");
    let small = request.send().await.unwrap();
    assert_eq!(small.headers()["content-encoding"], "gzip");
    assert!(small.bytes().await.unwrap().len() < served.text.len() / 4);
}

#[test]
fn the_description_covers_each_media_type_of_an_agency_response() {
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    let operation = &description["paths"]["/v1/agencies/{name}/responses"]["post"];
    assert_eq!(operation["operationId"], "createAgencyResponse");
    let forms = operation["responses"]["200"]["content"].as_object().unwrap();
    let schema = |form: &str| &forms[form]["schema"];
    assert_eq!(schema("application/json")["$ref"], "#/components/schemas/AgencyResponse");
    assert_eq!(schema("text/plain")["type"], "string");
    assert_eq!(schema("text/event-stream")["$ref"], "#/components/schemas/RunItem");
    assert_eq!(forms.len(), 3);
}

/// The field has the same name when an agent is created with a message and when one is sent to it.
#[test]
fn both_schemas_that_carry_a_message_name_the_field_message() {
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    let fields = |schema: &str| {
        let fields = description["components"]["schemas"][schema]["properties"].as_object().unwrap();
        fields.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(fields("SendMessage"), ["message"]);
    assert!(fields("CreateAgent").contains(&"message".to_owned()));
    assert!(!fields("CreateAgent").contains(&"text".to_owned()));
}

#[test]
fn every_reference_resolves_and_every_operation_id_is_unique() {
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    let (mut references, mut names) = (BTreeSet::new(), Vec::new());
    walk(&description, &mut references, &mut names);
    for reference in references {
        let found = description.pointer(reference.trim_start_matches('#'));
        assert!(found.is_some(), "{reference} leads nowhere");
    }
    let different: BTreeSet<_> = names.iter().collect();
    assert!(names.len() > 20 && different.len() == names.len(), "{names:?}");
}

fn walk(value: &Value, references: &mut BTreeSet<String>, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("$ref", Value::String(reference)) => drop(references.insert(reference.clone())),
                    ("operationId", Value::String(name)) => names.push(name.clone()),
                    _ => walk(value, references, names),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| walk(value, references, names)),
        _ => {}
    }
}
