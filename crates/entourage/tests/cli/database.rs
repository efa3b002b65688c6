//! The database in a person's hands: its version.

use super::place::Place;

#[test]
fn migrate_says_what_it_did() {
    let place = Place::new();
    let made = place.entourage(&["migrate"]).good();
    assert!(made.stdout.contains("was made, of version"), "{made:?}");
    let again = place.entourage(&["migrate", "--json"]).good().json();
    assert_eq!(again[0]["before"], again[0]["version"]);
    place.write("data/entourage.toml", "[store]\nmigrate = false\n");
    assert!(place.entourage(&["migrate"]).good().stdout.contains("already"));
}
