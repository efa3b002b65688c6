//! The doctor finds what is missing and says how to mend it, and tells no secrets.

use super::place::{Ended, Place};

#[test]
fn a_fresh_machine_is_well_and_told_how_to_get_better() {
    let place = Place::new();
    let mut command = place.command(&["doctor"]);
    let ended = Ended::of(&mut command).good();
    assert!(ended.stdout.contains("! model"), "{ended:?}");
    assert!(ended.stdout.contains("ANTHROPIC_API_KEY"), "{ended:?}");
    assert!(ended.stdout.contains("TAVILY_API_KEY"), "{ended:?}");
    assert!(!place.data().exists(), "looking changes nothing");

    let findings = place.entourage(&["doctor", "--json"]).good().json();
    let model = findings.iter().find(|finding| finding["what"] == "model").expect("a finding");
    assert_eq!(model["state"], "remark");
}

#[test]
fn what_is_broken_is_marked_and_the_exit_code_says_so() {
    let place = Place::new();
    place.write("data/kinds/cook.md", "You cook.\n");
    place.write("data/entourage.db", "Not a database at all, but long enough to be taken for one, perhaps.");
    place.write(
        "data/entourage.toml",
        "[tools]\nfiles = \"/nowhere/at/all\"\nsearch.backend = \"brave\"\n\
         [[tools.mcp]]\nname = \"gone\"\ncommand = \"/no/such/program\"\n",
    );
    let ended = place.entourage(&["doctor", "--model", "openai::x"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    for broken in ["✗ kinds", "✗ database", "✗ files", "✗ search", "✗ mcp gone", "✗ model"] {
        assert!(ended.stdout.contains(broken), "{broken}: {ended:?}");
    }
}

#[test]
fn keys_are_found_and_never_shown() {
    let place = Place::new();
    let canary = "canary-7f3a";
    place.write("data/entourage.toml", &format!("[models.providers.openai]\nkey = \"{canary}\"\n"));
    for format in [&["doctor"][..], &["doctor", "--json"], &["doctor", "-vv"]] {
        let mut command = place.command(format);
        command.env_remove("ENTOURAGE_MODEL").env("ANTHROPIC_API_KEY", canary);
        let ended = Ended::of(command.env("TAVILY_API_KEY", canary)).good();
        assert!(ended.stdout.contains("ANTHROPIC_API_KEY, OPENAI_API_KEY; not OPENROUTER"), "{ended:?}");
        assert!(!ended.stdout.contains(canary) && !ended.stderr.contains(canary), "{ended:?}");
    }
}
