//! Tests of what commands say where Restate is chosen and cannot deliver.

use super::data_dir::DataDir;

#[test]
fn restate_is_refused_where_no_database_is_shared_and_where_nothing_names_it() {
    let place = DataDir::new();
    let refused = |arguments: &[&str], why: &str| {
        let ended = place.entourage(arguments);
        assert!(ended.error(2).contains(why) && ended.stdout.is_empty(), "{ended:?}");
    };
    let commands = [&["serve"][..], &["run", "x"], &["migrate", "--restate-admin", "http://127.0.0.1:1"]];
    place.write("data/entourage.toml", "dispatch.by = \"restate\"\n");
    for arguments in commands {
        refused(arguments, "dispatch.by: Restate delivers to processes that share a database");
    }
    let doctor = place.entourage(&["doctor", "--offline"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("✗ restate"), "{doctor:?}");
    let shared = "store.url = \"postgres://127.0.0.1:1/work\"\ndispatch.by = \"restate\"\n";
    place.write("data/entourage.toml", shared);
    for arguments in commands {
        refused(arguments, "dispatch.restate.ingress: `dispatch.by` is `restate`");
    }
    place.write("data/entourage.toml", "dispatch.restate.ingress = \"restate:8080\"\n");
    refused(&["serve"], "this is no URL: it begins with `http://` or `https://`");
    assert!(!place.data().join("entourage.db").exists());
}

#[test]
fn restate_is_told_only_of_an_address_at_which_it_reaches_processes_and_only_if_it_delivers() {
    let place = DataDir::new();
    let migrate = ["migrate", "--restate-admin", "http://127.0.0.1:1"];
    let ended = place.entourage(&migrate);
    assert!(ended.error(2).contains("the database delivers to the processes"), "{ended:?}");
    place.write(
        "data/entourage.toml",
        "store.url = \"postgres://127.0.0.1:1/work\"\n[dispatch]\nby = \"restate\"\n\
         restate = { ingress = \"http://127.0.0.1:1\", listen = \"0.0.0.0:4182\" }\n",
    );
    let ended = place.entourage(&migrate);
    assert!(ended.error(2).contains("--restate-uri, such as http://balancer:4182"), "{ended:?}");
    let alone = place.entourage(&["migrate", "--restate-uri", "http://127.0.0.1:1"]);
    assert!(alone.code == 2 && alone.stderr.contains("--restate-admin <URL>"), "{alone:?}");
    assert!(!place.data().join("entourage.db").exists());
}
