//! Tests of webhooks from the settings to the command line: their receivers, and their state.

use std::fs;

use crate::data_dir::DataDir;

const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

fn place_with_settings(settings: &str) -> DataDir {
    let place = DataDir::new();
    fs::create_dir_all(place.data()).expect("writable");
    fs::write(place.data().join("entourage.toml"), settings).expect("writable");
    place
}

#[test]
fn webhooks_lists_and_retries_receivers_without_their_secrets() {
    let settings = format!(
        "[webhooks.crm]\nurl = \"http://127.0.0.1:9/hooks\"\nsecret = \"{SECRET}\"\nevents = [\"task.failed\"]\n"
    );
    let place = place_with_settings(&settings);
    let listed = place.entourage(&["webhooks"]).good();
    assert!(listed.stdout.contains("crm  task.failed") && listed.stdout.contains("0 pending"), "{listed:?}");
    let shown = place.entourage(&["webhooks", "retry", "crm", "--json"]).good();
    assert_eq!(shown.json()[0]["given_up"], 0);
    assert!(!format!("{listed:?}{shown:?}").contains("MDEy"));
    let unknown = place.entourage(&["webhooks", "retry", "nobody"]);
    assert!(unknown.error(2).contains("`entourage webhooks` lists"), "{unknown:?}");
}

#[test]
fn invalid_webhook_settings_are_named_without_the_secret() {
    let place = place_with_settings(
        "[webhooks.crm]\nurl = \"http://127.0.0.1:9/\"\nsecret = \"whsec_dG9vc2hvcnQ=\"\n",
    );
    let refused = place.entourage(&["webhooks"]);
    let text = refused.error(2);
    assert!(text.contains("webhooks.crm") && text.contains("openssl rand"), "{text}");
    assert!(!format!("{refused:?}").contains("dG9v"));
    let place = place_with_settings(
        "[webhooks.crm]\nurl = \"http://127.0.0.1:9/\"\nsecret = \"x\"\nevents = [\"task.done\"]\n",
    );
    let text = place.entourage(&["webhooks"]).error(2).to_owned();
    assert!(text.contains("entourage.toml:4") && text.contains("task.completed"), "{text}");
}
