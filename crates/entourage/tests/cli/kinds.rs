//! Kinds are files: listed, checked and shown.

use super::place::Place;

#[test]
fn a_file_makes_a_kind_that_runs() {
    let place = Place::new();
    place.write(
        "data/kinds/clerk.md",
        "---\nname: clerk\ndescription: Files papers.\ntools: []\n---\nYou file papers.\n",
    );
    let list = place.entourage(&["kinds", "list"]).good().stdout;
    assert!(
        list.contains("clerk") && list.contains("Files papers.") && list.contains("researcher"),
        "{list}"
    );
    let shown = place.entourage(&["kinds", "show", "clerk"]).good().stdout;
    assert!(shown.contains("You file papers.") && shown.contains("25 steps"), "{shown}");
    let kind = place.entourage(&["kinds", "show", "clerk", "--json"]).good().json();
    assert_eq!(kind[0]["instructions"], "You file papers.");
    let ended = place.entourage(&["run", "File this", "--kind", "clerk", "--json"]).good().json();
    assert_eq!(ended[0]["kind"], "clerk");
}

#[test]
fn check_points_at_mistakes_as_compilers_do() {
    let place = Place::new();
    let clean = place.entourage(&["kinds", "check"]).good();
    assert_eq!(clean.stdout, "", "the built-in kinds are right");

    let clerk = place
        .write("data/kinds/clerk.md", "---\nname: clerk\npeers: [nobody]\ncolour: red\n---\nYou file.\n");
    let remarks = place.entourage(&["kinds", "check"]).good().stdout;
    assert!(remarks.contains(&format!("{}:4: note: `colour`", clerk.display())), "{remarks}");
    assert!(remarks.contains("peer `nobody`"), "{remarks}");

    place.write("data/kinds/cook.md", "---\nname: cook\nlimits:\n  max_stepz: 3\n---\nYou cook.\n");
    let checked = place.entourage(&["kinds", "check"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(
        checked.stdout.contains("cook.md:4: error: ") && checked.stdout.contains("max_stepz"),
        "{checked:?}"
    );
    assert!(checked.stderr.contains("1 mistakes"), "{checked:?}");
}

#[test]
fn a_limit_in_money_wants_a_known_price_before_anything_begins() {
    let place = Place::new();
    let kind = |model: &str| {
        format!("---\nname: clerk\nmodel: {model}\nlimits:\n  max_cost: $0.50\n---\nYou file papers.\n")
    };
    place.write("data/kinds/clerk.md", &kind("compatible::cheap"));
    let refused = place.entourage(&["run", "File this", "--kind", "clerk"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    for named in ["`clerk`", "$0.500000", "compatible::cheap", "models.prices"] {
        assert!(refused.stderr.contains(named), "{named}: {refused:?}");
    }
    place.write("data/kinds/clerk.md", &kind("rehearsal::free"));
    place.entourage(&["run", "File this", "--kind", "clerk"]).good();
    assert!(place.entourage(&["kinds", "show", "clerk"]).good().stdout.contains("$0.500000"));

    place.write("data/kinds/clerk.md", &kind("rehearsal::free").replace("$0.50", "half a dollar"));
    let checked = place.entourage(&["kinds", "check"]).stdout;
    assert!(checked.contains("clerk.md:5: error: ") && checked.contains("such as `$0.50`"), "{checked}");
}
